"""Searches that a number of iterations ends, so that plans are the same anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.evaluate.protocol import Answer

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["COUNTING", "count"]

COUNTING = ("ruin_recreate", "hgs", "pyvrp")  # searches that can
_NO_LIMIT = 1e6  # seconds, for a solver that its iterations end


def count(
    name: str,
    instance: Instance,
    start: Plan | None,
    iterations: int,
    seed: int,
    charged: float = 0.0,
) -> Answer:
    """Search for so many iterations, so that the plan is the same on any machine."""
    if name == "ruin_recreate":
        from fixedfleet.search.ruin_recreate import ruin_recreate

        found = ruin_recreate(
            instance, start, iterations=iterations, seed=seed, vehicle_cost=charged
        )
        return Answer(found.plan, found.trace)
    if name == "hgs":
        from fixedfleet.solvers.hgs import hgs_search

        starts = () if start is None else (start,)
        return Answer(
            hgs_search(instance, iterations=iterations, seed=seed, starts=starts)
        )
    if name == "pyvrp":
        from fixedfleet.solvers.pyvrp_adapter import Pyvrp

        solver = Pyvrp(iterations)
        return Answer(
            solver.solve(instance, time_limit=_NO_LIMIT, seed=seed, start=start)
        )
    raise InputError(
        f"{name} cannot count iterations, only {', '.join(COUNTING)} can: give a time "
        "limit"
    )
