"""Searches: they improve a plan and never use more vehicles than there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fixedfleet.errors import check_vehicle_cost
from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.plan import Plan
from fixedfleet.registry import Registry
from fixedfleet.search.method import (
    Incumbent,
    SearchMethod,
    SearchResult,
    SearchTask,
    better,
    fit,
)
from fixedfleet.search.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance

__all__ = [
    "SEARCHES",
    "SearchMethod",
    "SearchResult",
    "SearchTask",
    "Stop",
    "better",
    "fit",
    "improve",
]

SEARCHES: Registry[SearchMethod] = Registry(
    "search",
    {
        "auto": "fixedfleet.search.auto:auto_search",
        "ruin_recreate": "fixedfleet.search.ruin_recreate:ruin_recreate",
        "decomposition": "fixedfleet.search.decomposition:decomposition",
        "gpu": "fixedfleet.search.gpu:gpu_search",
        "hgs": "fixedfleet.search.genetic:genetic_search",
        "pyvrp": "fixedfleet.solvers.pyvrp_adapter:pyvrp_search",
        "vroom": "fixedfleet.solvers.vroom_adapter:vroom_search",
        "ortools": "fixedfleet.solvers.ortools_routing:ortools_search",
        "ortools_descent": "fixedfleet.solvers.ortools_routing:ortools_descent_search",
    },
)


def improve(
    instance: Instance,
    start: Plan | None = None,
    *,
    stop: Stop,
    search: str | SearchMethod = "auto",
    seed: int = 0,
    vehicle_cost: float = 0.0,
    fewest: Plan | None = None,
    cores: int = 1,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
) -> SearchResult:
    """
    Improve a plan.

    ``hgs`` and the outside solvers ``pyvrp`` and ``vroom`` minimise the length within
    the fleet, whatever a vehicle costs. ``hgs`` and ``gpu`` ask ``stop`` between slices
    of their time. ``vroom`` and ``ortools`` only look at its time limit.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        The plan to start from. What exceeds fleet or capacity is dropped, and
        customers may be unassigned. Default: all customers are unassigned.
    stop
        When to end. Loading code does not count as time.
    search
        Name of a search, a reference "module.py:Name" or the search itself.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used.
    fewest
        A plan with the smallest number of vehicles, which ``auto`` uses if a vehicle is
        expensive.
    cores
        The most cores to use. ``auto`` and ``decomposition`` use several if there are
        many customers.
    on_improvement
        Called with (seconds, cost, plan) when the best plan has become better, at most
        once in a few milliseconds.

    Returns
    -------
    SearchResult
        Never a worse plan than the start.
    """
    check_vehicle_cost(vehicle_cost)
    start = fit(instance, start or Plan([]))
    # A compiler that Ctrl-C interrupts can lose the exception.
    with stop.paused(), interrupts_deferred():
        found: Any = SEARCHES.get(search)
    method: SearchMethod = found() if isinstance(found, type) else found
    begin, before = stop.elapsed(), stop.done
    best = Incumbent(instance, start, stop, vehicle_cost, on_improvement)
    task = SearchTask(
        instance, start, stop.part(), best, seed, vehicle_cost, fewest, cores
    )
    try:
        best.report()
        method(task)
    except KeyboardInterrupt:
        stop.interrupt()
    return SearchResult(
        plan=best.plan,
        cost=best.cost,
        seconds=stop.elapsed() - begin,
        iterations=stop.done - before,
        trace=tuple(best.trace),
        interrupted=stop.interrupted,
    )
