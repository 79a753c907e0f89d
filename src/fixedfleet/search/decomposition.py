"""
Search part by part: what the default search does with many customers.

The time is divided into cycles, each much longer than the one before. A cycle anneals
the whole plan by ruin and recreate. Then HGS-CVRP searches parts of the plan, one after
the other: a part is a few neighbouring tours, searched as an instance of their own.
HGS-CVRP is best with about a hundred customers. The tours that it finds for a part
replace the previous ones. The next cycle begins from the best plan at a temperature
that is lower than that of the first cycle, so that much of the plan is kept.

Several cores anneal one plan together, each in a region of it. Then they search parts
of it that have no tour in common. If the plan has too few customers or tours for that,
they search parts of several copies of it, and combine what they find. If it is too
small even for regions, the cores search several plans from the beginning. All these
searches run in threads, because they all release Python's lock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log
from typing import TYPE_CHECKING

from fixedfleet.search import construct
from fixedfleet.search.cpu_distances import scale, uses_coordinates
from fixedfleet.search.genetic import hgs_plans, small_population
from fixedfleet.search.parts import DividedPlan, search_in_threads
from fixedfleet.search.regions import MIN_TOURS
from fixedfleet.search.ruin_recreate import (
    RuinRecreateParameters,
    load_regions,
    ruin_recreate,
)
from fixedfleet.search.searches import loaded_by
from fixedfleet.search.side_by_side import search_side_by_side
from fixedfleet.search.task import ReportPace, better, exchanged, run_step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.parts import Part
    from fixedfleet.search.task import Search, SearchTask

__all__ = [
    "CHECK_SECONDS",
    "DecompositionParameters",
    "anneal_whole",
    "decomposition",
    "load_for_parts",
    "part_population",
    "savings_plan",
    "search_part",
]

CHECK_SECONDS = 5e-6  # per customer, to check the last plan
_WHOLE = RuinRecreateParameters(large_scale=True)


@dataclass(frozen=True, kw_only=True)
class DecompositionParameters:
    """
    Settings of the search part by part, fitted to 200 to 1,000 customers on one core.

    Parameters
    ----------
    first_seconds, first_iterations
        Minimum length of the first cycle per customer, in seconds and, if iterations
        are limited, in iterations. The seconds are divided by the number of cores that
        share the plan.
    cycle_growth
        Factor by which each cycle is longer than the one before.
    reheat
        Temperature at the start of each later cycle, as a multiple of the mean length
        of the plan's legs between customers.
    whole_share, whole_seconds, max_whole_share
        Ruin and recreate of the whole plan takes ``whole_seconds`` per customer,
        divided by the number of cores. This is at least the share ``whole_share`` of a
        cycle and at most the share ``max_whole_share``.
    usual_tour
        If tours have more customers than this on average, ``whole_seconds`` grows in
        proportion to their number.
    end_temperature
        N times the temperature at the end of ruin and recreate of the whole plan, where
        N is the number of customers. It is higher than in a search by ruin and recreate
        alone, because the search of parts follows.
    region_customers, region_tours
        If several cores anneal one plan, least numbers of customers and of tours per
        core. If there are more cores, they anneal another plan; but a quarter more is
        not worth another one.
    min_customers, min_tours
        The same for cores that search the parts of one plan. A part usually has fewer
        customers, so that some tours are free and the next part can have other tours.
    large
        Above this number of customers, some settings differ, because there is little
        time per customer.
    hurry_seconds, savings_seconds
        Ruin and recreate begins with a savings plan if one of three conditions holds:
        there are fewer than ``hurry_seconds`` per customer, there are more than
        ``large`` customers, or several cores search the plan. If there are fewer than
        ``savings_seconds`` per customer, no savings plan is made.
    hot, cold
        First and last temperature of ruin and recreate from a savings plan, as
        multiples of the mean length of the plan's legs between customers.
    part_size
        Customers per part.
    growth, max_part_size
        Factor by which the size of parts grows when no new part of the present size can
        be drawn, and the size up to which it grows: HGS-CVRP needs a matrix of the
        distances in a part. If two tours have more customers, no parts are searched.
    passes
        How often each customer should be in a part. The time per part is chosen
        accordingly, within the two limits that follow.
    min_part_seconds, max_part_seconds
        Least and most seconds to search a part, per hundred customers in it.
    brief
        If a part is searched for fewer seconds than this per hundred customers,
        HGS-CVRP has a smaller population.
    part_iterations, part_counts_as
        If iterations are limited, HGS-CVRP searches a part until ``part_iterations`` of
        its own iterations bring no improvement. Each part then counts as
        ``part_counts_as`` iterations of ruin and recreate.
    exchanges, exchange_seconds, exchange_parts
        If several plans are searched side by side, they are exchanged ``exchanges``
        times in each annealing. While parts are searched, they are exchanged after
        ``exchange_seconds`` or, if iterations are limited, after ``exchange_parts``
        parts per core.
    """

    first_seconds: float = 1e-3
    first_iterations: int = 400
    cycle_growth: float = 8.0
    reheat: float = 0.6
    whole_share: float = 0.4
    whole_seconds: float = 3e-3
    max_whole_share: float = 0.9
    usual_tour: int = 30
    end_temperature: float = 2.0
    region_customers: int = 120
    region_tours: int = 5
    min_customers: int = 200
    min_tours: int = 24
    large: int = 2000
    hurry_seconds: float = 2e-3
    savings_seconds: float = 3.5e-5
    hot: float = 4.0
    cold: float = 0.05
    part_size: int = 100
    max_part_size: int = 1000
    growth: float = 1.25
    passes: int = 3
    min_part_seconds: float = 0.03
    max_part_seconds: float = 0.15
    brief: float = 0.1
    part_iterations: int = 100
    part_counts_as: int = 20_000
    exchanges: int = 10
    exchange_seconds: float = 0.5
    exchange_parts: int = 4


_DEFAULTS = DecompositionParameters()


def load_for_parts(instance: Instance) -> None:
    """Load the compiled code of a search part by part, or compile it."""
    load_regions(uses_coordinates(instance))
    construct.load_savings()


@loaded_by(load_for_parts)
def decomposition(
    task: SearchTask, parameters: DecompositionParameters = _DEFAULTS
) -> Iterator[Plan]:
    """
    Improve a plan of many customers: as a whole and part by part, in turn.

    If iterations are limited, all cores share the limit. Then the same seed and number
    of cores give the same plan.
    """
    plan = yield from savings_plan(task, parameters)
    if task.deadline.over():
        return
    search = partial(_search_in_cycles, savings=plan, parameters=parameters)
    first = task
    if plan is not None and task.initial_plan.unserved(task.instance):
        first = replace(task, initial_plan=plan)  # the initial plan may have no tours
    yield from search_side_by_side(search, task, _annealed_plans(first, parameters))


def _annealed_plans(task: SearchTask, parameters: DecompositionParameters) -> int:
    """Return the number of plans that the cores anneal at the same time."""
    return _plans(task, parameters.region_customers, parameters.region_tours)


def _plans(task: SearchTask, customers: int, tours: int) -> int:
    """
    Return the number of plans that the cores search at the same time.

    Each core has about ``customers`` customers and ``tours`` tours of the initial plan,
    or more.
    """
    each = min(
        task.instance.num_customers // customers, len(task.initial_plan.tours) // tours
    )
    # A quarter more cores than that are not worth another plan.
    return max(1, ceil(task.cores / max(1, each) - 0.25))


def _search_in_cycles(
    task: SearchTask, savings: Plan | None, parameters: DecompositionParameters
) -> Iterator[Plan]:
    """
    Search one plan in cycles of growing length.

    This is a generator of plans. The first cycle may begin from the ``savings`` plan.
    After each cycle, the best plan is passed to the task's ``exchange``, and the next
    cycle continues from the plan that this returns.
    """
    deadline, n = task.deadline, task.instance.num_customers
    plan, iterations, number = task.initial_plan, deadline.iterations, 0
    least, growth = parameters.first_seconds * n / task.cores, parameters.cycle_growth
    if iterations is not None:
        least = parameters.first_iterations * n
    while deadline.left() > CHECK_SECONDS * n and iterations != 0:
        if iterations is None:
            length = _cycle_length(deadline.left(), least, growth)
            limit = deadline.within(length)
        else:
            length = ceil(_cycle_length(iterations, least, growth))
            limit = replace(deadline.until(1.0), iterations=length)
        cycle = replace(
            task, initial_plan=plan, deadline=limit, seed=task.seed + number
        )
        first = number == 0
        found, unused = yield from _search_cycle(cycle, first, savings, parameters)
        plan = better(task.instance, found, plan, task.vehicle_cost)
        if iterations is not None:
            iterations -= int(length) - unused
        least, number = growth * length, number + 1
        plan = yield from exchanged(task, plan)


def _cycle_length(left: float, least: float, growth: float) -> float:
    """
    Return the length of the next cycle, in the unit of ``left``.

    The next cycle and those after it fill ``left`` exactly. Each is longer than the one
    before by the factor ``growth``, and the next one has a length of about ``least`` or
    more.
    """
    # A cycle that took a little longer than planned must not cost a whole cycle.
    count = max(1, int(0.1 + log(left / least * (growth - 1) + 1, growth)))
    return left * (growth - 1) / (growth**count - 1)


def _search_cycle(
    task: SearchTask,
    first: bool,
    savings: Plan | None,
    parameters: DecompositionParameters,
) -> Generator[Plan, None, tuple[Plan, int]]:
    """
    Anneal a plan, then search its parts, unless two tours are too large for a part.

    This is a generator that yields plans, and returns the last plan and the number of
    iterations that were not used; those that copies of a plan leave over are lost.
    ``first`` says whether this is the first cycle, which may begin from the ``savings``
    plan.
    """
    # A part has two tours or more. The initial plan may have no tours yet.
    vehicles = task.instance.vehicles
    tours = min(vehicles, len(task.initial_plan.tours) or vehicles)
    too_large = 2 * task.instance.num_customers > parameters.max_part_size * tours
    share = 1.0 if tours == 1 or too_large else _whole_share(task, parameters)
    if first:
        plan = yield from anneal_whole(task, share, savings, parameters)
    else:
        plan = yield from _anneal_again(task, share, parameters)
    if share == 1.0 or plan.unserved(task.instance):
        return plan, 0
    deadline = _between(task.deadline, share, 1.0)
    task = replace(task, initial_plan=plan, deadline=deadline)
    copies = _plans(task, parameters.min_customers, parameters.min_tours)
    if copies > 1:
        one = partial(_search_parts, parameters=parameters)
        search = partial(search_side_by_side, one, count=copies)
        return (yield from run_step(search, task)), 0
    return (yield from _search_parts(task, parameters))


def anneal_whole(
    task: SearchTask,
    share: float,
    savings: Plan | None,
    parameters: DecompositionParameters = _DEFAULTS,
) -> Generator[Plan, None, Plan]:
    """
    Improve a plan by ruin and recreate until a share of the time limit is used.

    This is a generator that yields plans and returns the best one. If there are several
    cores and a ``savings`` plan, the cores anneal this plan together. Without it, each
    core anneals the whole plan, because the tours of a packing spread over the whole
    area and have no neighbouring tours.
    """
    instance, settings = task.instance, _whole_settings(task.instance, parameters)
    plans = task.cores
    if savings is not None and _begins_from_savings(task, parameters):
        settings = _settings_after_savings(instance, savings, settings, parameters)
        plan = better(instance, savings, task.initial_plan, task.vehicle_cost)
        task = replace(task, initial_plan=plan)
        plans = _annealed_plans(task, parameters)
    search: Search = partial(ruin_recreate, parameters=settings)
    if plans > 1:
        search = partial(search_side_by_side, search, count=plans)
    task = replace(task, deadline=_between(task.deadline, 0.0, share))
    found = yield from run_step(search, task)
    if savings is None:
        return found
    return better(instance, savings, found, task.vehicle_cost)


def _anneal_again(
    task: SearchTask, share: float, parameters: DecompositionParameters
) -> Generator[Plan, None, Plan]:
    """
    Anneal a plan again from a higher temperature.

    This is a generator that yields plans and returns one, which may be longer than the
    given plan. It ends when a share of the time limit is used.
    """
    instance, plan = task.instance, task.initial_plan
    settings = _whole_settings(instance, parameters)
    leg = _mean_leg_between(instance, plan) / scale(instance)
    hot = min(parameters.reheat * leg, settings.start_temperature)
    cold = settings.end_temperature or 0.0
    if instance.num_customers > parameters.large:
        cold = parameters.cold * leg
    if leg:
        settings = replace(
            settings, start_temperature=hot, end_temperature=min(cold, hot)
        )
    task = replace(task, deadline=_between(task.deadline, 0.0, share))
    search: Search = partial(ruin_recreate, parameters=settings)
    # A plan with unserved customers is not divided into regions.
    whole = len(plan.tours) < MIN_TOURS or plan.unserved(instance)
    if task.cores > 1 and whole:
        return (yield from run_step(partial(search_side_by_side, search), task))
    return (yield from ruin_recreate(task, settings))


def _whole_share(task: SearchTask, parameters: DecompositionParameters) -> float:
    """
    Return the share of a cycle in which ruin and recreate searches the whole plan.
    """
    n = task.instance.num_customers
    longer = max(1.0, n / task.instance.vehicles / parameters.usual_tour)
    needed = parameters.whole_seconds * longer * n / task.cores
    share = needed / max(task.deadline.seconds, 1e-9)
    return max(parameters.whole_share, min(share, parameters.max_whole_share))


def _whole_settings(
    instance: Instance, parameters: DecompositionParameters
) -> RuinRecreateParameters:
    """
    Return the settings of ruin and recreate for the whole plan.

    If tours are long, strings are longer and more customers are removed. This does not
    apply above ``large`` customers.
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
        exchanges=parameters.exchanges,
    )


