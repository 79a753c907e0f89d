"""What can be evaluated: the interface of a method, and of what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.evaluate.rows import Trace
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.solve import Objective

__all__ = ["Answer", "Limit", "Method"]

Limit = Literal["time", "iterations"]


class Answer(NamedTuple):
    """
    What a method says about one instance; its plan is checked, never believed.

    Attributes
    ----------
    plan
        The plan; None where there is none.
    trace
        Improvements as (seconds since the call, cost); empty if it reports none.
    reason
        Why there is no plan, if it says.
    """

    plan: Plan | None
    trace: Trace = ()
    reason: str = ""


class Method(Protocol):
    """
    Anything that plans tours; it is sent to worker processes, so it can be pickled.

    Weights and the like are loaded at the first :meth:`solve`, in the worker. A method
    that takes a network may have ``network(customers)`` too, which returns the file of
    the network it takes for so many: rows then tell its hash.
    """

    @property
    def name(self) -> str:
        """Name in the rows, which says all that the plans depend on."""

    @property
    def batch(self) -> int:
        """Instances of equal size it wants at once; 1 for a core an instance."""

    @property
    def on_gpu(self) -> bool:
        """Whether it computes on a GPU, which it does in one process."""

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Limits it heeds; empty for a method that just ends."""

    @property
    def objective(self) -> Objective:
        """What it minimises, and what the costs of its traces are."""

    def check(self) -> None:
        """Raise MissingPackageError or InputError if it cannot run here."""

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """Plan each instance within a limit, ``batch`` of them at most."""
