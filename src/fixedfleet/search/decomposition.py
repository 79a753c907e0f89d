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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.plan import Plan
from fixedfleet.search.construct import complete_plan, load_savings, savings
from fixedfleet.search.cpu_arrays import scale
from fixedfleet.search.cpu_distances import is_measured, nearest_first
from fixedfleet.search.genetic import hgs_plans
from fixedfleet.search.parameters import LARGE, DecompositionParameters
from fixedfleet.search.ruin_recreate import anneal, load_kernel, ruin_recreate
from fixedfleet.search.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.parameters import HgsParameters, RuinRecreateParameters

    Tour = tuple[int, ...]
    # Searches each part: ``map``, or that of a pool of threads.
    Run = Callable[[Callable[["Part"], Plan], list["Part"]], Iterable[Plan]]

__all__ = [
    "CLOSING_SECONDS",
    "Part",
    "Tours",
    "anneal_whole",
    "breed",
    "decomposition",
    "divide",
]

_DEFAULTS = DecompositionParameters()
# If the limit is a number of iterations, HGS-CVRP ends after so many of its own without
# improvement, and a part counts as so many of ruin and recreate.
_PART_ITERATIONS, _PART_COUNTS_AS = 100, 20_000
_DRAWS = 8  # draws per core; if none gives a new part, parts become larger
_PATIENCE = 0.3  # share of all rounds by which chance may delay a tour
_GROWTH = 1.25  # of the parts, if those of the present size were searched in vain
_FEW = 100  # customers per core, at least: smaller parts leave little to improve
_ROUNDS = 25  # rounds of ruin and recreate on several cores
CLOSING_SECONDS = 5e-6  # for each customer, to check the last plan
# With fewer seconds for each customer, or more customers, the search begins with a
# savings plan, but not if the savings themselves would take too long. The temperatures
# of ruin and recreate are then these multiples of the mean leg between two customers.
_HURRY_SECONDS = 2e-3
_SAVINGS_SECONDS = 3.5e-5
_HOT, _COLD = 4.0, 0.05
# Ruin and recreate of the whole has at least these seconds for each customer, but at
# most this share of the time. The seconds grow in proportion to tours beyond this
# number of customers.
_WHOLE_SECONDS, _MOST_WHOLE = 3e-3, 0.9
_USUAL_TOUR = 30
_PASSES = 3  # times that each customer should be in a part, if there is time
_LEAST_PART = 0.03  # seconds to search a part, for each hundred customers in it


def decomposition(
    task: SearchTask, parameters: DecompositionParameters = _DEFAULTS
) -> None:
    """
    Improve a plan of many customers: as a whole, then part by part.

    With a limit on iterations, the same seed and number of cores give the same plan.

    Parameters
    ----------
    task
        What to search.
    parameters
        Settings of the search.
    """
    parameters = replace(parameters, whole_share=_whole_share(task, parameters))
    anneal_whole(task, parameters)
    if not task.best.unassigned:
        cores = _cores(task)
        with ThreadPoolExecutor(cores) as threads:
            run = map if cores == 1 else threads.map
            _search_parts(Tours(task), run, cores, parameters)


def anneal_whole(task: SearchTask, parameters: DecompositionParameters) -> None:
    """Improve a plan by ruin and recreate, for the first share of the time."""
    with task.stop.paused(), interrupts_deferred():
        load_kernel(measured=is_measured(task.instance))
        load_savings()
    task, parameters = _from_savings(task, parameters)
    cores = _cores(task)
    if cores == 1 or task.start.unserved(task.instance):
        step = _step(task.stop, 0.0, parameters.whole_share)
        whole = parameters.whole_for(
            task.instance.num_customers, task.instance.vehicles
        )
        ruin_recreate(replace(task, stop=step), whole)
        return
    with ThreadPoolExecutor(cores) as threads:
        _anneal_parts(Tours(task), threads.map, cores, parameters)


def _whole_share(task: SearchTask, parameters: DecompositionParameters) -> float:
    """Return the share of the time for the whole; more if the time is short."""
    n = task.instance.num_customers
    longer = max(1.0, n / task.instance.vehicles / _USUAL_TOUR)
    needed = _WHOLE_SECONDS * longer * n / _cores(task)
    share = min(needed / max(task.stop.seconds, 1e-9), _MOST_WHOLE)
    return max(parameters.whole_share, share)


