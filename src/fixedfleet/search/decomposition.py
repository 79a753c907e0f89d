"""Search part by part: what the default search does with many customers.

Ruin and recreate makes a good plan of the whole. Then, again and again, HGS-CVRP
searches a few neighbouring tours as an instance of their own, which it does best with
about a hundred customers. The tours it finds replace the ones before.

Several cores search parts that have no tour in common, one part each, and join them
after each round. Both searches release Python's lock, so threads do this.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fixedfleet.search.construct import complete_plan, load_savings, savings
from fixedfleet.search.cpu_distances import scale
from fixedfleet.search.genetic import hgs_plans, small_population
from fixedfleet.search.parts import DividedPlan, search_in_threads
from fixedfleet.search.rounds import rounds
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    anneal,
    load_kernel_for,
    ruin_recreate,
)
from fixedfleet.search.searches import loaded_by
from fixedfleet.search.task import ReportPace, better, run_step

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.parts import Part
    from fixedfleet.search.task import SearchTask

__all__ = [
    "CHECK_SECONDS",
    "DecompositionParameters",
    "anneal_whole",
    "decomposition",
    "load_for_parts",
    "part_population",
    "search_part",
]

CHECK_SECONDS = 5e-6  # for each customer, to check the last plan
_WHOLE = RuinRecreateParameters(large_scale=True)


@dataclass(frozen=True, kw_only=True)
class DecompositionParameters:
    """
    Settings of the search part by part, fitted to N = 200 to 1,000 on a core.

    Parameters
    ----------
    whole_share, whole_seconds, max_whole_share
        Ruin and recreate of the whole has at least this share of the time, and these
        seconds for each customer, but at most the last share.
    usual_tour
        The seconds grow in proportion to tours beyond this number of customers.
    end_temperature
        N times the temperature at its end, which is less cold than that of a search of
        its own, because the parts make up for it.
    rounds
        Rounds of ruin and recreate on several cores.
    min_customers
        Customers per core, at least: smaller parts leave little to improve.
    large
        With more customers, there is little time for each.
    hurry_seconds, savings_seconds
        With fewer seconds per customer than the first, or more than ``large``
        customers, the search begins with a savings plan, unless there are fewer than
        the second.
    hot, cold
        Temperatures of ruin and recreate from a savings plan, as multiples of the mean
        leg between two customers.
    part_size
        Customers per part.
    growth
        Factor by which parts grow if those of the present size were searched in vain.
    passes
        How often each customer should be in a part, if there is time.
    min_part_seconds, max_part_seconds
        Seconds to search a part, for each hundred customers in it.
    brief
        With fewer of these seconds, HGS-CVRP has a smaller population.
    part_iterations, part_counts_as
        If iterations are limited, HGS-CVRP ends after the first number of its own
        iterations without improvement. Each part then counts as the second number of
        iterations of ruin and recreate.
    """

    whole_share: float = 0.4
    whole_seconds: float = 3e-3
    max_whole_share: float = 0.9
    usual_tour: int = 30
    end_temperature: float = 2.0
    rounds: int = 25
    min_customers: int = 100
    large: int = 2000
    hurry_seconds: float = 2e-3
    savings_seconds: float = 3.5e-5
    hot: float = 4.0
    cold: float = 0.05
    part_size: int = 100
    growth: float = 1.25
    passes: int = 3
    min_part_seconds: float = 0.03
    max_part_seconds: float = 0.15
    brief: float = 0.1
    part_iterations: int = 100
    part_counts_as: int = 20_000


_DEFAULTS = DecompositionParameters()


def load_for_parts(instance: Instance) -> None:
    """Load the compiled code of a search part by part, or compile it."""
    load_kernel_for(instance)
    load_savings()


@loaded_by(load_for_parts)
def decomposition(
    task: SearchTask, parameters: DecompositionParameters = _DEFAULTS
) -> Iterator[Plan]:
    """
    Improve a plan of many customers: as a whole, then part by part.

    With a limit on iterations, the same seed and number of cores give the same plan. A
    plan of one tour has no parts, so it is searched as a whole until the end.
    """
    one_tour = task.instance.vehicles == 1
    share = 1.0 if one_tour else _whole_share(task, parameters)
    plan = yield from anneal_whole(task, share, parameters)
    if share == 1.0 or plan.unserved(task.instance):
        return
    deadline = _between(task.deadline, share, 1.0)
    yield from _search_parts(
        replace(task, initial_plan=plan, deadline=deadline), parameters
    )


def anneal_whole(
    task: SearchTask, share: float, parameters: DecompositionParameters = _DEFAULTS
) -> Generator[Plan, None, Plan]:
    """Improve a plan by ruin and recreate until a share of the time; return it."""
    instance = task.instance
    settings = _whole_settings(instance, parameters)
    plan = _savings_plan(task, parameters)
    if plan is not None:
        yield plan
        settings = _settings_after_savings(instance, plan, settings, parameters)
        plan = better(instance, plan, task.initial_plan, task.vehicle_cost)
        task = replace(task, initial_plan=plan)
    task = replace(task, deadline=_between(task.deadline, 0.0, share))
    cores = _cores(task, parameters)
    if cores == 1 or task.initial_plan.unserved(instance):
        search = partial(ruin_recreate, parameters=settings)
    else:
        search = partial(_anneal_parts, settings=settings, count=parameters.rounds)
    return (yield from run_step(search, replace(task, cores=cores)))


def _whole_share(task: SearchTask, parameters: DecompositionParameters) -> float:
    """Return the share of the time for the whole; more if the time is short."""
    n = task.instance.num_customers
    longer = max(1.0, n / task.instance.vehicles / parameters.usual_tour)
    needed = parameters.whole_seconds * longer * n / _cores(task, parameters)
    share = needed / max(task.deadline.seconds, 1e-9)
    return max(parameters.whole_share, min(share, parameters.max_whole_share))


def _whole_settings(
    instance: Instance, parameters: DecompositionParameters
) -> RuinRecreateParameters:
    """
    Return the settings of ruin and recreate of the whole.

    Strings grow with long tours, unless many customers leave little time for each.
    """
    customers = instance.num_customers
    mean = customers / instance.vehicles if customers <= parameters.large else 0
    return replace(
        _WHOLE,
        removals=max(_WHOLE.removals, mean / 4),
        max_string=max(_WHOLE.max_string, int(mean * 3 / 8)),
        end_temperature=min(
            parameters.end_temperature / customers, _WHOLE.start_temperature
        ),
    )


def _cores(task: SearchTask, parameters: DecompositionParameters) -> int:
    """Return how many cores can have a part of at least ``min_customers``."""
    tours = len(task.initial_plan.tours)
    most = min(tours // 2, task.instance.num_customers // parameters.min_customers)
    return max(1, min(task.cores, most))


def _savings_plan(task: SearchTask, parameters: DecompositionParameters) -> Plan | None:
    """Return a savings plan if there are many customers for the time, else None."""
    n, seconds = task.instance.num_customers, task.deadline.seconds
    hurried = n > parameters.large or seconds < parameters.hurry_seconds * n
    if not hurried or seconds < parameters.savings_seconds * n:
        return None
    plan = savings(task.instance)
    return complete_plan(task.instance, plan, seed=task.seed, deadline=task.deadline)


def _settings_after_savings(
    instance: Instance,
    plan: Plan,
    settings: RuinRecreateParameters,
    parameters: DecompositionParameters,
) -> RuinRecreateParameters:
    """Return settings whose temperatures fit the legs of a savings plan."""
    leg = _mean_leg_between(instance, plan) / scale(instance)
    if not leg:
        return settings
    return replace(
        settings,
        start_temperature=parameters.hot * leg,
        end_temperature=parameters.cold * leg,
    )


def _mean_leg_between(instance: Instance, plan: Plan) -> float:
    """Return the mean length of the legs between customers, 0 if there are none."""
    starts = [stop for tour in plan for stop in tour[:-1]]
    ends = [stop for tour in plan for stop in tour[1:]]
    return float(instance.between(starts, ends).mean()) if starts else 0.0


def _between(deadline: Deadline, begin: float, end: float) -> Deadline:
    """Return the limits of the step from one share of the limits to another."""
    step = deadline.until(end)
    if deadline.iterations is None:
        return step
    iterations = max(1, int((end - begin) * deadline.iterations))
    return replace(step, iterations=iterations)


def _anneal_parts(
    task: SearchTask, settings: RuinRecreateParameters, count: int
) -> Iterator[Plan]:
    """Search the whole by ruin and recreate, in each round divided among the cores."""
    hot, cold = settings.temperatures(task.instance.num_customers)
    unit = scale(task.instance)  # of the temperatures
    tours = DividedPlan(task.instance, task.initial_plan, task.seed)
    pace = ReportPace(task.deadline)
    with ThreadPoolExecutor(task.cores) as threads:
        for one in rounds(_per_core(task), count):
            search = partial(
                anneal,
                parameters=settings,
                temperatures=one.between(unit * hot, unit * cold),
                vehicle_cost=task.vehicle_cost,
            )
            parts = tours.divide(task.cores)
            found = search_in_threads(threads, search, parts, one.deadline)
            tours.join(parts, found)
            if pace.is_due():
                yield from pace.report(tours.plan)
    yield tours.plan()


def _per_core(task: SearchTask) -> Deadline:
    """Return a deadline with the iterations of each core."""
    deadline = task.deadline
    if deadline.iterations is None:
        return deadline
    return replace(deadline, iterations=-(-deadline.iterations // task.cores))


def _search_parts(
    task: SearchTask, parameters: DecompositionParameters
) -> Iterator[Plan]:
    """
    Search neighbouring tours by HGS-CVRP, again and again.

    If a single tour is left, it is searched by ruin and recreate until the end.
    """
    deadline, n = task.deadline, task.instance.num_customers
    cores = _cores(task, parameters)
    tours = DividedPlan(task.instance, task.initial_plan, task.seed)
    least, most = _part_size(n, len(tours.tours), parameters), n / cores
    size = least
    seconds = deadline.left() * 100 * cores / (parameters.passes * n)
    seconds = max(seconds, parameters.min_part_seconds)
    seconds = min(seconds, parameters.max_part_seconds)
    iterations = deadline.iterations
    in_vain: set[frozenset[tuple[int, ...]]] = set()
    pace, changed_since = ReportPace(deadline), False
    with ThreadPoolExecutor(cores) as threads:
        while deadline.left() > CHECK_SECONDS * n and iterations != 0:
            if len(tours.tours) == 1:
                rest = replace(deadline.until(1.0), iterations=iterations)
                task = replace(task, initial_plan=tours.plan(), deadline=rest)
                settings = _whole_settings(task.instance, parameters)
                yield from ruin_recreate(task, settings)
                return
            groups = tours.draw_groups(cores, min(size, most), in_vain)
            if not groups:
                if size > most:
                    in_vain.clear()
                size = least if size > most else size * parameters.growth
                continue
            limit = deadline.within(deadline.left() - CHECK_SECONDS * n)
            if iterations is None:
                limit = limit.within(seconds * size / 100)
            else:
                limit = replace(limit, iterations=parameters.part_iterations)
            search = partial(
                search_part,
                population=part_population(seconds, parameters),
                vehicle_cost=task.vehicle_cost,
            )
            parts = tours.parts(groups)
            if cores == 1:
                found = [search(part, limit) for part in parts]
            else:
                found = search_in_threads(threads, search, parts, limit)
            changed = tours.join(parts, found)
            in_vain.update(
                frozenset(group)
                for group, better in zip(groups, changed, strict=True)
                if not better
            )
            changed_since |= any(changed)
            if changed_since and pace.is_due():
                yield from pace.report(tours.plan)
                changed_since = False
            if iterations is not None:
                spent = parameters.part_counts_as * len(groups)
                iterations = max(0, iterations - spent)
    yield tours.plan()


def _part_size(
    customers: int, tours: int, parameters: DecompositionParameters
) -> float:
    """Return the customers per part: of many, at least those of three tours."""
    size = parameters.part_size
    return size if customers <= parameters.large else max(size, 3 * customers / tours)


def part_population(
    seconds: float, parameters: DecompositionParameters = _DEFAULTS
) -> int:
    """Return HGS-CVRP's population for these seconds per hundred customers."""
    return 3 if seconds < parameters.brief else 4


def search_part(
    part: Part, deadline: Deadline, *, population: int, vehicle_cost: float
) -> Plan:
    """Search a part by HGS-CVRP; return its present plan if no better one is found."""
    found = hgs_plans(
        part.instance,
        deadline=deadline,
        seed=part.seed,
        initial_plans=[part.plan],
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
