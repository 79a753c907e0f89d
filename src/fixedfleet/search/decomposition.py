"""Search part by part: what the default search does with many customers.

Ruin and recreate makes a good plan of the whole. Then, again and again, HGS-CVRP
searches a few neighbouring tours as an instance of their own, which it does best with
about a hundred customers. The tours it finds replace the ones before.

Several cores search parts that have no tour in common, one part each, and join them
after each round. Both searches release Python's lock, so threads do this.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.search.construct import complete_plan, load_savings, savings
from fixedfleet.search.cpu_distances import is_measured, scale
from fixedfleet.search.genetic import hgs_plans, small_population
from fixedfleet.search.parts import Tours
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    anneal,
    load_kernel,
    ruin_recreate,
)
from fixedfleet.search.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.parts import Part

    # Searches each part: ``map``, or that of a pool of threads.
    Run = Callable[[Callable[[Part], Plan], list[Part]], Iterable[Plan]]

__all__ = [
    "CLOSING_SECONDS",
    "anneal_whole",
    "breed",
    "decomposition",
    "part_population",
    "part_size",
    "whole_settings",
]

# The settings are fitted to N = 200 to 1,000 on a core; docs/search.md explains them.
_LARGE = 2000  # customers; with more, there is little time for each
CLOSING_SECONDS = 5e-6  # for each customer, to check the last plan

# Ruin and recreate of the whole has at least this share of the time, and these seconds
# for each customer, but at most the second share. The seconds grow in proportion to
# tours beyond this number of customers.
_WHOLE_SHARE, _WHOLE_SECONDS, _MOST_WHOLE = 0.4, 3e-3, 0.9
_USUAL_TOUR = 30
_WHOLE = RuinRecreateParameters(many=True)
# N times the end temperature. The parts make up for an end that is less cold than that
# of a search of its own.
_WHOLE_END = 2.0
_ROUNDS = 25  # rounds of ruin and recreate on several cores
_FEW = 100  # customers per core, at least: smaller parts leave little to improve
# With fewer seconds for each customer, or more customers, the search begins with a
# savings plan, but not if the savings themselves would take too long. The temperatures
# of ruin and recreate are then these multiples of the mean leg between two customers.
_HURRY_SECONDS = 2e-3
_SAVINGS_SECONDS = 3.5e-5
_HOT, _COLD = 4.0, 0.05

_SIZE = 100  # customers per part
_GROWTH = 1.25  # of the parts, if those of the present size were searched in vain
_PASSES = 3  # times that each customer should be in a part, if there is time
# Seconds to search a part, for each hundred customers in it: at least, and at most.
_LEAST_PART, _MOST_PART = 0.03, 0.15
_BRIEF = 0.1  # with fewer of these seconds, a smaller population is enough
# If the limit is a number of iterations, HGS-CVRP ends after so many of its own without
# improvement, and a part counts as so many of ruin and recreate.
_PART_ITERATIONS, _PART_COUNTS_AS = 100, 20_000


def decomposition(task: SearchTask) -> None:
    """
    Improve a plan of many customers: as a whole, then part by part.

    With a limit on iterations, the same seed and number of cores give the same plan.
    """
    share = _whole_share(task)
    anneal_whole(task, share)
    if not task.best.unassigned:
        cores = _cores(task)
        with ThreadPoolExecutor(cores) as threads:
            run = map if cores == 1 else threads.map
            _search_parts(Tours(task), run, cores, _step(task.stop, share, 1.0))


def anneal_whole(task: SearchTask, share: float) -> None:
    """Improve a plan by ruin and recreate, for the first share of the time."""
    instance = task.instance
    with task.stop.paused(), interrupts_deferred():
        load_kernel(measured=is_measured(instance))
        load_savings()
    settings = whole_settings(instance.num_customers, instance.vehicles)
    task, settings = _from_savings(task, settings)
    step = _step(task.stop, 0.0, share)
    cores = _cores(task)
    if cores == 1 or task.start.unserved(instance):
        ruin_recreate(replace(task, stop=step), settings)
        return
    with ThreadPoolExecutor(cores) as threads:
        _anneal_parts(Tours(task), threads.map, cores, step, settings)


def _whole_share(task: SearchTask) -> float:
    """Return the share of the time for the whole; more if the time is short."""
    n = task.instance.num_customers
    longer = max(1.0, n / task.instance.vehicles / _USUAL_TOUR)
    needed = _WHOLE_SECONDS * longer * n / _cores(task)
    share = min(needed / max(task.stop.seconds, 1e-9), _MOST_WHOLE)
    return max(_WHOLE_SHARE, share)


def whole_settings(customers: int, vehicles: int) -> RuinRecreateParameters:
    """
    Return the settings of ruin and recreate of the whole.

    Strings grow with long tours, unless many customers leave little time for each.
    """
    mean = customers / vehicles if customers <= _LARGE else 0  # customers per tour
    return replace(
        _WHOLE,
        removals=max(_WHOLE.removals, mean / 4),
        longest=max(_WHOLE.longest, int(mean * 3 / 8)),
        end_temperature=min(_WHOLE_END / customers, _WHOLE.start_temperature),
    )


def _cores(task: SearchTask) -> int:
    """Return how many cores have a part to search that is not too small."""
    most = min(len(task.best.plan.tours) // 2, task.instance.num_customers // _FEW)
    return max(1, min(task.cores, most))


def _from_savings(
    task: SearchTask, settings: RuinRecreateParameters
) -> tuple[SearchTask, RuinRecreateParameters]:
    """If there are many customers for the time, begin with a savings plan."""
    n = task.instance.num_customers
    hurried = n > _LARGE or task.stop.seconds < _HURRY_SECONDS * n
    if not hurried or task.stop.seconds < _SAVINGS_SECONDS * n:
        return task, settings
    plan = complete_plan(task.instance, savings(task.instance), seed=task.seed)
    if plan is None:
        return task, settings
    task.offer(plan)
    if leg := _mean_leg_between(task.instance, plan) / scale(task.instance):
        settings = replace(
            settings, start_temperature=_HOT * leg, end_temperature=_COLD * leg
        )
    return replace(task, start=task.best.plan), settings


def _mean_leg_between(instance: Instance, plan: Plan) -> float:
    """Return the mean length of the legs between customers, 0 if there are none."""
    starts = [stop for tour in plan for stop in tour[:-1]]
    ends = [stop for tour in plan for stop in tour[1:]]
    return float(instance.between(starts, ends).mean()) if starts else 0.0


def _step(stop: Stop, begin: float, end: float) -> Stop:
    """Return the stop of a step between two shares of the time or the iterations."""
    step = stop.part(end)
    if stop.iterations is not None:
        step.iterations = max(1, int((end - begin) * stop.iterations))
    return step


def _anneal_parts(
    tours: Tours, run: Run, cores: int, step: Stop, settings: RuinRecreateParameters
) -> None:
    """Search the whole by ruin and recreate, divided anew after each round."""
    task = tours.task
    hot, cold = settings.temperatures(task.instance.num_customers)
    first = scale(task.instance) * hot  # the temperature in the unit of the distances
    # The iterations of a core in a round; None if the limit is a time.
    iterations = step.iterations and -(-step.iterations // (_ROUNDS * cores))
    try:
        while not step.over():
            # By the clock, because a round may take longer on a busy machine.
            used = step.used()
            until = min(1.0, used + 1 / _ROUNDS)
            seconds = None if iterations else (until - used) * step.seconds
            search = partial(
                anneal,
                limit=Stop(seconds, iterations=iterations),
                parameters=settings,
                temperatures=(
                    first * (cold / hot) ** used,
                    first * (cold / hot) ** until,
                ),
                vehicle_cost=task.vehicle_cost,
            )
            parts = tours.divide(cores)
            tours.join(parts, run(search, parts))
            step.count((iterations or 0) * cores)
            if task.best.watched:
                tours.offer()
    finally:  # also after Ctrl-C
        tours.offer()


def _search_parts(tours: Tours, run: Run, cores: int, stop: Stop) -> None:
    """Search neighbouring tours by HGS-CVRP, again and again."""
    task = tours.task
    n = task.instance.num_customers
    least, most = part_size(n, len(tours.tours)), n / cores
    size = least
    seconds = stop.left() * 100 * cores / (_PASSES * n)
    seconds = min(max(seconds, _LEAST_PART), _MOST_PART)
    by_time = stop.iterations is None
    in_vain: set[frozenset[tuple[int, ...]]] = set()
    try:
        while not stop.over() and (left := stop.left() - CLOSING_SECONDS * n) > 0:
            chosen = tours.draw_groups(cores, min(size, most), in_vain)
            if not chosen:
                if size > most:
                    in_vain.clear()
                size = least if size > most else size * _GROWTH
                continue
            search = partial(
                breed,
                seconds=min(left, seconds * size / 100) if by_time else None,
                population=part_population(seconds),
                vehicle_cost=task.vehicle_cost,
            )
            parts = tours.parts(chosen)
            changed = tours.join(parts, run(search, parts))
            in_vain.update(
                frozenset(group)
                for group, better in zip(chosen, changed, strict=True)
                if not better
            )
            if task.best.watched and any(changed):
                tours.offer()
            if not by_time:
                stop.count(_PART_COUNTS_AS * len(chosen))
    finally:  # also after Ctrl-C
        tours.offer()


def part_size(customers: int, tours: int) -> float:
    """Return the customers per part: of many, at least those of three tours."""
    return _SIZE if customers <= _LARGE else max(_SIZE, 3 * customers / tours)


def part_population(seconds: float) -> int:
    """Return HGS-CVRP's population for these seconds per hundred customers."""
    return 3 if seconds < _BRIEF else 4


def breed(
    part: Part, *, seconds: float | None, population: int, vehicle_cost: float
) -> Plan:
    """
    Search a part by HGS-CVRP; return its present plan if no better one is found.

    Without seconds, the number of iterations is always the same.
    """
    stop = Stop(iterations=_PART_ITERATIONS) if seconds is None else Stop(seconds)
    found = hgs_plans(
        part.instance,
        stop=stop,
        seed=part.seed,
        starts=[part.plan],
        parameters=small_population(
            population, nbGranular=10, nbIterPenaltyManagement=10
        ),
    )
    known = part.plan.cost_v(part.instance, vehicle_cost)
    for plan in found:
        # The same tours in another order may have a length that differs by rounding.
        shorter = plan.cost_v(part.instance, vehicle_cost) < known * (1 - 1e-12)
        if shorter and plan.is_feasible(part.instance):
            return plan
    return part.plan
