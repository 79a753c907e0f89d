"""Ruin and recreate: a plan in, a better plan out, never more vehicles."""

from __future__ import annotations

import functools
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.instance import Instance
from fixedfleet.plan import Plan
from fixedfleet.search import kernel, layout
from fixedfleet.search.result import SearchResult, better

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RuinRecreateParameters", "ruin_recreate", "warm_up"]

_MEAN_UNIT_SQUARE = 0.5214  # mean distance of two points drawn in the unit square
_CHUNK_SECONDS = 1e-3  # between two looks at the clock
_CHUNK_ITERATIONS = 1000  # the same where iterations are the limit, at most
_ROUNDS = 20  # exchanges between parallel chains


@dataclass(frozen=True)
class RuinRecreateParameters:
    """
    Settings of ruin and recreate; the defaults were fitted to N = 20 … 1,000.

    Parameters
    ----------
    removals
        Customers that an iteration removes on average.
    longest
        Longest string it removes from one tour.
    split
        Probability that a string spares customers in its middle.
    blink
        A place is overlooked once in so many times.
    neighbours
        Nearest customers around which tours are ruined.
    reach
        Nearest customers beside which a place is looked for.
    start_temperature, end_temperature
        Of the annealing, in lengths of an instance drawn in the unit square; other
        instances are scaled by their mean distance. Default of the end: 1/N, as legs
        become shorter the more customers there are.
    """

    removals: float = 10.0
    longest: int = 10
    split: float = 0.5
    blink: int = 100
    neighbours: int = 40
    reach: int = 12
    start_temperature: float = 0.1
    end_temperature: float | None = None

    def __post_init__(self) -> None:
        if self.removals < 1 or self.longest < 1:
            raise InputError("removals and longest must be at least 1")
        if not 0 <= self.split <= 1:
            raise InputError(f"split is {self.split:g}, not a probability")
        if self.blink < 2 or self.neighbours < 1 or self.reach < 1:
            raise InputError("blink must be at least 2, neighbours and reach 1")
        end = (
            self.start_temperature
            if self.end_temperature is None
            else (self.end_temperature)
        )
        if not 0 < end <= self.start_temperature:
            raise InputError("temperatures must fall: 0 < end ≤ start")

    def temperatures(self, customers: int) -> tuple[float, float]:
        """Start and end temperature for so many customers in the unit square."""
        end = self.end_temperature or 1 / customers
        return self.start_temperature, min(end, self.start_temperature)


