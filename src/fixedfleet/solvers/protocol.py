"""What every outside solver looks like from here, and how its answer is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fixedfleet.errors import InputError
from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.method import SearchMethod, SearchTask
    from fixedfleet.search.stop import Stop

__all__ = [
    "SOLVERS",
    "CheckedPlan",
    "Solver",
    "get",
    "improve_by",
    "pyvrp_search",
    "run",
    "vroom_search",
]

# Some packages count a limit in small units and overflow on much longer ones.
_LONGEST_LIMIT = 1_000_000


class Solver(Protocol):
    """
    One outside package, adapted.

    Attributes
    ----------
    name
        Its name.
    takes_seed, takes_start
        Whether the package uses the seed and the start.
    limits
        What the package cannot do, in one sentence; empty if nothing.
    """

    name: str
    takes_seed: bool
    takes_start: bool
    limits: str

    def solve(
        self,
        instance: Instance,
        *,
        stop: Stop,
        seed: int = 0,
        start: Plan | None = None,
    ) -> Plan | None:
        """
        Return the best plan found, or None.

        Raises
        ------
        InputError
            If the package cannot count the limit.
        """


SOLVERS: Registry[Callable[[], Solver]] = Registry(
    "solver",
    {
        "hgs": "fixedfleet.solvers.hgs:Hgs",
        "pyvrp": "fixedfleet.solvers.pyvrp_adapter:Pyvrp",
        "ortools": "fixedfleet.solvers.ortools_routing:OrtoolsRouting",
        "vroom": "fixedfleet.solvers.vroom_adapter:Vroom",
    },
)


def get(name: str) -> Solver:
    """
    Return the solver of that name, with its default parameters.

    ``command:`` is followed by the command line of any program, see
    :class:`fixedfleet.solvers.command.Command`.

    Raises
    ------
    InputError
        If there is no such solver.
    MissingPackageError
        If its package or program is not installed.
    """
    kind, colon, template = name.partition(":")
    if kind == "command" and colon:
        from fixedfleet.solvers.command import Command

        return Command(template)
    return SOLVERS.get(name)()


@dataclass(frozen=True)
class CheckedPlan:
    """
    The plan of a solver, and what a check of it found.

    Attributes
    ----------
    plan
        The plan, or None if the solver found none.
    faults
        What :meth:`Plan.check` found wrong with it; empty for a feasible plan.
    seconds
        Time of the whole call.
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
    stop: Stop,
    seed: int = 0,
    start: Plan | None = None,
) -> CheckedPlan:
    """
    Run a solver and check the plan that it returns.

    Raises
    ------
    InputError
        If the solver cannot count the limit, takes no start but is given one, or is
        given a start that is not feasible.
    """
    if _LONGEST_LIMIT < stop.seconds < math.inf:
        raise InputError(
            f"time limit is {stop.seconds:g}; {solver.name} takes at most "
            f"{_LONGEST_LIMIT} seconds"
        )
    if start is not None:
        if not solver.takes_start:
            raise InputError(f"{solver.name} takes no start: {solver.limits}")
        if wrong := start.check(instance):
            raise InputError(f"the start is not feasible: {wrong[0]}")
    begin = stop.elapsed()
    plan = solver.solve(instance, stop=stop, seed=seed, start=start)
    faults = () if plan is None else tuple(plan.check(instance))
    return CheckedPlan(plan=plan, faults=faults, seconds=stop.elapsed() - begin)


def improve_by(solver: Solver, task: SearchTask) -> None:
    """Let a solver improve the plan of a search's task."""
    usable = solver.takes_start and task.start.is_feasible(task.instance)
    outcome = run(
        solver,
        task.instance,
        stop=task.stop,
        seed=task.seed,
        start=task.start if usable else None,
    )
    if outcome.plan is not None and outcome.feasible:
        task.offer(outcome.plan)


def _searching(name: str) -> SearchMethod:
    """Return the search that lets a solver improve a plan."""

    def search(task: SearchTask) -> None:
        with task.stop.paused(), interrupts_deferred():  # importing it takes time
            solver = get(name)
        improve_by(solver, task)

    search.__name__ = name
    return search


pyvrp_search = _searching("pyvrp")
vroom_search = _searching("vroom")
