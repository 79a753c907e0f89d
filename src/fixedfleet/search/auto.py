"""The default search: the steps that measured best for the size and the time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from fixedfleet.search.cpu_arrays import measurable
from fixedfleet.search.decomposition import decomposition, load_for_parts
from fixedfleet.search.genetic import genetic_search, small_population
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    load_kernel_for,
    ruin_recreate,
)
from fixedfleet.search.searches import loaded_by
from fixedfleet.search.task import MIN_SECONDS, PARTS_ABOVE, run_step

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.genetic import AlgorithmParameters
    from fixedfleet.search.task import Search, SearchTask

__all__ = ["auto_search", "fitted_parameters", "recipe_for"]

# With a vehicle cost, this share of the time is spent on whether one vehicle more or
# less pays: at the beginning if a vehicle costs at least the second share of the
# length, otherwise at the end.
_VEHICLES_SHARE, _DEAR = 0.2, 0.05
# The genetic search may find no plan within the fleet if time is short or the fleet is
# full. Ruin and recreate runs first, so that there is a better plan than the initial
# one: for a moment, and longer if the demands fill the fleet to this share.
_FULL = 0.985
_FULL_SHARE, _FULL_SECONDS = 0.3, 0.1  # share of the time, and seconds at most
_MOMENT_SHARE, _MOMENT_SECONDS = 0.05, 2e-3


def _load(instance: Instance) -> None:
    """Load what the steps need for an instance of this size."""
    if not measurable(instance):
        return
    if instance.num_customers > PARTS_ABOVE:
        load_for_parts(instance)
    else:
        load_kernel_for(instance)


@loaded_by(_load)
def auto_search(task: SearchTask) -> Iterator[Plan]:
    """
    Improve a plan by the steps that measured best for its size and time.

    A vehicle cost is weighed by ruin and recreate, before or after the length is
    minimised without it.
    """
    plan, vehicle_cost = task.initial_plan, task.vehicle_cost
    shorten, until = replace(task, vehicle_cost=0.0), 1.0
    if vehicle_cost >= _DEAR * plan.length(task.instance) > 0:
        plan = yield from _run(_ruin, task, plan, _VEHICLES_SHARE, vehicle_cost)
        if not plan.unserved(task.instance):
            fleet = task.instance.with_vehicles(plan.vehicles)
            shorten = replace(shorten, instance=fleet)
    elif vehicle_cost > 0:
        until -= _VEHICLES_SHARE
    for search, end in _steps(shorten, until):
        plan = yield from _run(search, shorten, plan, end, vehicle_cost)
    yield from _run(_ruin, task, plan, 1.0, vehicle_cost)


def _run(
    search: Search, task: SearchTask, plan: Plan, end: float, vehicle_cost: float
) -> Generator[Plan, None, Plan]:
    """Search from a plan until a share of the whole time is used; return the best."""
    deadline = task.deadline.until(end)
    if deadline.left() <= MIN_SECONDS:
        return plan
    step = replace(task, initial_plan=plan, deadline=deadline)
    return (yield from run_step(search, step, vehicle_cost))


def _steps(task: SearchTask, until: float) -> list[tuple[Search, float]]:
    """Return the searches that minimise the length, each with the share of its end."""
    instance, n = task.instance, task.instance.num_customers
    if n > PARTS_ABOVE and measurable(instance):
        return [(decomposition, until)]
    seconds = task.deadline.seconds * until
    share, population = recipe_for(n, seconds, _filled(instance))
    return [(_ruin, share * until), (partial(_genetic, population=population), until)]


def recipe_for(n: int, seconds: float, filled: float = 0.0) -> tuple[float, int]:
    """
    Return the share of the time for ruin and recreate; the genetic search has the rest.

    The second number is the population of the genetic search. ``filled`` is the demand
    as a share of what the fleet can carry. results/notes/search.md has the
    measurements.
    """
    # Local searches of one plan that fit into the time, roughly.
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
    """Return the parameters of HGS-CVRP for a population that fits a short time."""
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
    """Return the demand as a share of what the fleet can carry."""
    room = instance.vehicles * instance.capacity_units  # may be beyond 64 bits
    return int(instance.demand_units.sum()) / room


def _ruin(task: SearchTask) -> Iterator[Plan]:
    """Ruin and recreate, if its 32 bits can hold the distances."""
    if not measurable(task.instance):
        return
    customers = task.instance.num_customers
    if task.deadline.seconds > 2e-4 * customers:
        yield from ruin_recreate(task)
    else:
        yield from ruin_recreate(task, _for_short_time(customers))


@cache
def _for_short_time(customers: int) -> RuinRecreateParameters:
    """Return settings with fewer removals and a hotter end."""
    end = min(2 / customers, RuinRecreateParameters.start_temperature)
    return RuinRecreateParameters(removals=8, max_string=6, end_temperature=end)


def _genetic(task: SearchTask, population: int) -> Iterator[Plan]:
    """Run the genetic search with a population that is fitted to the time."""
    yield from genetic_search(task, fitted_parameters(population))
