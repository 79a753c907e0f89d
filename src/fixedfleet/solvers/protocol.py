"""What every outside solver looks like from here, and how its answer is taken."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["Outcome", "Solver", "check_time_limit", "run"]

# Some packages count a limit in small units and overflow on much longer ones.
_LONGEST_LIMIT = 1_000_000


class Solver(Protocol):
    """
    One outside package, adapted.

    ``limits`` says in one sentence what the package cannot do of what is asked of it
    here (a seed, a warm start, a hard bound on the fleet, …); empty if nothing.
    """

    name: str
    takes_seed: bool
    takes_start: bool
    limits: str

    def solve(
        self,
        instance: Instance,
        *,
        time_limit: float,
        seed: int = 0,
        start: Plan | None = None,
    ) -> Plan | None:
        """Return the best plan found in ``time_limit`` seconds, or none at all."""


@dataclass(frozen=True)
class Outcome:
    """
    A solver's answer, checked here and never believed.

    Attributes
    ----------
    plan
        The plan, or None where the solver found none.
    faults
        What :meth:`Plan.check` found wrong with it; empty for a feasible plan.
    seconds
        Wall time of the whole call.
    """

    plan: Plan | None
    faults: tuple[str, ...]
    seconds: float

    @property
    def feasible(self) -> bool:
        """Whether there is a plan and nothing is wrong with it."""
        return self.plan is not None and not self.faults


def run(
    solver: Solver,
    instance: Instance,
    *,
    time_limit: float,
    seed: int = 0,
    start: Plan | None = None,
) -> Outcome:
    """
    Run a solver and check what comes back.

    Raises
    ------
    InputError
        If the time limit is not above 0 or longer than a million seconds, or a start
        is given to a solver that takes none or is no plan for this instance.
    """
    check_time_limit(time_limit)
    if start is not None:
        if not solver.takes_start:
            raise InputError(f"{solver.name} takes no start: {solver.limits}")
        if wrong := start.check(instance):
            raise InputError(f"the start is no plan for this instance: {wrong[0]}")
    begin = time.perf_counter()
    plan = solver.solve(instance, time_limit=time_limit, seed=seed, start=start)
    seconds = time.perf_counter() - begin
    faults = () if plan is None else tuple(plan.check(instance))
    return Outcome(plan=plan, faults=faults, seconds=seconds)


def check_time_limit(time_limit: float) -> None:
    """Refuse a time limit that is none, or that packages cannot count."""
    if not 0 < time_limit <= _LONGEST_LIMIT:
        raise InputError(
            f"time limit is {time_limit:g} s, not above 0 and at most {_LONGEST_LIMIT}"
        )
