"""Searches: a plan in, a better plan out, never more vehicles."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, get_args

from fixedfleet.errors import InputError
from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.search.result import SearchResult, better
from fixedfleet.search.start import check_time_limit, check_vehicle_cost, fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["SearchName", "SearchResult", "better", "improve"]

SearchName = Literal[
    "auto", "ruin_recreate", "gpu", "hgs", "pyvrp", "vroom", "ortools", "lkh"
]


def improve(
    instance: Instance,
    start: Plan,
    *,
    search: SearchName = "auto",
    time_limit: float = 1.0,
    seed: int = 0,
    vehicle_cost: float = 0.0,
    fewest: Plan | None = None,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """
    Improve a plan by the search of this name.

    ``auto`` and ``ruin_recreate`` heed all arguments, and so does ``gpu``, between its
    rounds. The outside solvers minimise length within the fleet, whatever a vehicle
    costs, and cannot be stopped early, except ``hgs``, which runs in slices.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        A plan to start from; what it has beyond fleet and capacity is dropped.
    search
        Name of the search.
    time_limit
        Seconds to search.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used.
    fewest
        A plan with the fewest vehicles that suffice; ``auto`` uses it where a vehicle
        is dear.
    on_improvement
        Called with (seconds, cost, plan) as the best plan becomes better.
    stop
        Asked now and then; the search ends when it answers True.
    """
    if search not in get_args(SearchName):
        raise InputError(
            f"unknown search {search!r}: choose from {', '.join(get_args(SearchName))}"
        )
    check_time_limit(time_limit)
    check_vehicle_cost(vehicle_cost)
    start = fit(instance, start)
    if search in ("auto", "ruin_recreate", "gpu", "hgs"):
        with interrupts_deferred():
            find = _stoppable(search)
        also = {"fewest": fewest} if search == "auto" else {}
        return find(
            instance,
            start,
            time_limit=time_limit,
            seed=seed,
            vehicle_cost=vehicle_cost,
            on_improvement=on_improvement,
            stop=stop,
            **also,
        )
    return _outside(instance, start, search, time_limit, seed, vehicle_cost)


def _stoppable(name: str) -> Callable[..., SearchResult]:
    """Return a search that can be watched and stopped."""
    if name == "auto":
        from fixedfleet.search.auto import auto_search

        return auto_search
    if name == "gpu":
        from fixedfleet.search.gpu_clock import gpu_search

        return gpu_search
    if name == "hgs":
        from fixedfleet.search.genetic import hgs_in_slices

        return hgs_in_slices
    from fixedfleet.search.ruin_recreate import ruin_recreate

    return ruin_recreate


def _outside(
    instance: Instance,
    start: Plan,
    name: str,
    time_limit: float,
    seed: int,
    vehicle_cost: float,
) -> SearchResult:
    """Let an outside solver improve a plan; what it returns is checked."""
    from fixedfleet import solvers

    begin = time.perf_counter()
    solver = solvers.get(name)
    outcome = solvers.run(
        solver,
        instance,
        time_limit=time_limit,
        seed=seed,
        start=start if solver.takes_start and start.is_feasible(instance) else None,
    )
    plan = start
    if outcome.feasible and outcome.plan is not None:
        plan = better(instance, outcome.plan, start, vehicle_cost)
    cost = plan.cost_v(instance, vehicle_cost)
    seconds = time.perf_counter() - begin
    return SearchResult(plan=plan, cost=cost, seconds=seconds, trace=((seconds, cost),))