def savings_plan(
    task: SearchTask, parameters: DecompositionParameters = _DEFAULTS
) -> Generator[Plan, None, Plan | None]:
    """
    Make a savings plan that serves all customers, in a thread that can be abandoned.

    This is a generator that yields the plan if it is better than the initial plan, and
    returns it. It returns None if there is too little time, if some customers cannot be
    inserted, or if the search is stopped meanwhile.
    """
    instance = task.instance
    if task.deadline.seconds < parameters.savings_seconds * instance.num_customers:
        return None
    made: list[Plan] = []

    def make(task: SearchTask) -> Iterator[Plan]:
        plan = construct.complete_plan(
            instance,
            construct.savings(instance),
            seed=task.seed,
            deadline=task.deadline,
        )
        if plan is not None:
            made.append(plan)
            yield plan

    yield from search_side_by_side(make, task, 1)
    return made[0] if made else None


def _begins_from_savings(task: SearchTask, parameters: DecompositionParameters) -> bool:
    """
    Return whether ruin and recreate begins with a savings plan.

    It does if there is little time per customer, if there are many customers, or if
    several cores search the plan.
    """
    n = task.instance.num_customers
    hurried = task.deadline.seconds < parameters.hurry_seconds * n
    return hurried or n > parameters.large or task.cores > 1


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
    """
    Return the mean length of a plan's legs between customers.

    Return 0 if there are no such legs.
    """
    starts = [stop for tour in plan for stop in tour[:-1]]
    ends = [stop for tour in plan for stop in tour[1:]]
    return float(instance.between(starts, ends).mean()) if starts else 0.0


