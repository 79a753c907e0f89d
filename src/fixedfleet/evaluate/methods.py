"""
The interfaces of methods, which can be compared, and of starts.

A start makes the first plans of a method.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fixedfleet.evaluate.rows import Row, Trace
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["METHODS", "Answer", "Limit", "Method", "Objective", "Start"]

Limit = Literal["time", "iterations"]
# What a method minimises: the length, or Cost_v, which is the length plus the set's
# vehicle cost for each vehicle used.
Objective = Literal["length", "cost-v"]


class Answer(NamedTuple):
    """
    What a method returns for one instance. The evaluation checks the plan itself.

    Attributes
    ----------
    plan
        The plan; None if the method found no plan.
    trace
        Improvements as (seconds since the call, cost); empty if none are reported.
    reason
        Why there is no plan, if the method knows.
    details
        Numbers about the call, such as the seconds of its steps.
    start
        The row of the earlier run that made the initial plan; None if there was no
        earlier run. The time in this row is added to the time of this call.
    """

    plan: Plan | None
    trace: Trace = ()
    reason: str = ""
    details: Mapping[str, float] = MappingProxyType({})
    start: Row | None = None


class Method(Protocol):
    """
    The interface of methods, which plan instances. A subclass needs only :meth:`solve`.

    A method is sent to worker processes, so it must be picklable. It should load large
    data such as weights at the first :meth:`solve`, in the worker. A method or start
    that uses a network may also define ``network()``, which returns the file of the
    network; rows then record the file's hash.
    """

    @property
    def name(self) -> str:
        """
        The name in the rows. Methods that make different plans need different names.
        """
        return type(self).__name__

    @property
    def batch(self) -> int:
        """
        The largest number of instances per call of :meth:`solve`.

        The instances of a call have equal numbers of customers. With 1, the instances
        are planned side by side, one core per instance.
        """
        return 1

    @property
    def on_gpu(self) -> bool:
        """Whether the method runs on a GPU, and therefore in one process."""
        return False

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The kinds of limit that the method takes; empty if it takes none."""
        return ("time",)

    @property
    def objective(self) -> Objective:
        """
        What the method minimises, and the kind of cost in the traces of its answers.

        It is the length of the plan, or Cost_v: the length plus the vehicle cost for
        each vehicle used.
        """
        return "length"

    def check(self) -> None:
        """Raise MissingPackageError or InputError if the method cannot run here."""
        return

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """
        Return one answer per instance; at most ``batch`` instances per call.

        ``vehicle_cost`` is the fixed cost per vehicle used, for methods that minimise
        Cost_v. The limit, in seconds or in iterations, is per instance.
        """


class Start(Protocol):
    """
    The interface of starts, which make the first plans of a method.

    These plans may leave customers unserved or exceed the fleet. A subclass needs only
    :meth:`plans`. It may also define ``answers``, which takes the same arguments and
    returns each plan as an :class:`Answer`. If the subclass is a dataclass, its fields
    are its options in a method's spec. A field may have metadata ``{"short":
    function}``: the function turns the field's value into the text that appears in the
    method's name. If the function is None, the name omits the field.
    """

    @property
    def batch(self) -> int:
        """
        The number of instances per call if no search follows; 0: the default number.
        """
        return 0

    @property
    def on_gpu(self) -> bool:
        """Whether the start computes on a GPU."""
        return False

    def check(self) -> None:
        """Raise MissingPackageError or InputError if the start cannot run here."""
        return

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return one plan per instance; None for an instance without a plan."""


# A method, a start, or a class or function that returns one when called with options.
METHODS: Registry[Any] = Registry(
    "method",
    {
        "packing": "fixedfleet.evaluate.starts:PackingStart",
        "savings": "fixedfleet.evaluate.starts:SavingsStart",
        "sweep": "fixedfleet.evaluate.starts:SweepStart",
        "network": "fixedfleet.evaluate.starts:NetworkStart",
    },
)