def _cores(task: SearchTask) -> int:
    """Return how many cores have a part to search that is not too small."""
    most = min(len(task.best.plan.tours) // 2, task.instance.num_customers // _FEW)
    return max(1, min(task.cores, most))


def _from_savings(
    task: SearchTask, parameters: DecompositionParameters
) -> tuple[SearchTask, DecompositionParameters]:
    """If there are many customers for the time, begin with a savings plan."""
    n = task.instance.num_customers
    hurried = n > LARGE or task.stop.seconds < _HURRY_SECONDS * n
    if not hurried or task.stop.seconds < _SAVINGS_SECONDS * n:
        return task, parameters
    plan = complete_plan(task.instance, savings(task.instance), seed=task.seed)
    if plan is None:
        return task, parameters
    task.offer(plan)
    task = replace(task, start=task.best.plan)
    leg = _mean_leg_between(task.instance, plan) / scale(task.instance)
    if not leg:
        return task, parameters
    fitted = replace(
        parameters,
        whole=replace(parameters.whole, start_temperature=_HOT * leg),
        whole_end=_COLD * leg * n,
    )
    return task, fitted


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


class Part(NamedTuple):
    """
    Some tours of a plan as an instance of their own.

    Attributes
    ----------
    tours
        The tours.
    customers
        The customer of each number in the instance; entry 0 is the depot.
    instance, plan
        The instance of these customers, and the tours as its plan.
    seed
        Seed of a search of this part.
    """

    tours: list[Tour]
    customers: NDArray[np.int64]
    instance: Instance
    plan: Plan
    seed: int


class Tours:
    """
    The tours of the best plan of a task, of which some are replaced by others.

    Parameters
    ----------
    task
        The task.
    """

    def __init__(self, task: SearchTask) -> None:
        self.task = task
        self.tours: list[Tour] = list(task.best.plan.tours)
        self.random = np.random.default_rng(task.seed)
        self.rounds = 0
        # The last round that searched each customer, and the tour of each customer. The
        # customers of a tour were searched together, so its first stands for all.
        self.searched = np.zeros(task.instance.num_customers + 1, dtype=np.int64)
        self.tour_of = {stop: tour for tour in self.tours for stop in tour}
        self.nearest_first = nearest_first(task.instance)

    def near(self, customer: int) -> Iterator[Tour]:
        """Yield all tours, the closest to a customer first."""
        seen = set()
        for other in self.nearest_first(customer):
            tour = self.tour_of[other]
            if tour[0] not in seen:
                seen.add(tour[0])
                yield tour

    def around(self, customer: int, tours: Sequence[Tour]) -> list[Tour]:
        """Return tours by their distance from a customer, the closest first."""
        customers = np.array([stop for tour in tours for stop in tour])
        here = np.full(len(customers), customer)
        away = self.task.instance.between(here, customers)
        begins = np.cumsum([0, *(len(tour) for tour in tours[:-1])])
        order = np.argsort(np.minimum.reduceat(away, begins), kind="stable")
        return [tours[place] for place in order.tolist()]

    def draw(self, tours: Sequence[Tour]) -> int:
        """Draw a customer; tours that were searched long ago are the most likely."""
        rounds = self.searched[[tour[0] for tour in tours]]
        wait = self.random.random(len(tours)) * (1 + _PATIENCE * self.rounds)
        return int(self.random.choice(tours[int(np.argmin(rounds + wait))]))

    def parts(self, groups: Sequence[list[Tour]]) -> list[Part]:
        """Return groups of tours as parts, which may be searched at the same time."""
        # Vehicles that stay at the depot may serve new tours.
        spare = self.task.instance.vehicles - len(self.tours)
        each, more = divmod(spare, len(groups))
        return [
            self._part(group, each + (number < more))
            for number, group in enumerate(groups)
        ]

    def join(self, parts: Sequence[Part], found: Iterable[Plan]) -> list[bool]:
        """Replace parts without common tours by plans; return which have changed."""
        found = list(found)
        gone = {tour[0] for part in parts for tour in part.tours}
        self.tours = [tour for tour in self.tours if tour[0] not in gone]
        self.rounds += 1
        for part, plan in zip(parts, found, strict=True):
            new = [tuple(part.customers[list(tour)].tolist()) for tour in plan]
            self.searched[part.customers] = self.rounds
            self.tour_of.update((stop, tour) for tour in new for stop in tour)
            self.tours += new
        return [plan != part.plan for part, plan in zip(parts, found, strict=True)]

    def _part(self, tours: list[Tour], spare: int) -> Part:
        """Return some tours as an instance of their own, with spare vehicles."""
        customers = np.array([0, *sorted(c for tour in tours for c in tour)])
        instance = self.task.instance.only(customers[1:].tolist())
        instance = instance.with_vehicles(len(tours) + spare)
        plan = Plan(np.searchsorted(customers, tour).tolist() for tour in tours)
        seed = int(self.random.integers(2**30))
        return Part(tours, customers, instance, plan, seed)

    def offer(self) -> None:
        """Offer the plan to the task."""
        self.task.offer(Plan(self.tours))


def _anneal_parts(
    tours: Tours, run: Run, cores: int, parameters: DecompositionParameters
) -> None:
    """Search the whole by ruin and recreate, divided anew after each round."""
    task = tours.task
    n = task.instance.num_customers
    settings = parameters.whole_for(n, task.instance.vehicles)
    step = _step(task.stop, 0.0, parameters.whole_share)
    hot, cold = settings.temperatures(n)
    first = scale(task.instance) * hot  # the temperature in the unit of the distances
    # The iterations of a core in a round; None if the limit is a time.
    iterations = step.iterations and -(-step.iterations // (_ROUNDS * cores))
    try:
        while not step.over():
            # By the clock, because a round may take longer on a busy machine.
            used = 1 - step.left() / step.seconds
            if step.iterations is not None:
                used = step.done / step.iterations
            until = min(1.0, used + 1 / _ROUNDS)
            seconds = None if iterations else (until - used) * step.seconds
            search = partial(
                _anneal,
                stop=Stop(seconds, iterations=iterations),
                parameters=settings,
                temperatures=(
                    first * (cold / hot) ** used,
                    first * (cold / hot) ** until,
                ),
                vehicle_cost=task.vehicle_cost,
            )
            parts = tours.parts(divide(tours, tours.tours, cores))
            tours.join(parts, run(search, parts))
            step.count((iterations or 0) * cores)
            if task.best.watched:
                tours.offer()
    finally:  # also after Ctrl-C
        tours.offer()


def _anneal(
    part: Part,
    *,
    stop: Stop,
    parameters: RuinRecreateParameters,
    temperatures: tuple[float, float],
    vehicle_cost: float,
) -> Plan:
    """Search a part by ruin and recreate; return the last plan."""
    return anneal(
        part.instance,
        part.plan,
        stop.again(),
        part.seed,
        parameters,
        temperatures,
        vehicle_cost=vehicle_cost,
    )


def divide(tours: Tours, chosen: list[Tour], count: int) -> list[list[Tour]]:
    """Divide tours into groups of neighbours with about as many customers each."""
    if count == 1:
        return [chosen]
    order = tours.around(tours.draw(chosen), chosen)
    filled = np.cumsum([len(tour) for tour in order])
    half = count // 2
    middle = int(np.searchsorted(filled, filled[-1] * half / count)) + 1
    middle = min(max(middle, half), len(order) - (count - half))
    return [
        *divide(tours, order[:middle], half),
        *divide(tours, order[middle:], count - half),
    ]


def _search_parts(
    tours: Tours, run: Run, cores: int, parameters: DecompositionParameters
) -> None:
    """Search neighbouring tours by HGS-CVRP, again and again."""
    task = tours.task
    stop = _step(task.stop, parameters.whole_share, 1.0)
    n = task.instance.num_customers
    least, most = parameters.size_for(n, len(tours.tours)), n / cores
    size = least
    seconds = stop.left() * 100 * cores / (_PASSES * n)
    seconds = min(parameters.part_seconds, max(seconds, _LEAST_PART))
    in_vain: set[frozenset[Tour]] = set()
    try:
        while not stop.over() and (left := stop.left() - CLOSING_SECONDS * n) > 0:
            chosen = _draw(tours, cores, min(size, most), in_vain)
            if not chosen:
                if size > most:
                    in_vain.clear()
                size = least if size > most else size * _GROWTH
                continue
            by_time = stop.iterations is None
            search = partial(
                breed,
                seconds=min(left, seconds * size / 100) if by_time else None,
                parameters=parameters.parts_for(seconds),
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
            if stop.iterations is not None:
                stop.count(_PART_COUNTS_AS * len(chosen))
    finally:  # also after Ctrl-C
        tours.offer()


def _draw(
    tours: Tours, count: int, size: float, in_vain: set[frozenset[Tour]]
) -> list[list[Tour]]:
    """Draw groups of neighbouring tours that have none in common, at most count."""
    groups: list[list[Tour]] = []
    rest = tours.tours
    taken: set[int] = set()  # the first customers of the tours in a group
    for _ in range(_DRAWS * count):
        group: list[Tour] = []
        customers = 0
        for tour in tours.near(tours.draw(rest)):
            if tour[0] in taken:
                continue
            customers += len(tour)
            if len(group) > 1 and customers > size:
                break
            group.append(tour)
        if len(group) > 1 and frozenset(group) not in in_vain:
            groups.append(group)
            taken.update(tour[0] for tour in group)
            rest = [tour for tour in rest if tour[0] not in taken]
        if len(groups) == count or len(rest) < 2:
            break
    return groups


def breed(
    part: Part, *, seconds: float | None, parameters: HgsParameters, vehicle_cost: float
) -> Plan:
    """
    Search a part by HGS-CVRP; return its present plan if no better one is found.

    Parameters
    ----------
    part
        The part.
    seconds
        For how long; None for a number of iterations that is always the same.
    parameters
        Settings of HGS-CVRP.
    vehicle_cost
        Fixed cost of each vehicle used.
    """
    stop = Stop(iterations=_PART_ITERATIONS) if seconds is None else Stop(seconds)
    found = hgs_plans(
        part.instance,
        stop=stop,
        seed=part.seed,
        starts=[part.plan],
        parameters=parameters,
    )
    known = part.plan.cost_v(part.instance, vehicle_cost)
    for plan in found:
        # The same tours in another order may have a length that differs by rounding.
        shorter = plan.cost_v(part.instance, vehicle_cost) < known * (1 - 1e-12)
        if shorter and plan.is_feasible(part.instance):
            return plan
    return part.plan
