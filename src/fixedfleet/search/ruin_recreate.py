"""Ruin and recreate with simulated annealing, on one core or several."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated

import numpy as np

from fixedfleet.compiling import clear_cache
from fixedfleet.errors import InputError, above, at_least, between, check_settings
from fixedfleet.instance import Instance, VehicleType
from fixedfleet.plan import Plan
from fixedfleet.search import cpu_arrays, cpu_kernel, day_arrays, day_kernel
from fixedfleet.search.cpu_arrays import BEST_ABSENT, NEXT, Problem, State
from fixedfleet.search.cpu_distances import (
    MOST_WITH_MATRIX,
    along_curve,
    scale,
    uses_coordinates,
)
from fixedfleet.search.regions import Regions
from fixedfleet.search.searches import loaded_by
from fixedfleet.search.task import ReportPace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

    from fixedfleet.deadline import Deadline
    from fixedfleet.search.task import SearchTask

__all__ = [
    "RuinRecreateParameters",
    "load_day_kernel",
    "load_kernel",
    "load_kernel_for",
    "load_regions",
    "ruin_recreate",
]

# The compiled loop runs in chunks of iterations, between which the clock is read.
_CHUNK_SECONDS = 1e-3  # duration of a chunk
_CHUNK_ITERATIONS = 1000  # most iterations of a chunk if iterations are limited
# Duration of a chunk if the search is long or runs in one of several threads, which
# wait for Python's lock between chunks.
_LONG_CHUNK_SECONDS = 1e-2
# Duration of a round in regions, and the shortest of a short search. It is longer with
# many customers, so that little of it is spent on dividing the plan.
_ROUND_SECONDS, _SHORT_ROUND_SECONDS = 2e-2, 5e-3
_ROUND_SECONDS_PER_CUSTOMER = 3e-6
_FIRST_CHUNK = 32  # iterations of the first chunk, which measures the speed
_MIN_EXCHANGE_SECONDS = 0.2  # shortest time between two exchanges of plans
_ARRAYS_SECONDS = 3e-5  # time per customer to make the arrays of a large instance


@dataclass(frozen=True, kw_only=True)
class RuinRecreateParameters:
    """
    Settings of ruin and recreate.

    The defaults gave the best results for 20 to 1,000 customers on one core.

    Parameters
    ----------
    removals
        Number of customers that an iteration removes on average.
    max_string
        Maximum number of customers removed from one tour.
    split
        Probability that some customers in the middle of a string are not removed.
    blink
        On average, one of this many positions is skipped when a customer is inserted.
    ruin_neighbours
        Neighbourhood size of the ruin: strings are removed from the tours of a random
        customer and of this many customers nearest to it.
    insertion_neighbours
        Neighbourhood size of the insertion: a customer is inserted beside one of this
        many nearest customers.
    large_scale
        Whether to search as for many customers. Then an iteration ends as soon as
        simulated annealing would reject its plan. Two ruined tours may exchange their
        ends, if distances are symmetric. An insertion is also tried at the start and
        the end of tours, on average of four per customer. If a customer fits beside
        none of its ``insertion_neighbours``, all ``ruin_neighbours`` are tried.
    start_temperature, end_temperature
        Temperatures of simulated annealing, for customers in the unit square; for other
        instances, they are multiplied by the ratio of the mean distances. The default
        of ``end_temperature`` is 1/N, because legs are shorter with more customers.
    exchanges
        How often searches that run side by side exchange their current plans.
    """

    removals: Annotated[float, at_least(1)] = 10.0
    max_string: Annotated[int, at_least(1)] = 10
    split: Annotated[float, between(0, 1)] = 0.5
    blink: Annotated[int, at_least(2)] = 100
    ruin_neighbours: Annotated[int, at_least(1)] = 40
    insertion_neighbours: Annotated[int, at_least(1)] = 12
    large_scale: bool = False
    start_temperature: Annotated[float, above(0)] = 0.1
    end_temperature: Annotated[float | None, above(0)] = None
    exchanges: Annotated[int, at_least(1)] = 10

    def __post_init__(self) -> None:
        check_settings(self)
        if self.start_temperature < (self.end_temperature or 0):
            raise InputError(
                f"end_temperature is {self.end_temperature:g}, above start_temperature "
                f"{self.start_temperature:g}"
            )

    def temperatures(self, customers: int) -> tuple[float, float]:
        """Return (start temperature, end temperature) for this number of customers."""
        end = self.end_temperature or 1 / customers
        return self.start_temperature, min(end, self.start_temperature)


_DEFAULTS = RuinRecreateParameters()
_FOR_DAYS = RuinRecreateParameters(insertion_neighbours=20, start_temperature=0.3)


def load_kernel_for(instance: Instance) -> None:
    """
    Load the compiled ruin and recreate for an instance, or compile it the first time.
    """
    if instance.is_plain:
        load_kernel(uses_coordinates(instance))
    else:
        load_day_kernel()


@loaded_by(load_kernel_for)
def ruin_recreate(
    task: SearchTask, parameters: RuinRecreateParameters | None = None
) -> Generator[Plan, None, Plan]:
    """
    Improve a plan by ruin and recreate; the plan may leave customers unserved.

    This is a generator that yields better and better plans, and returns the last plan
    of simulated annealing, which may be worse than the best.

    With a limit on iterations, the same seed and number of cores give the same plan on
    any machine. The temperature falls with the iterations if they are limited,
    otherwise with the time. It does not fall while customers are unserved, because a
    low temperature makes it harder to insert them. But if there are vehicle types,
    windows or shifts, it begins to fall after half of the limit at the latest, because
    it may be impossible to serve all customers. Now and then, the current plan is
    passed to the task's ``exchange``.

    With ``large_scale``, all cores of the task search the plan together, see
    :mod:`fixedfleet.search.regions`. Otherwise, and if there are vehicle types, windows
    or shifts, one core is used.
    """
    instance, deadline = task.instance, task.deadline
    plain = instance.is_plain
    if parameters is None:
        parameters = _DEFAULTS if plain else _FOR_DAYS
    load_kernel_for(instance)
    n = instance.num_customers
    if uses_coordinates(instance) and deadline.left() < _ARRAYS_SECONDS * n:
        # Making the arrays would take longer than the time that is left.
        return task.initial_plan
    problem, state = _begin(
        instance, task.initial_plan, task.seed, parameters, task.vehicle_cost
    )
    advance = cpu_kernel.advance if plain else day_kernel.advance_day
    in_regions = parameters.large_scale and plain and task.cores > 1
    if in_regions:
        load_regions(uses_coordinates(instance))
        advance = Regions(instance, task.seed, task.cores).run_round
    hot, cold = parameters.temperatures(n)
    unit = scale(instance) * (1.0 if plain else day_arrays.mean_price(instance))
    latest_begin = 1.0 if plain else 0.5
    threads = task.cores if in_regions else 1  # that share the iterations of a chunk
    share = (deadline.iterations or 0) // 100
    most = min(_CHUNK_ITERATIONS * threads, max(threads, share))
    seconds = deadline.seconds / (1000 if task.is_alone else 100)
    seconds = min(max(_CHUNK_SECONDS, seconds), _LONG_CHUNK_SECONDS)
    if in_regions:  # a chunk is a round
        seconds = max(_SHORT_ROUND_SECONDS, deadline.seconds / 100)
        seconds = max(min(seconds, _ROUND_SECONDS), _ROUND_SECONDS_PER_CUSTOMER * n)
    begin = 0.0  # share of the limit that was used when every customer was served
    least_pause = _MIN_EXCHANGE_SECONDS / max(deadline.seconds, _MIN_EXCHANGE_SECONDS)
    pause = max(1 / parameters.exchanges, least_pause)
    next_exchange = pause
    value = reported = _best_value(state)
    pace = ReportPace(deadline)
    for count, used in _chunks(deadline, seconds, most):
        if used >= next_exchange and not task.is_alone:
            next_exchange = used + pause
            current = _current_plan(state, instance)
            other = task.exchange(current)
            if other != current:
                if value < reported:
                    reported = value
                    yield _best_plan(state, instance)
                state = _with_plan(instance, problem, state, other)
        if state.counts[BEST_ABSENT] > 0:
            begin = min(used, latest_begin)
        fallen = (used - begin) / max(1 - begin, 1e-9)
        temperature = _temperature(hot * unit, cold * unit, fallen)
        advance(problem, state, count, temperature)
        value = _best_value(state)
        if value < reported and pace.is_due():
            reported = value
            yield from pace.report(partial(_best_plan, state, instance))
    if value < reported:
        yield _best_plan(state, instance)
    return _current_plan(state, instance)


def _begin(
    instance: Instance,
    initial_plan: Plan,
    seed: int,
    parameters: RuinRecreateParameters,
    vehicle_cost: float,
) -> tuple[Problem, State]:
    """Return the arrays of the instance, and a state that holds the initial plan."""
    state, ordered = cpu_arrays.empty_state(instance, seed), instance
    if uses_coordinates(instance):
        state.customers[1:] = along_curve(instance)
        ordered = instance.with_customers(state.customers[1:].tolist())
    if instance.is_plain:
        problem = cpu_arrays.lay_out(ordered, vehicle_cost, parameters)
    else:
        problem = day_arrays.lay_out_day(instance, vehicle_cost, parameters)
    return problem, _with_plan(instance, problem, state, initial_plan)


def _with_plan(instance: Instance, problem: Problem, state: State, plan: Plan) -> State:
    """
    Return a new state that holds a plan, as the current and as the best one.

    It goes on with the random numbers of ``state``, and numbers customers in the same
    way.
    """
    new = cpu_arrays.empty_state(instance, seed=0)
    new.random[:] = state.random
    new.customers[:] = state.customers
    routes = plan.to_routes(len(new.best))
    routes = np.argsort(new.customers)[routes].astype(np.int32)
    if not instance.is_plain:
        new = new._replace(day=day_arrays.empty_day(instance, problem, plan))
    cpu_arrays.put_plan(problem, new, routes)
    if not instance.is_plain:
        day_arrays.put_day(problem, new)
    return new


def _chunks(
    deadline: Deadline, seconds: float, most: int
) -> Iterator[tuple[int, float]]:
    """
    Yield (number of iterations of the next chunk, share of the limit used so far).

    A chunk is a number of iterations that compiled code runs in one call. With a time
    limit, a chunk takes about ``seconds``. With a limit on iterations, it has at most
    ``most`` iterations.
    """
    if deadline.iterations is not None:
        done = 0
        while done < deadline.iterations and not deadline.over():
            count = min(most, deadline.iterations - done)
            yield count, done / deadline.iterations
            done += count
        return
    count, left = _FIRST_CHUNK, deadline.left()
    while left > 0:
        yield count, deadline.used()
        before, left = left, deadline.left()
        pace = count / max(before - left, 1e-7)
        count = max(1, int(pace * min(seconds, left)))


def _temperature(hot: float, cold: float, share: float) -> float:
    """
    Return the temperature after a share of the search, from 0 to 1.

    It falls geometrically from ``hot`` to ``cold``.
    """
    # Power functions differ between machines in the last digits, which 32 bits drop.
    return float(np.float32(hot * (cold / hot) ** share))


def _best_value(state: State) -> tuple[int, float]:
    """
    Return (unserved, cost) of the best plan.

    ``unserved`` is the number of unserved customers. If there are vehicle types,
    windows or shifts, it is their weight; see :meth:`Plan.unserved_weight`.
    """
    unserved = state.counts[BEST_ABSENT] if state.day is None else state.day.missing[1]
    return int(unserved), float(state.costs[1])


def _best_plan(state: State, instance: Instance) -> Plan:
    """Return the best plan of a state."""
    types = None if state.day is None else state.day.best_types
    return _read_plan(state, state.best, types, instance)


def _current_plan(state: State, instance: Instance) -> Plan:
    """Return the current plan of simulated annealing."""
    types = None if state.day is None else state.day.types
    return _read_plan(state, state.nodes[:, NEXT], types, instance)


def _read_plan(
    state: State,
    links: NDArray[np.uint32],
    types: NDArray[np.int64] | None,
    instance: Instance,
) -> Plan:
    """
    Return a plan, given the successor of each node in ``links``.

    ``types`` has the vehicle type of each tour, or is None if vehicles are alike.
    """
    following, customers = links.tolist(), state.customers.tolist()
    depots = range(len(following) - len(state.loads), len(following))
    tours = []
    for depot in depots:
        tour = []
        node = following[depot]
        while node != depot:
            tour.append(customers[node])
            node = following[node]
        tours.append(tour)
    if types is not None:
        return day_arrays.read_types(instance, types, tours)
    return Plan(tours)


def _run_once(measured: bool, cores: int) -> None:
    """
    Run one iteration on a small instance, which loads or compiles the search.

    If ``measured``, the search computes distances from coordinates, otherwise it reads
    a matrix.
    """
    n = MOST_WITH_MATRIX + 1 if measured else 4
    instance = Instance(
        depot=(0.0, 0.0),
        customers=[(x, 0.0) for x in range(n)],
        demands=[1] * n,
        capacity=n,
        vehicles=4,
    )
    plan = Plan([[1], [2], [3], range(4, n + 1)])
    problem, state = _begin(instance, plan, 0, _DEFAULTS, 0.0)
    advance = cpu_kernel.advance
    if cores > 1:
        advance = Regions(instance, 0, cores).run_round
    advance(problem, state, cores, 1.0)


def _run_day_once() -> None:
    """
    Run one iteration on an instance with a vehicle type.

    This loads or compiles the search for vehicle types, windows and shifts.
    """
    instance = Instance(
        depot=(0.0, 0.0),
        customers=[(1.0, 0.0), (2.0, 0.0)],
        demands=[1, 1],
        vehicle_types=[VehicleType(capacity=2, fixed_cost=1.0)],
    )
    problem, state = _begin(instance, Plan([[1, 2]]), 0, _FOR_DAYS, 0.0)
    day_kernel.advance_day(problem, state, 1, 1.0)


@cache
def load_kernel(measured: bool) -> None:
    """
    Load the compiled search for plain instances, or compile it the first time.

    If ``measured``, load the version that computes distances from coordinates,
    otherwise the version that reads them from a matrix.
    """
    _load(partial(_run_once, measured, cores=1))


@cache
def load_regions(measured: bool) -> None:
    """
    Load the compiled search in regions, or compile it the first time.

    ``measured`` has the meaning that it has for :func:`load_kernel`.
    """
    load_kernel(measured)
    _load(partial(_run_once, measured, cores=2))


@cache
def load_day_kernel() -> None:
    """Load the compiled search for vehicle types, windows and shifts, or compile it."""
    _load(_run_day_once)


def _load(run_once: Callable[[], None]) -> None:
    try:
        run_once()
    except (ImportError, AttributeError):
        # Another version of this package has compiled code into the same folder. Numba
        # cannot read it if it refers to names that this version does not have.
        clear_cache(cpu_kernel.advance)
        run_once()
