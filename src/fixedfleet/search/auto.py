"""The default search: the steps that measured best for the size and the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from fixedfleet.search.cpu_arrays import measurable
from fixedfleet.search.decomposition import decomposition
from fixedfleet.search.genetic import genetic_search
from fixedfleet.search.method import LEAST_SECONDS
from fixedfleet.search.parameters import (
    EXPENSIVE,
    HgsParameters,
    RuinRecreateParameters,
)
from fixedfleet.search.ruin_recreate import ruin_recreate

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.method import SearchMethod, SearchTask

__all__ = ["Recipe", "auto_search", "recipe_for"]

# With a vehicle cost, this share of the time is spent on whether one vehicle more or
# less pays.
_FLEET_SHARE = 0.2
# With more customers, parts of the plan are searched one by one.
_MANY = 200
# The genetic search may find no plan within the fleet if time is short or the fleet is
# full. Ruin and recreate runs first, so that there is a better plan than the start:
# for a moment, and longer if the demands fill the fleet to this share.
_FULL = 0.985
_FULL_SHARE, _FULL_SECONDS = 0.3, 0.1  # share of the time, and seconds at most
_MOMENT_SHARE, _MOMENT_SECONDS = 0.05, 2e-3


@dataclass(frozen=True)
class Recipe:
    """
    How the default search spends its time.

    Attributes
    ----------
    ruin_share
        Share of the time for ruin and recreate. The genetic search has the rest, with
        the plan found so far in its first population.
    population
        Smallest subpopulation of the genetic search. It builds four times as many
        plans before it begins, so a short search needs a small one.
    """

    ruin_share: float
    population: int


def recipe_for(customers: int, seconds: float, filled: float = 0.0) -> Recipe:
    """
    Choose how to spend the time; results/notes/search.md has the measurements.

    Parameters
    ----------
    customers
        Number of customers, N.
    seconds
        Seconds to spend.
    filled
        Demand as a share of what the fleet can carry.
    """
    # Local searches of one plan that fit into the time, roughly.
    plans = seconds / (3.5e-8 * customers**2)
    population = 3 if plans < 150 else 4 if plans < 600 else 6 if plans < 1500 else 12
    if plans < 40 or (customers > 120 and plans < 500):
        share = 1.0
    elif customers > 150:
        share = 0.8
    elif customers > 120:
        share = 0.5
    elif filled >= _FULL:
        share = min(_FULL_SHARE, _FULL_SECONDS / seconds)
    else:
        share = min(_MOMENT_SHARE, _MOMENT_SECONDS / seconds)
    return Recipe(ruin_share=share, population=population)


@dataclass(frozen=True)
class _Step:
    """
    One step of the default search.

    Attributes
    ----------
    search
        The search that it runs.
    until
        Share of the whole time at which it ends.
    instance
        The instance, whose fleet may be bounded to fewer vehicles than there are.
    vehicle_cost
        Fixed cost of each vehicle used that the step minimises.
    """

    search: SearchMethod
    until: float
    instance: Instance
    vehicle_cost: float = 0.0


def auto_search(task: SearchTask) -> None:
    """Improve a plan by the steps that measured best for its size and time."""
    seconds = task.stop.require_seconds("auto")
    instance, vehicle_cost, fewest = task.instance, task.vehicle_cost, task.fewest
    plan, until = task.start, 1.0
    if vehicle_cost > 0:
        if fewest is not None and vehicle_cost >= EXPENSIVE * plan.length(instance):
            plan = _settle_fleet(task, fewest)
        else:
            until -= _FLEET_SHARE
    if plan is not task.start:
        instance = instance.with_vehicles(plan.vehicles)
    if instance.num_customers > _MANY and measurable(instance):
        steps = [_Step(decomposition, until, instance)]
    else:
        recipe = recipe_for(instance.num_customers, seconds * until, _filled(instance))
        breed = partial(genetic_search, parameters=_genetic(recipe.population))
        steps = [
            _Step(_ruin, recipe.ruin_share * until, instance),
            _Step(breed, until, instance),
        ]
    for step in (*steps, _Step(_ruin, 1.0, task.instance, vehicle_cost)):
        _take(step, task, plan)


def _take(step: _Step, task: SearchTask, plan: Plan) -> None:
    """Run a step from the best plan so far, or from this one if that is too large."""
    stop = task.stop.part(step.until)
    if stop.left() <= LEAST_SECONDS:
        return
    best = task.best.plan
    step.search(
        replace(
            task,
            instance=step.instance,
            start=best if best.vehicles <= step.instance.vehicles else plan,
            stop=stop,
            vehicle_cost=step.vehicle_cost,
        )
    )


def _settle_fleet(task: SearchTask, fewest: Plan) -> Plan:
    """Return a plan with as many vehicles as are worth their cost, or a guess."""
    task.offer(fewest)
    if task.vehicle_cost >= fewest.length(task.instance):
        return fewest  # no shorter plan can pay for one more vehicle
    _take(_Step(_ruin, _FLEET_SHARE, task.instance, task.vehicle_cost), task, fewest)
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


@cache
def _genetic(population: int) -> HgsParameters:
    """Return parameters of the genetic search for a population fitted to the time."""
    hasty = population <= 3  # too few plans for the penalty to adapt slowly
    return HgsParameters(
        population=population,
        generation=2 * population,
        granularity=8,
        elite=max(2, population // 3),
        closest=max(2, population // 3),
        penalty_period=10 if hasty else 20,
        penalty_increase=1.6 if hasty else 1.2,
        penalty_decrease=0.6 if hasty else 0.85,
    )
