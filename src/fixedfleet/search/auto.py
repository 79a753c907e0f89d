"""
The default search: a sequence of searches, chosen by instance size and time limit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from fixedfleet.search.cpu_arrays import fits_float32
from fixedfleet.search.decomposition import decomposition, load_for_parts
from fixedfleet.search.genetic import (
    LONGEST_SLICE,
    genetic_search,
    small_population,
)
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    load_kernel_for,
    ruin_recreate,
)
from fixedfleet.search.searches import loaded_by
from fixedfleet.search.side_by_side import search_side_by_side
from fixedfleet.search.task import MIN_SECONDS, PARTS_ABOVE, better, run_step

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.genetic import AlgorithmParameters
    from fixedfleet.search.task import Search, SearchTask

__all__ = ["auto_search", "fitted_parameters", "split_time"]

# With a vehicle cost, ruin and recreate minimises length plus vehicle cost during
# _VEHICLES_SHARE of the time. It runs before the other steps if a vehicle costs at
# least _EXPENSIVE times the length of the initial plan, otherwise after them.
_VEHICLES_SHARE, _EXPENSIVE = 0.2, 0.05
# The genetic search may find no plan within the fleet if time is short or the fleet is
# full. So ruin and recreate runs first, to have a better plan than the initial one. It
# runs for the share _MOMENT_SHARE of the time, but at most _MOMENT_SECONDS. If the
# demands are at least the share _FULL of the fleet's capacity, it runs longer.
_FULL = 0.985
_FULL_SHARE, _FULL_SECONDS = 0.3, 0.1
_MOMENT_SHARE, _MOMENT_SECONDS = 0.05, 2e-3
_START_SECONDS = 0.02  # least time limit per thread that is started
# Neither a long annealing nor the first slice of HGS-CVRP has a good plan before its
# end, and the user may stop at any time. So brief annealings come first. The last one
# has the share _BRIEF_SHARE of the time, or of LONGEST_SLICE if HGS-CVRP has most of
# the time. Each one before it has this share of its successor's time, and the first
# has _BRIEF_SECONDS or more.
_BRIEF_SHARE, _BRIEF_SECONDS = 0.05, 0.02


def _load(instance: Instance) -> None:
    """Load the compiled code that the steps need for an instance of this size."""
    if not fits_float32(instance):
        return
    if instance.num_customers > PARTS_ABOVE and instance.is_plain:
        load_for_parts(instance)
    else:
        load_kernel_for(instance)


@loaded_by(_load)
def auto_search(task: SearchTask) -> Iterator[Plan]:
    """
    Yield better and better plans, by searches chosen by instance size and time limit.

    Only ruin and recreate considers the vehicle cost; the other searches minimise the
    length. If one vehicle costs at least 5 % of the length of the initial plan, ruin
    and recreate runs first. Otherwise it runs last. If vehicles differ, or if there are
    windows or shifts, ruin and recreate is the only search.
    """
    if not task.instance.is_plain:
        yield from search_side_by_side(ruin_recreate, task, _searches(task))
        return
    plan, vehicle_cost = task.initial_plan, task.vehicle_cost
    shorten, until = replace(task, vehicle_cost=0.0), 1.0
    if vehicle_cost >= _EXPENSIVE * plan.length(task.instance) > 0:
        plan = yield from _run(_ruin_on_cores, task, plan, _VEHICLES_SHARE)
        if not plan.unserved(task.instance):
            fleet = task.instance.with_vehicles(plan.vehicles)
            shorten = replace(shorten, instance=fleet)
    elif vehicle_cost > 0:
        until -= _VEHICLES_SHARE
    plan = yield from _run(_shorten, shorten, plan, until, vehicle_cost)
    yield from _run(_ruin_on_cores, task, plan, 1.0)


def _run(
    search: Search,
    task: SearchTask,
    plan: Plan,
    end: float,
    vehicle_cost: float | None = None,
) -> Generator[Plan, None, Plan]:
    """
    Run a search from ``plan`` until the share ``end`` of the time limit is used.

    This is a generator that yields the plans of the search and returns the best one. If
    ``vehicle_cost`` is given, the best plan is chosen with it instead of the task's
    vehicle cost.
    """
    deadline = task.deadline.until(end)
    if deadline.left() <= MIN_SECONDS:
        return plan
    step = replace(task, initial_plan=plan, deadline=deadline)
    return (yield from run_step(search, step, vehicle_cost))


def _shorten(task: SearchTask) -> Iterator[Plan]:
    """
    Minimise the length on all cores; yield better and better plans.

    Plans with many customers are searched part by part, others as a whole.
    """
    if task.instance.num_customers > PARTS_ABOVE and fits_float32(task.instance):
        yield from decomposition(task)
    else:
        yield from search_side_by_side(_ruin_and_breed, task, _searches(task))


def _ruin_on_cores(task: SearchTask) -> Iterator[Plan]:
    """Run ruin and recreate on all cores; yield better and better plans."""
    yield from search_side_by_side(_ruin, task, _searches(task))


def _searches(task: SearchTask) -> int:
    """
    Return how many searches run at the same time.

    This is one per core, but at most one per ``_START_SECONDS`` of the time limit.
    """
    return max(1, min(task.cores, int(task.deadline.seconds / _START_SECONDS)))


def _ruin_and_breed(task: SearchTask) -> Iterator[Plan]:
    """
    Minimise the length by ruin and recreate, then by HGS-CVRP; yield better plans.
    """
    instance, seconds = task.instance, task.deadline.seconds
    n = instance.num_customers
    share, population = split_time(n, seconds, _filled(instance))
    until_first = seconds if share >= 0.5 else min(seconds, LONGEST_SLICE)
    brief = yield from _anneal_briefly(task, _BRIEF_SHARE * until_first)
    plan = yield from _run(_ruin, task, task.initial_plan, share)
    plan = better(instance, plan, brief, task.vehicle_cost)
    breed = partial(genetic_search, parameters=fitted_parameters(population))
    yield from _run(breed, task, plan, 1.0)


def _anneal_briefly(task: SearchTask, seconds: float) -> Generator[Plan, None, Plan]:
    """
    Anneal the initial plan briefly, several times: the last time for these seconds.

    This is a generator that yields plans and returns the best one.
    """
    if not _BRIEF_SECONDS <= seconds < math.inf:
        return task.initial_plan
    before = yield from _anneal_briefly(task, _BRIEF_SHARE * seconds)
    limit = task.deadline.within(seconds)
    plan = yield from run_step(_ruin, replace(task, deadline=limit))
    return better(task.instance, plan, before, task.vehicle_cost)


def split_time(n: int, seconds: float, filled: float = 0.0) -> tuple[float, int]:
    """
    Return (share of the time for ruin and recreate, population of HGS-CVRP).

    HGS-CVRP runs for the rest of the time. ``n`` is the number of customers, and
    ``filled`` is the total demand divided by the capacity of the fleet. The
    measurements are in results/notes/search.md.
    """
    # Roughly how many plans HGS-CVRP can make by local search in this time.
    plans = seconds / (3.5e-8 * n**2)
    population = 3 if plans < 150 else 4 if plans < 600 else 6 if plans < 1500 else 12
    if plans < 40 or (n > 120 and plans < 500):
        share = 1.0
    elif n > 150:
        share = 0.8
    elif n > 120:
        share = 0.5
    elif filled >= _FULL:
        share = min(_FULL_SHARE, _FULL_SECONDS / seconds)
    else:
        share = min(_MOMENT_SHARE, _MOMENT_SECONDS / seconds)
    return share, population


def fitted_parameters(population: int) -> AlgorithmParameters:
    """Return parameters of HGS-CVRP for a short search with a small population."""
    if population <= 3:  # too few plans for the penalty to adapt slowly
        penalty = {
            "nbIterPenaltyManagement": 10,
            "penaltyIncrease": 1.6,
            "penaltyDecrease": 0.6,
        }
    else:
        penalty = {"nbIterPenaltyManagement": 20}
    return small_population(population, nbGranular=8, **penalty)


def _filled(instance: Instance) -> float:
    """Return the total demand as a share of the capacity of the fleet."""
    room = instance.vehicles * instance.capacity_units  # may exceed 64 bits
    return int(instance.demand_units.sum()) / room


def _ruin(task: SearchTask) -> Iterator[Plan]:
    """Run ruin and recreate; yield nothing unless :func:`fits_float32` returns True."""
    if not fits_float32(task.instance):
        return
    customers = task.instance.num_customers
    if task.deadline.seconds > 2e-4 * customers:
        yield from ruin_recreate(task)
    else:
        yield from ruin_recreate(task, _for_short_time(customers))


@cache
def _for_short_time(customers: int) -> RuinRecreateParameters:
    """Return settings for a short search: fewer removals, higher end temperature."""
    end = min(2 / customers, RuinRecreateParameters.start_temperature)
    return RuinRecreateParameters(removals=8, max_string=6, end_temperature=end)
