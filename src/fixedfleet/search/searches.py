"""The registry of all searches, and the abilities of each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.registry import Registry, convert_options, split_options
from fixedfleet.search.task import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fixedfleet.instance import Instance

__all__ = ["SEARCHES", "Abilities", "load_search", "loaded_by", "name_of"]

_COMMAND = "command:"  # followed by the command line of any program

Function = TypeVar("Function", bound="Callable[..., object]")


@dataclass(frozen=True)
class Abilities:
    """
    What a search can do. The defaults suit a search that a user writes.

    Attributes
    ----------
    counts_iterations
        Whether it can end after a number of iterations.
    ends_by_itself
        Whether it ends at a local optimum, so that it needs no limit.
    reports
        Whether it yields plans while it runs, and not only at its end.
    vehicle_cost
        Whether it can minimise the length plus a cost for each vehicle used.
    outside
        Whether it is an outside solver, whose plans may exceed fleet or capacity.
    plain_only
        Whether it needs plain instances: equal vehicles, no windows and no shifts.
    package
        The other package that it runs; empty if it runs none.
    limitations
        What it cannot do, in one sentence; empty if it has no limitations.
    """

    counts_iterations: bool = False
    ends_by_itself: bool = False
    reports: bool = True
    vehicle_cost: bool = False
    outside: bool = False
    plain_only: bool = False
    package: str = ""
    limitations: str = ""


_COMMAND_ABILITIES = Abilities(
    reports=False,
    outside=True,
    plain_only=True,
    limitations="a program that knows no fleet may use more vehicles; distances that "
    "are not rounded are measured in units of about a millionth of the longest",
)


class _Searches(Registry[Search]):
    """A registry of searches that also has the abilities of each."""

    def __init__(self, built_in: Mapping[str, tuple[str, Abilities]]) -> None:
        super().__init__(
            "search", {name: place for name, (place, _) in built_in.items()}
        )
        self._abilities = {name: abilities for name, (_, abilities) in built_in.items()}

    def get(self, name: str | Search) -> Search:
        """
        Return the search with a name. Anything but a string is returned unchanged.

        The name may also be a reference, "my_search.py:Name", or ``command:`` and a
        command line, see :mod:`fixedfleet.search.outside.command_search`. Parameters of
        the search may follow, as in "hgs:population=4".
        """
        if not isinstance(name, str):
            return name
        if name.startswith(_COMMAND):
            from fixedfleet.search.outside.command_search import make_command_search

            return make_command_search(name.removeprefix(_COMMAND))
        plain, options = split_options(name)
        search = super().get(plain)
        if not options:
            return search
        return partial(search, **convert_options(name, options, _parameters(search)))

    def check(self, name: str) -> None:
        """Raise InputError unless a name is known or has the form of a reference."""
        super().check(name if name.startswith(_COMMAND) else split_options(name)[0])

    def parameters(self, name: str) -> dict[str, Any]:
        """Return the parameters that may follow a search's name, and their defaults."""
        return {} if name.startswith(_COMMAND) else _parameters(super().get(name))

    def abilities(self, name: str | Search) -> Abilities:
        """Return the abilities of a search, without loading its code."""
        if isinstance(name, str) and name.startswith(_COMMAND):
            return _COMMAND_ABILITIES
        plain = split_options(name)[0] if isinstance(name, str) else ""
        return self._abilities.get(plain, Abilities())

    def outside(self) -> list[str]:
        """Return the names of the outside solvers."""
        return [name for name in self.names() if self.abilities(name).outside]


def _parameters(search: Search) -> dict[str, Any]:
    """Return the keyword-only parameters of a search and their defaults."""
    found = inspect.signature(search).parameters.values()
    return {
        one.name: one.default
        for one in found
        if one.kind is one.KEYWORD_ONLY and one.default is not one.empty
    }


_OWN = "fixedfleet.search"
_OUTSIDE = "fixedfleet.search.outside"

