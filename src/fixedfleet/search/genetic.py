"""The genetic search in slices of time, so that it can be watched and stopped.

HGS-CVRP runs in compiled code that neither reports a plan nor can be told to end before
its limit: whatever its log callback raises is swallowed. So it runs for a moment at a
time, and its best plans join the first population of the next moment.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.search.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.result import SearchResult
    from fixedfleet.solvers.hgs import HgsParameters

__all__ = ["breed", "hgs_in_slices", "load_hgs"]

_LEAST_SECONDS = 1e-3  # less is not worth a call
_SLICES = 10  # that a search is cut into, if they are neither too short nor too long
_SHORTEST, _LONGEST = 0.5, 2.0  # seconds of a slice
# A slice builds a first population anew; this many seconds for each plan of a
# subpopulation and square of the customers keep that a small part of it.
_SECONDS_PER_PLAN = 3e-7


def load_hgs() -> None:
    """Import HGS-CVRP, before the clock of a search starts."""
    with interrupts_deferred():
        importlib.import_module("fixedfleet.solvers.hgs")


def hgs_in_slices(
    instance: Instance,
    start: Plan,
    *,
    time_limit: float,
    seed: int = 0,
    vehicle_cost: float = 0.0,
    parameters: HgsParameters | None = None,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """
    Improve a plan by HGS-CVRP with its authors' parameters, in slices of time.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        A plan within the fleet; it joins the first population if it serves everybody.
    time_limit
        Seconds to search.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used: decides between plans, not within the search.
    parameters
        Parameters of the genetic search. Default: its authors'.
    on_improvement
        Called with (seconds, cost, plan) as the best plan becomes better.
    stop
        Asked between slices; the search ends when it answers True.
    """
    load_hgs()
    from fixedfleet.solvers.hgs import HgsParameters

    run = Run(
        instance,
        start,
        time_limit=time_limit,
        vehicle_cost=vehicle_cost,
        on_improvement=on_improvement,
        stop=stop,
    )
    try:
        breed(run, instance, start, seed=seed, parameters=parameters or HgsParameters())
    except KeyboardInterrupt:
        run.interrupted = True
    return run.result()


def breed(
    run: Run,
    instance: Instance,
    start: Plan,
    *,
    seed: int,
    parameters: HgsParameters,
    until: float = 1.0,
) -> None:
    """
    Let the genetic search go on from a plan until a share of the time is used.

    Parameters
    ----------
    run
        The search this is a step of; it is offered what is found.
    instance
        The instance with the bound on the fleet that this step keeps to.
    start
        A plan to begin with.
    seed
        Seed of the first slice.
    parameters
        Parameters of the genetic search.
    until
        Share of the run's time.
    """
    from fixedfleet.solvers.hgs import hgs_plans

    seconds = run.left(until)
    plans = [] if start.unserved(instance) else [start]
    slice_seconds = max(
        min(max(_SHORTEST, seconds / _SLICES), _LONGEST),
        _SECONDS_PER_PLAN * parameters.population * instance.num_customers**2,
    )
    while seconds > _LEAST_SECONDS:
        whole = seconds < 2 * slice_seconds
        found = hgs_plans(
            instance,
            most=1 if whole else parameters.population,
            time_limit=seconds if whole else slice_seconds,
            seed=seed,
            starts=plans,
            parameters=parameters,
        )
        if found and found[0].is_feasible(instance):
            plans = found
            run.offer(found[0])
        seed += 1
        seconds = run.left(until)
