"""The default search: the best thing known for the size and the time there is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.search.result import SearchResult, better
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    ruin_recreate,
    warm_up,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.solvers.hgs import HgsParameters

__all__ = ["Recipe", "auto_search", "recipe_for"]

# Where a vehicle costs at least this share of a plan's length, hardly any length that
# another vehicle saves pays for it, and the fewest vehicles are the bound.
_DEAR = 0.05
# With a vehicle cost, this share of the time goes into asking whether a vehicle more
# or less pays.
_FLEET_SHARE = 0.2
_LEAST_SECONDS = 1e-3  # less is not worth a call
_SLICE_SECONDS = 0.5  # between two looks at what the genetic search has found


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


def recipe_for(customers: int, time_limit: float) -> Recipe:
    """
    Choose how to spend the time; docs/search.md has the measurements behind it.

    Parameters
    ----------
    customers
        Number of customers, N.
    time_limit
        Seconds there are.
    """
    # Local searches of one plan that fit into the time, roughly.
    plans = time_limit / (3.5e-8 * customers**2)
    population = 3 if plans < 150 else 4 if plans < 600 else 6 if plans < 1500 else 12
    if plans < 40 or (customers > 120 and plans < 500):
        return Recipe(ruin_share=1.0, population=population)
    share = 0.0 if customers <= 120 else 0.5 if customers <= 150 else 0.8
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
    run = _Run(instance, start, time_limit, seed, vehicle_cost, on_improvement, stop)
    bounded, until = instance, 1.0
    if vehicle_cost > 0:
        until = 1 - _FLEET_SHARE
        if fewest is not None and vehicle_cost >= _DEAR * start.length(instance):
            bounded, until = instance.with_vehicles(fewest.vehicles), 1.0
            run.fewest = fewest
            run.offer(fewest)
    recipe = recipe_for(instance.num_customers, time_limit * until)
    try:
        run.ruin(bounded, recipe.ruin_share * until, vehicle_cost=0.0)
        run.breed(bounded, recipe.population, until)
        run.ruin(instance, 1.0, vehicle_cost)
    except KeyboardInterrupt:
        run.interrupted = True
    return run.result()


class _Run:
    """One default search: the best plan so far, and the clock."""

    def __init__(
        self,
        instance: Instance,
        start: Plan,
        time_limit: float,
        seed: int,
        vehicle_cost: float,
        on_improvement: Callable[[float, float, Plan], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self.begin = time.perf_counter()
        self.instance = instance
        self.best = start
        self.fewest = start
        self.time_limit = time_limit
        self.seed = seed
        self.vehicle_cost = vehicle_cost
        self.on_improvement = on_improvement
        self.stop = stop
        self.iterations = 0
        self.interrupted = False
        self.trace: list[tuple[float, float]] = []
        self.record(start)

    def elapsed(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.begin

    def left(self, until: float) -> float:
        """Seconds until a share of the time is used; 0 if the user has had enough."""
        if self.interrupted or (self.stop is not None and self.stop()):
            return 0.0
        return self.time_limit * until - self.elapsed()

    def offer(self, plan: Plan) -> None:
        """Keep a plan if it is better than the best."""
        kept = better(self.instance, plan, self.best, self.vehicle_cost)
        if kept is not self.best:
            self.best = kept
            self.record(kept)

    def start_within(self, bounded: Instance) -> Plan:
        """Return the best plan, or where that has too many vehicles, the fewest."""
        within = self.best.vehicles <= bounded.vehicles
        return self.best if within else self.fewest

    def record(self, plan: Plan) -> None:
        """Note an improvement and tell the user."""
        if plan.unserved(self.instance):
            return
        cost = plan.cost_v(self.instance, self.vehicle_cost)
        self.trace.append((self.elapsed(), cost))
        if self.on_improvement is not None:
            self.on_improvement(*self.trace[-1], plan)

    def ruin(self, bounded: Instance, until: float, vehicle_cost: float) -> None:
        """Ruin and recreate from the best plan until a share of the time is used."""
        seconds = self.left(until)
        if seconds <= _LEAST_SECONDS:
            return
        found = ruin_recreate(
            bounded,
            self.start_within(bounded),
            time_limit=seconds,
            seed=self.seed,
            vehicle_cost=vehicle_cost,
            parameters=_ruining(self.instance.num_customers, seconds),
            on_improvement=self._forward if self.on_improvement else None,
            stop=self.stop,
        )
        self.iterations += found.iterations
        self.interrupted |= found.interrupted
        self.offer(found.plan)

    def breed(self, bounded: Instance, population: int, until: float) -> None:
        """Let the genetic search go on from the best plan, a slice of time each."""
        from fixedfleet.solvers.hgs import hgs_search

        slice_seconds = max(_SLICE_SECONDS, 3e-6 * self.instance.num_customers**2)
        seed = self.seed
        while (seconds := self.left(until)) > _LEAST_SECONDS:
            whole = seconds < 2 * slice_seconds
            start = self.start_within(bounded)
            found = hgs_search(
                bounded,
                time_limit=seconds if whole else slice_seconds,
                seed=seed,
                starts=() if start.unserved(bounded) else (start,),
                parameters=_genetic(population),
            )
            if found is not None:
                self.offer(found)
            seed += 1

    def result(self) -> SearchResult:
        """Return the best plan and how it was found."""
        return SearchResult(
            plan=self.best,
            cost=self.best.cost_v(self.instance, self.vehicle_cost),
            seconds=self.elapsed(),
            iterations=self.iterations,
            trace=tuple(self.trace),
            interrupted=self.interrupted,
        )

    def _forward(self, _seconds: float, _cost: float, plan: Plan) -> None:
        self.offer(plan)


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
