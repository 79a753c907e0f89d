"""The default search: the steps that measured best for the size and the time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from fixedfleet.search.cpu_arrays import measurable
from fixedfleet.search.decomposition import decomposition
from fixedfleet.search.genetic import genetic_search, small_population
from fixedfleet.search.method import EXPENSIVE, LEAST_SECONDS, MANY
from fixedfleet.search.ruin_recreate import RuinRecreateParameters, ruin_recreate

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.genetic import AlgorithmParameters
    from fixedfleet.search.method import SearchMethod, SearchTask

__all__ = ["auto_search", "fitted_parameters", "recipe_for"]

# With a vehicle cost, this share of the time is spent on whether one vehicle more or
# less pays.
_FLEET_SHARE = 0.2
# The genetic search may find no plan within the fleet if time is short or the fleet is
# full. Ruin and recreate runs first, so that there is a better plan than the start:
# for a moment, and longer if the demands fill the fleet to this share.
_FULL = 0.985
_FULL_SHARE, _FULL_SECONDS = 0.3, 0.1  # share of the time, and seconds at most
_MOMENT_SHARE, _MOMENT_SECONDS = 0.05, 2e-3


def auto_search(task: SearchTask) -> None:
    """Improve a plan by the steps that measured best for its size and time."""
    seconds = task.stop.require_seconds("auto")
    instance, vehicle_cost, fewest = task.instance, task.vehicle_cost, task.fewest
    plan, until = task.start, 1.0
    if vehicle_cost > 0:
        expensive = vehicle_cost >= EXPENSIVE * plan.length(instance)
        if fewest is not None and expensive:
            plan = _settle_fleet(task, fewest)
        else:
            until -= _FLEET_SHARE
    if plan is not task.start:
        instance = instance.with_vehicles(plan.vehicles)
    shorten = replace(task, instance=instance, vehicle_cost=0.0)
    if instance.num_customers > MANY and measurable(instance):
        _run(decomposition, shorten, until, plan)
    else:
        n = instance.num_customers
        share, population = recipe_for(n, seconds * until, _filled(instance))
        _run(_ruin, shorten, share * until, plan)
        _run(partial(_breed, population=population), shorten, until, plan)
    _run(_ruin, task, 1.0, plan)


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


def _run(search: SearchMethod, task: SearchTask, until: float, plan: Plan) -> None:
    """
    Search until a share of the whole time is used, from the best plan so far.

    If that has more vehicles than the instance of the task, start from ``plan``.
    """
    stop = task.stop.part(until)
    if stop.left() > LEAST_SECONDS:
        best = task.best.plan
        start = best if best.vehicles <= task.instance.vehicles else plan
        search(replace(task, start=start, stop=stop))


def _settle_fleet(task: SearchTask, fewest: Plan) -> Plan:
    """Return a plan with as many vehicles as are worth their cost, or a guess."""
    task.offer(fewest)
    if task.vehicle_cost >= fewest.length(task.instance):
        return fewest  # no shorter plan can pay for one more vehicle
    _run(_ruin, task, _FLEET_SHARE, fewest)
    return task.best.plan


def _filled(instance: Instance) -> float:
    """Return the demand as a share of what the fleet can carry."""
    room = instance.vehicles * instance.capacity_units  # may be beyond 64 bits
    return int(instance.demand_units.sum()) / room


def _ruin(task: SearchTask) -> None:
    """Ruin and recreate, if its 32 bits can hold the distances."""
    if not measurable(task.instance):
        return
    customers = task.instance.num_customers
    if task.stop.seconds > 2e-4 * customers:
        ruin_recreate(task)
    else:
        ruin_recreate(task, _for_short_time(customers))


@cache
def _for_short_time(customers: int) -> RuinRecreateParameters:
    """Return settings with fewer removals and a hotter end."""
    end = min(2 / customers, RuinRecreateParameters.start_temperature)
    return RuinRecreateParameters(removals=8, longest=6, end_temperature=end)


def _breed(task: SearchTask, population: int) -> None:
    """Run the genetic search with a population that is fitted to the time."""
    genetic_search(task, fitted_parameters(population))