SEARCHES = _Searches(
    {
        "auto": (
            f"{_OWN}.auto:auto_search",
            Abilities(vehicle_cost=True, package="hybgensea"),
        ),
        "ruin_recreate": (
            f"{_OWN}.ruin_recreate:ruin_recreate",
            Abilities(counts_iterations=True, vehicle_cost=True),
        ),
        "decomposition": (
            f"{_OWN}.decomposition:decomposition",
            Abilities(
                counts_iterations=True,
                vehicle_cost=True,
                plain_only=True,
                package="hybgensea",
            ),
        ),
        "gpu": (
            f"{_OWN}.gpu:gpu_search",
            Abilities(counts_iterations=True, vehicle_cost=True, plain_only=True),
        ),
        "hgs": (
            f"{_OUTSIDE}.hgs_search:hgs_search",
            Abilities(
                counts_iterations=True,
                reports=False,
                outside=True,
                plain_only=True,
                package="hybgensea",
                limitations="the time limit counts the processor time of its thread, "
                "not wall time, and nothing stops it earlier; amounts finer than 2^-32 "
                "of the sum of demands are rounded up",
            ),
        ),
        "pyvrp": (
            f"{_OUTSIDE}.pyvrp_search:pyvrp_search",
            Abilities(
                counts_iterations=True,
                outside=True,
                package="pyvrp",
                limitations="distances that are not whole, or above 2^24, are rounded "
                "to 2^-24 of the longest; amounts finer than 2^-33 of the sum of "
                "demands are rounded up",
            ),
        ),
        "ortools": (
            f"{_OUTSIDE}.ortools_search:ortools_search",
            Abilities(
                vehicle_cost=True,
                outside=True,
                package="ortools",
                limitations="it takes no seed and draws nothing at random, but if the "
                "time limit ends the search, runs differ; without an initial plan it "
                "may find no plan for a tight fleet; distances that are not whole, or "
                "above 2^31, are rounded to 2^-31 of the longest",
            ),
        ),
        "ortools_descent": (
            f"{_OUTSIDE}.ortools_search:ortools_descent_search",
            Abilities(
                ends_by_itself=True,
                vehicle_cost=True,
                outside=True,
                package="ortools",
                limitations="as of ortools; it is a plain local search, which ends at "
                "a local optimum",
            ),
        ),
        "vroom": (
            f"{_OUTSIDE}.vroom_search:vroom_search",
            Abilities(
                reports=False,
                outside=True,
                package="pyvroom",
                limitations="it takes no seed and draws nothing at random, but if the "
                "time limit ends the search before it stops by itself, runs differ; "
                "it leaves customers that it cannot place unserved; distances that "
                "are not whole, or above 2^31/N, are rounded to N/2^30 of the longest",
            ),
        ),
    }
)


def loaded_by(load: Callable[[Instance], None]) -> Callable[[Function], Function]:
    """
    Return a decorator that attaches ``load`` to a search.

    :func:`load_search` calls ``load`` with the instance, before a time limit begins. It
    should load or compile the code that the search needs.
    """

    def mark(search: Function) -> Function:
        search.load = load  # type: ignore[attr-defined]
        return search

    return mark


def load_search(search: str | Search, instance: Instance) -> Search:
    """
    Return a search after loading or compiling the code that an instance needs.

    Call it before a time limit begins, so that compiling does not use up its time.
    Raise InputError if the search cannot handle this kind of instance.
    """
    if isinstance(search, str) and SEARCHES.abilities(search).plain_only:
        instance.require_plain(f"the search {search!r}")
    # If Ctrl-C interrupts the compiler, KeyboardInterrupt may be lost.
    with interrupts_deferred():
        found = SEARCHES.get(search)
        function = found.func if isinstance(found, partial) else found
        load = getattr(function, "load", None)
        if load is not None:
            load(instance)
    return found


def name_of(search: str | Search) -> str:
    """Return the name of a search."""
    if isinstance(search, str):
        return search
    if isinstance(search, partial):
        return name_of(search.func)
    return str(getattr(search, "__name__", type(search).__name__))