def ruin_recreate(
    instance: Instance,
    start: Plan | None = None,
    *,
    time_limit: float | None = None,
    iterations: int | None = None,
    seed: int = 0,
    vehicle_cost: float = 0.0,
    chains: int = 1,
    parameters: RuinRecreateParameters | None = None,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """
    Improve a plan by ruin and recreate with simulated annealing.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        Plan to start from; it may leave customers out. Default: nobody is served yet.
    time_limit
        Seconds to search, everything included.
    iterations
        Iterations to search, for each chain. The same number and seed give the same
        plan on any machine. At least one of the two limits must be given; the
        temperature falls by iterations if both are.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used; the cost minimised is then Cost_v.
    chains
        Searches to run in parallel threads that exchange their best plans.
    parameters
        Settings of the search. Default: fitted to most instances.
    on_improvement
        Called with (seconds, cost, plan) when the best plan has become better, at
        most once in a few milliseconds.
    stop
        Asked now and then; the search ends when it answers True.

    Returns
    -------
    SearchResult
        Never a worse plan than ``start``, and never more vehicles than there are.
    """
    warm_up()
    begin = time.perf_counter()
    _check_limits(time_limit, iterations, chains)
    parameters = parameters or RuinRecreateParameters()
    problem, scale = _problem(instance, vehicle_cost, parameters)
    fitted = _fit(instance, start)
    states = [_state(instance, problem, seed + 7919 * k) for k in range(chains)]
    for state in states:
        _load(problem, state, fitted)
    watch = _Watch(
        instance, begin, time_limit, iterations, on_improvement, stop, states
    )
    hot, cold = parameters.temperatures(instance.num_customers)
    interrupted = False
    try:
        _anneal(problem, states, watch, (hot * scale, cold * scale))
    except KeyboardInterrupt:
        interrupted = True
    plan = better(instance, _best_plan(states), fitted, vehicle_cost)
    cost = plan.cost_v(instance, vehicle_cost)
    return SearchResult(
        plan=plan,
        cost=cost,
        seconds=time.perf_counter() - begin,
        iterations=sum(int(state.counts[layout.ITERATION]) for state in states),
        trace=tuple(watch.trace),
        interrupted=interrupted,
    )


@functools.cache
def warm_up() -> None:
    """Load the compiled search, or compile it the first time on a machine.

    Called before the clock of a search starts: a limit on time is for searching.
    """
    tiny = Instance(
        depot=(0.0, 0.0),
        customers=[[0.0, 1.0], [1.0, 0.0]],
        demands=[1, 1],
        capacity=2,
        vehicles=1,
    )
    problem, _ = _problem(tiny, 0.0, RuinRecreateParameters())
    state = _state(tiny, problem, seed=0)
    _load(problem, state, Plan([]))
    kernel.advance(problem, state, 1, 1.0)


class _Watch:
    """Keeps the limits of a search and the trace of its improvements."""

    def __init__(
        self,
        instance: Instance,
        begin: float,
        time_limit: float | None,
        iterations: int | None,
        on_improvement: Callable[[float, float, Plan], None] | None,
        stop: Callable[[], bool] | None,
        states: list[layout.State],
    ) -> None:
        self.instance = instance
        self.begin = begin
        self.time_limit = np.inf if time_limit is None else time_limit
        self.iterations = iterations
        self.on_improvement = on_improvement
        self.stop = stop
        self.states = states
        self.trace: list[tuple[float, float]] = []
        self.report()

    def elapsed(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.begin

    def over(self) -> bool:
        """Whether the time is up or the user has had enough."""
        return self.elapsed() >= self.time_limit or bool(self.stop and self.stop())

    def report(self) -> None:
        """Record the best plan if it has become better."""
        served = [s for s in self.states if s.counts[layout.BEST_ABSENT] == 0]
        if not served:
            return
        best = min(float(state.lengths[1]) for state in served)
        if not self.trace or best < self.trace[-1][1]:
            self.trace.append((self.elapsed(), best))
            if self.on_improvement is not None:
                self.on_improvement(*self.trace[-1], _best_plan(self.states))


def _anneal(
    problem: layout.Problem,
    states: list[layout.State],
    watch: _Watch,
    temperatures: tuple[float, float],
) -> None:
    """Run the chains to the limits, exchanging their best plans now and then."""
    if len(states) == 1:
        _run_chain(problem, states[0], watch, temperatures, 1.0)
        return
    with ThreadPoolExecutor(len(states)) as pool:
        for part in range(1, _ROUNDS + 1):
            jobs = [
                pool.submit(
                    _run_chain, problem, state, watch, temperatures, part / _ROUNDS
                )
                for state in states
            ]
            for job in jobs:
                job.result()
            if watch.over():
                return
            _exchange(problem, states)


def _run_chain(
    problem: layout.Problem,
    state: layout.State,
    watch: _Watch,
    temperatures: tuple[float, float],
    until: float,
) -> None:
    """Run one chain until a share of the limit is used."""
    if watch.iterations is not None:
        _run_iterations(problem, state, watch, temperatures, until)
    else:
        _run_seconds(problem, state, watch, temperatures, until)


def _run_iterations(
    problem: layout.Problem,
    state: layout.State,
    watch: _Watch,
    temperatures: tuple[float, float],
    until: float,
) -> None:
    total = watch.iterations or 0
    last = round(total * until)
    chunk = min(_CHUNK_ITERATIONS, max(1, total // 100))
    done = int(state.counts[layout.ITERATION])
    while done < last and not watch.over():
        count = min(chunk, last - done)
        kernel.advance(problem, state, count, _cool(state, temperatures, done / total))
        done += count
        watch.report()


def _run_seconds(
    problem: layout.Problem,
    state: layout.State,
    watch: _Watch,
    temperatures: tuple[float, float],
    until: float,
) -> None:
    count = 32
    elapsed = watch.elapsed()
    while elapsed < watch.time_limit * until and not watch.over():
        temperature = _cool(state, temperatures, elapsed / watch.time_limit)
        before = elapsed
        kernel.advance(problem, state, count, temperature)
        watch.report()
        elapsed = watch.elapsed()
        pace = count / max(elapsed - before, 1e-7)
        left = watch.time_limit * until - elapsed
        count = max(1, int(pace * min(_CHUNK_SECONDS, left)))


def _cool(
    state: layout.State, temperatures: tuple[float, float], share: float
) -> float:
    """Temperature when a share of the limit is used.

    It falls geometrically, but only once everybody is served: what shortens a plan
    would be wasted on one that leaves customers out.
    """
    hot, cold = temperatures
    if state.counts[layout.BEST_ABSENT] > 0:
        state.origin[0] = share
    fallen = (share - state.origin[0]) / max(1 - state.origin[0], 1e-9)
    # 32 bits are the same on every machine, whatever its power function.
    return float(np.float32(hot * (cold / hot) ** fallen))


def _exchange(problem: layout.Problem, states: list[layout.State]) -> None:
    """Let the worse half of the chains go on from the best plan."""
    ranked = sorted(states, key=_rank)
    best = _plan_of(ranked[0])
    for state in ranked[(len(ranked) + 1) // 2 :]:
        if _rank(state) > _rank(ranked[0]):
            _load(problem, state, best)


def _rank(state: layout.State) -> tuple[int, float]:
    return int(state.counts[layout.BEST_ABSENT]), float(state.lengths[1])


def _best_plan(states: list[layout.State]) -> Plan:
    return _plan_of(min(states, key=_rank))


def _plan_of(state: layout.State) -> Plan:
    """Read the best plan out of a state."""
    following = state.best.tolist()
    depots = range(len(following) - len(state.loads), len(following))
    tours = []
    for depot in depots:
        tour = []
        node = following[depot]
        while node != depot:
            tour.append(node)
            node = following[node]
        tours.append(tour)
    return Plan(tours)


def _problem(
    instance: Instance, vehicle_cost: float, parameters: RuinRecreateParameters
) -> tuple[layout.Problem, float]:
    """Lay an instance out for the kernel; also return the scale of its distances."""
    n, fleet = instance.num_customers, instance.vehicles
    distances = instance.distances
    there = np.empty((n + 1, n + 1 + fleet), dtype=np.float32)
    there[:, : n + 1] = distances
    there[:, n + 1 :] = distances[:, :1]
    back = there
    if instance.metric == "explicit" and not np.array_equal(distances, distances.T):
        back = np.empty_like(there)
        back[:, : n + 1] = distances.T
        back[:, n + 1 :] = distances[:1, :].T
    neighbours = layout.nearest(there, back, min(parameters.neighbours, max(n - 1, 1)))
    reach = min(parameters.reach, neighbours.shape[1]) if n > 1 else 0
    demands = np.zeros(n + 1 + fleet, dtype=np.int64)
    demands[: n + 1] = instance.demand_units
    mean = float(distances.sum()) / (n * (n + 1))
    problem = layout.Problem(
        there=there,
        back=back,
        demands=demands,
        capacity=np.int64(instance.capacity_units),
        neighbours=neighbours,
        reach=np.int64(reach),
        near_depot=layout.near_depot(there, back, neighbours, reach),
        vehicle_cost=np.float32(vehicle_cost),
        removals=np.float64(parameters.removals),
        longest=np.int64(parameters.longest),
        split=np.float64(parameters.split),
        blink=np.int64(parameters.blink),
    )
    return problem, mean / _MEAN_UNIT_SQUARE or 1.0


def _state(instance: Instance, problem: layout.Problem, seed: int) -> layout.State:
    """Allocate an empty state with its own random numbers."""
    n, fleet = instance.num_customers, instance.vehicles
    size = n + 1 + fleet

    def customers(dtype: Any) -> Any:
        return np.zeros(n, dtype=dtype)

    # One step of splitmix64 spreads neighbouring seeds over all 64 bits.
    mixed = (seed * 0x9E3779B97F4A7C15 + 0x1234567) % 2**64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    return layout.State(
        nodes=np.zeros((size, 4), dtype=np.uint32),
        legs=np.zeros(size, dtype=np.float32),
        loads=np.zeros(fleet, dtype=np.int64),
        stamps=np.zeros(fleet, dtype=np.int64),
        absent=customers(np.uint32),
        absences=np.zeros(n + 1, dtype=np.int64),
        best=np.zeros(size, dtype=np.uint32),
        removed=customers(np.uint32),
        removed_legs=customers(np.float32),
        cuts=np.zeros((n, 3), dtype=np.uint32),
        cut_legs=customers(np.float32),
        pool=customers(np.uint32),
        keys=customers(np.float32),
        placed=customers(np.uint32),
        placed_legs=customers(np.float32),
        lengths=np.zeros(2),
        origin=np.zeros(1),
        counts=np.zeros(5, dtype=np.int64),
        random=np.array([mixed | 1], dtype=np.uint64),
    )


def _load(problem: layout.Problem, state: layout.State, plan: Plan) -> None:
    """Make a plan within fleet and capacity the current and the best one."""
    layout.load(problem, state, plan.to_routes(len(state.best)))


def _fit(instance: Instance, start: Plan | None) -> Plan:
    """Drop from a start what fleet or capacity do not allow."""
    if start is None:
        return Plan([])
    _check_start(instance, start)
    units, capacity = instance.demand_units, instance.capacity_units
    tours = []
    for tour in start.tours:
        kept, load = [], 0
        for customer in tour:
            if load + units[customer] <= capacity:
                kept.append(customer)
                load += units[customer]
        tours.append(kept)
    if len(tours) > instance.vehicles:
        tours = sorted(tours, key=len, reverse=True)[: instance.vehicles]
    return Plan(tours)


def _check_start(instance: Instance, start: Plan) -> None:
    for fault in start.check(instance):
        if "twice" in fault or "times" in fault or "does not exist" in fault:
            raise InputError(f"the start is no plan for this instance: {fault}")


def _check_limits(
    time_limit: float | None, iterations: int | None, chains: int
) -> None:
    if time_limit is None and iterations is None:
        raise InputError("give a time limit or a number of iterations")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time limit is {time_limit:g} s, not above 0")
    if iterations is not None and iterations < 1:
        raise InputError(f"{iterations} iterations asked for, not at least 1")
    if chains < 1:
        raise InputError(f"{chains} chains asked for, not at least 1")