def _between(deadline: Deadline, begin: float, end: float) -> Deadline:
    """
    Return the deadline of a step that takes part of the time or of the iterations.

    The step ends when the share ``end`` of the seconds is used. If iterations are
    limited, it has the share ``end`` − ``begin`` of them.
    """
    step = deadline.until(end)
    if deadline.iterations is None:
        return step
    iterations = max(1, int((end - begin) * deadline.iterations))
    return replace(step, iterations=iterations)


def _search_parts(
    task: SearchTask, parameters: DecompositionParameters
) -> Generator[Plan, None, tuple[Plan, int]]:
    """
    Search neighbouring tours by HGS-CVRP, until no part can be improved.

    This is a generator that yields plans, and returns the last plan and the number of
    iterations that are left (0 if iterations are not limited).
    """
    deadline, n, cores = task.deadline, task.instance.num_customers, task.cores
    plan = task.initial_plan
    tours = DividedPlan(task.instance, plan, task.seed)
    size = _part_size(n, len(tours.tours), parameters)
    most = min(n / cores, parameters.max_part_size)
    seconds = deadline.left() * 100 * cores / (parameters.passes * n)
    seconds = max(seconds, parameters.min_part_seconds)
    seconds = min(seconds, parameters.max_part_seconds)
    iterations = deadline.iterations
    in_vain: set[frozenset[tuple[int, ...]]] = set()
    pace, changed, drawn, adopted = ReportPace(deadline), False, 0, 0
    exchange = deadline.within(parameters.exchange_seconds)

    def exchange_is_due() -> bool:
        if task.is_alone:
            return False
        if iterations is not None:
            return drawn >= parameters.exchange_parts * cores
        return exchange.over()

    def draw(limit: Deadline) -> tuple[Part, Callable[[], Plan]] | None:
        nonlocal size, iterations, drawn
        left = limit.left() - CHECK_SECONDS * n
        if left <= 0 or iterations == 0 or exchange_is_due():
            return None
        part = tours.draw(size, in_vain, cores)
        while part is None and size < most and tours.can_draw:
            size = min(size * parameters.growth, most)
            part = tours.draw(size, in_vain, cores)
        if part is None:
            return None
        drawn += 1
        if iterations is None:
            limit = limit.within(min(left, seconds * size / 100))
        else:
            limit = replace(limit, iterations=parameters.part_iterations)
            iterations = max(0, iterations - parameters.part_counts_as)
        search = partial(
            search_part,
            part,
            limit,
            population=part_population(seconds, parameters),
            vehicle_cost=task.vehicle_cost,
        )
        return part, search

    while True:
        for part, found in search_in_threads(cores, draw, deadline):
            if tours.replace(part, found):
                changed = True
            else:
                in_vain.add(frozenset(part.tours))
            if changed and pace.is_due():
                yield from pace.report(tours.plan)
                changed = False
        plan = tours.plan()
        yield plan
        if task.is_alone or iterations == 0 or deadline.left() <= CHECK_SECONDS * n:
            break
        due, known = exchange_is_due(), plan
        plan = yield from exchanged(task, plan)
        if plan != known:
            adopted += 1
            tours = DividedPlan(task.instance, plan, task.seed + adopted)
            size = _part_size(n, len(tours.tours), parameters)
        elif not due:
            break
        drawn, exchange = 0, deadline.within(parameters.exchange_seconds)
    return plan, iterations or 0


def _part_size(
    customers: int, tours: int, parameters: DecompositionParameters
) -> float:
    """
    Return the number of customers per part.

    Above ``large`` customers, a part has at least three tours of mean size.
    """
    size = parameters.part_size
    return size if customers <= parameters.large else max(size, 3 * customers / tours)


def part_population(
    seconds: float, parameters: DecompositionParameters = _DEFAULTS
) -> int:
    """
    Return the population of HGS-CVRP for the search of a part.

    ``seconds`` is the time of the search per hundred customers.
    """
    return 3 if seconds < parameters.brief else 4


def search_part(
    part: Part, deadline: Deadline, *, population: int, vehicle_cost: float
) -> Plan:
    """
    Search a part by HGS-CVRP, and return a better plan for it.

    If no better plan is found, the part's present plan is returned.
    """
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
