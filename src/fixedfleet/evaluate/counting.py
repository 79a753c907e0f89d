"""Searches that a number of iterations ends, so that plans are the same anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet import solvers
from fixedfleet.errors import InputError
from fixedfleet.evaluate.protocol import Answer
from fixedfleet.search import Stop, improve

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["COUNTING", "count"]

COUNTING = ("ruin_recreate", "hgs", "pyvrp")  # searches that can


def count(
    name: str,
    instance: Instance,
    start: Plan | None,
    iterations: int,
    seed: int,
    charged: float = 0.0,
) -> Answer:
    """Search for so many iterations, so that the plan is the same on any machine."""
    stop = Stop(iterations=iterations)
    if name == "ruin_recreate":
        found = improve(
            instance,
            start,
            search=name,
            stop=stop,
            seed=seed,
            vehicle_cost=charged,
            on_improvement=lambda _seconds, _cost, _plan: None,  # for a full trace
        )
        return Answer(found.plan, found.trace)
    if name in COUNTING:
        solver = solvers.get(name)
        return Answer(solver.solve(instance, stop=stop, seed=seed, start=start))
    raise InputError(
        f"{name} cannot count iterations, only {', '.join(COUNTING)} can: give a time "
        "limit"
    )
