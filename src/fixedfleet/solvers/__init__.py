"""Outside solvers behind one protocol; only the one that is chosen is imported."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from fixedfleet.errors import InputError
from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.stop import Stop

__all__ = ["SOLVERS", "Solver", "get", "improve_by", "run"]

# Some packages count a limit in small units and overflow on much longer ones.
_LONGEST_LIMIT = 1_000_000


class Solver(Protocol):
    """
    One outside package, adapted.

    Attributes
    ----------
    name
        Its name.
    limits
        What the package cannot do, in one sentence; empty if nothing.
    """

    name: str
    limits: str

    def solve(
        self, instance: Instance, stop: Stop, seed: int = 0, start: Plan | None = None
    ) -> Plan | None:
        """Return the best plan found, feasible or not, or None."""


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
    :class:`fixedfleet.solvers.command.Command`. A package or program that is not
    installed raises MissingPackageError.
    """
    kind, colon, template = name.partition(":")
    if kind == "command" and colon:
        from fixedfleet.solvers.command import Command

        return Command(template)
    return SOLVERS.get(name)()


def run(
    solver: Solver,
    instance: Instance,
    *,
    stop: Stop,
    seed: int = 0,
    start: Plan | None = None,
) -> Plan | None:
    """Return what a solver finds, after a check of the limit and the start."""
    if _LONGEST_LIMIT < stop.seconds < math.inf:
        raise InputError(
            f"time limit is {stop.seconds:g}; {solver.name} takes at most "
            f"{_LONGEST_LIMIT} seconds"
        )
    if start is not None and (wrong := start.check(instance)):
        raise InputError(f"the start is not feasible: {wrong[0]}")
    return solver.solve(instance, stop=stop, seed=seed, start=start)


def improve_by(solver: Solver, task: SearchTask) -> None:
    """Let a solver improve the plan of a search's task."""
    start = task.start if task.start.is_feasible(task.instance) else None
    plan = run(solver, task.instance, stop=task.stop, seed=task.seed, start=start)
    if plan is not None and plan.is_feasible(task.instance):
        task.offer(plan)
