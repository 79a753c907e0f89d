"""The default search: the best thing known for the size and the time there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.search.genetic import breed, load_hgs
from fixedfleet.search.layout import measurable
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    ruin_recreate,
    warm_up,
)
from fixedfleet.search.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.result import SearchResult
    from fixedfleet.solvers.hgs import HgsParameters

__all__ = ["Recipe", "auto_search", "recipe_for"]

# Where a vehicle costs at least this share of a plan's length, how many are worth it is
# settled first, and length is minimised with no more than these. Where it costs less,
# length comes first.
_DEAR = 0.05
# With a vehicle cost, this share of the time goes into asking whether a vehicle more
# or less pays.
_FLEET_SHARE = 0.2
_LEAST_SECONDS = 1e-3  # less is not worth a call
# The genetic search, short of time or with a full fleet, may find no plan within the
# fleet. So that the start is not all there is then, ruin and recreate goes first: for a
# moment, and longer where the fleet is filled to this share.
_FULL = 0.985
_MOMENT, _LONGER = (0.05, 2e-3), (0.3, 0.1)  # share of the time, and seconds at most


@dataclass(frozen=True)
class Recipe:
    """
    How the default search spends its time.

    Attributes
    ----------
    ruin_share
        Share of the time for ruin and recreate; the rest is the genetic search's,
        with the plan found so far in its first population.
    population
        Smallest subpopulation of the genetic search. It builds four times as many
        plans before it begins, so a short search wants few.
    """

    ruin_share: float
    population: int


def recipe_for(customers: int, time_limit: float, filled: float = 0.0) -> Recipe:
    """
    Choose how to spend the time; docs/search.md has the measurements behind it.

    Parameters
    ----------
    customers
        Number of customers, N.
    time_limit
        Seconds there are.
    filled
        Demand as a share of what the fleet can carry.
    """
    # Local searches of one plan that fit into the time, roughly.
    plans = time_limit / (3.5e-8 * customers**2)
    population = 3 if plans < 150 else 4 if plans < 600 else 6 if plans < 1500 else 12
    if plans < 40 or (customers > 120 and plans < 500):
        return Recipe(ruin_share=1.0, population=population)
    if customers > 120:
        share = 0.5 if customers <= 150 else 0.8
    else:
        most, seconds = _LONGER if filled >= _FULL else _MOMENT
        share = min(most, seconds / time_limit)
    return Recipe(ruin_share=share, population=population)


def auto_search(
    instance: Instance,
    start: Plan,
    *,
    time_limit: float,
    seed: int = 0,
    vehicle_cost: float = 0.0,
    fewest: Plan | None = None,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """
    Improve a plan by what is best for the size and the time.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        A plan within the fleet.
    time_limit
        Seconds to search, everything included.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used.
    fewest
        A plan with the fewest vehicles that suffice, for a vehicle cost.
    on_improvement
        Called with (seconds, cost, plan) as the best plan becomes better.
    stop
        Asked now and then; the search ends when it answers True.
    """
    warm_up()
    load_hgs()
    run = Run(
        instance,
        start,
        time_limit=time_limit,
        vehicle_cost=vehicle_cost,
        on_improvement=on_improvement,
        stop=stop,
    )
    within, until = start, 1.0
    try:
        if vehicle_cost > 0:
            if fewest is not None and vehicle_cost >= _DEAR * start.length(instance):
                within = _settle_fleet(run, instance, fewest, seed, vehicle_cost)
            else:
                until -= _FLEET_SHARE
        bounded = (
            instance if within is start else instance.with_vehicles(within.vehicles)
        )
        recipe = recipe_for(
            instance.num_customers, time_limit * until, _filled(bounded)
        )
        _ruin(run, bounded, within, recipe.ruin_share * until, seed, 0.0)
        breed(
            run,
            bounded,
            _start_within(run, bounded, within),
            seed=seed,
            parameters=_genetic(recipe.population),
            until=until,
        )
        _ruin(run, instance, within, 1.0, seed, vehicle_cost)
    except KeyboardInterrupt:
        run.interrupted = True
    return run.result()


def _settle_fleet(
    run: Run, instance: Instance, fewest: Plan, seed: int, vehicle_cost: float
) -> Plan:
    """Return a plan with as many vehicles as are worth their cost, or a guess."""
    run.offer(fewest)
    if vehicle_cost < fewest.length(instance):
        _ruin(run, instance, fewest, _FLEET_SHARE, seed, vehicle_cost)
        return run.best
    return fewest  # no plan pays for one more vehicle, however short it is


def _filled(instance: Instance) -> float:
    """Demand as a share of what the fleet can carry."""
    room = instance.vehicles * instance.capacity_units  # may be beyond 64 bits
    return int(instance.demand_units.sum()) / room


def _start_within(run: Run, bounded: Instance, within: Plan) -> Plan:
    """Return the best plan, or where that has too many vehicles, the one given."""
    return run.best if run.best.vehicles <= bounded.vehicles else within


def _ruin(
    run: Run,
    bounded: Instance,
    within: Plan,
    until: float,
    seed: int,
    vehicle_cost: float,
) -> None:
    """Ruin and recreate from the best plan until a share of the time is used."""
    seconds = run.left(until)
    if seconds <= _LEAST_SECONDS or not measurable(bounded):
        return

    def forward(_seconds: float, _cost: float, plan: Plan) -> None:
        run.offer(plan)

    found = ruin_recreate(
        bounded,
        _start_within(run, bounded, within),
        time_limit=seconds,
        seed=seed,
        vehicle_cost=vehicle_cost,
        parameters=_ruining(bounded.num_customers, seconds),
        on_improvement=forward if run.on_improvement else None,
        stop=run.stop,
    )
    run.iterations += found.iterations
    run.interrupted |= found.interrupted
    run.offer(found.plan)


def _ruining(customers: int, seconds: float) -> RuinRecreateParameters | None:
    """Parameters of ruin and recreate: smaller and hotter where time is very short."""
    if seconds > 2e-4 * customers:
        return None
    end = min(2 / customers, RuinRecreateParameters.start_temperature)
    return RuinRecreateParameters(removals=8, longest=6, end_temperature=end)


def _genetic(population: int) -> HgsParameters:
    """Parameters of the genetic search for a population fitted to the time."""
    from fixedfleet.solvers.hgs import HgsParameters

    hasty = population <= 3  # too few plans for the penalty to find its level slowly
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
