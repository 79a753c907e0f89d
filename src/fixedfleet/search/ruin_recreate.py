"""Ruin and recreate with simulated annealing, on one core."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.compiling import clear_cache
from fixedfleet.instance import Instance
from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.plan import Plan
from fixedfleet.search import cpu_arrays, cpu_kernel
from fixedfleet.search.cpu_arrays import BEST_ABSENT, NEXT, Problem, State
from fixedfleet.search.cpu_distances import Matrix, Points, along_curve, is_measured
from fixedfleet.search.parameters import RuinRecreateParameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.stop import Stop

__all__ = ["anneal", "load_kernel", "ruin_recreate"]

_DEFAULTS = RuinRecreateParameters()
_CHUNK_SECONDS = 1e-3  # seconds between two readings of the clock
_CHUNK_ITERATIONS = 1000  # at most, if the limit is a number of iterations
_FIRST_CHUNK = 32  # iterations before the clock is first read, to measure the speed
_ARRAYS_SECONDS = 3e-5  # for each customer, to make the arrays of a large instance


def ruin_recreate(
    task: SearchTask, parameters: RuinRecreateParameters = _DEFAULTS
) -> None:
    """
    Improve a plan by ruin and recreate.

    With a limit on iterations, the same seed gives the same plan on any machine. The
    temperature falls with the iterations if they are limited, else with the time.

    Parameters
    ----------
    task
        What to search. The start may leave customers unassigned.
    parameters
        Settings of the search.
    """
    instance = task.instance
    with task.stop.paused(), interrupts_deferred():
        load_kernel(is_measured(instance))
    n = instance.num_customers
    if is_measured(instance) and task.stop.left() < _ARRAYS_SECONDS * n:
        return  # the time is not enough to begin
    problem, state = _begin(
        instance, task.start, task.seed, parameters, task.vehicle_cost
    )
    hot, cold = parameters.temperatures(n)
    scale = cpu_arrays.scale(instance)
    temperatures = hot * scale, cold * scale
    try:
        if task.stop.iterations is not None:
            _run_iterations(problem, state, task, temperatures)
        else:
            _run_seconds(problem, state, task, temperatures)
    finally:  # also after Ctrl-C
        task.offer(_best_plan(state))


def anneal(
    instance: Instance,
    plan: Plan,
    stop: Stop,
    seed: int,
    parameters: RuinRecreateParameters,
    temperatures: tuple[float, float],
    *,
    vehicle_cost: float = 0.0,
) -> Plan:
    """
    Search between two temperatures; return the last plan, which may be worse.

    Parameters
    ----------
    instance, plan
        The instance and a feasible plan to start from.
    stop
        When to end: seconds or iterations.
    seed
        Seed of the random numbers.
    parameters
        Settings of the search; its temperatures do not count.
    temperatures
        The first and the last temperature, in the unit of the distances.
    vehicle_cost
        Fixed cost of each vehicle used.
    """
    problem, state = _begin(instance, plan, seed, parameters, vehicle_cost)
    count = _FIRST_CHUNK
    while not stop.over():
        left = stop.left()
        done = 1 - left / stop.seconds
        if stop.iterations is not None:
            done = stop.done / stop.iterations
            count = min(_CHUNK_ITERATIONS, stop.iterations - stop.done)
        cpu_kernel.advance(problem, state, count, _temperature(temperatures, done))
        stop.count(count)
        # Longer chunks than on one core, because threads wait for Python's lock.
        count = max(1, int(stop.done / stop.elapsed() * 10 * _CHUNK_SECONDS))
    return _read_plan(state, state.nodes[:, NEXT])


def _begin(
    instance: Instance,
    start: Plan,
    seed: int,
    parameters: RuinRecreateParameters,
    vehicle_cost: float,
) -> tuple[Problem, State]:
    """Return the arrays of an instance, and a state with a start in it."""
    state = cpu_arrays.empty_state(instance, seed)
    routes = start.to_routes(len(state.best))
    if is_measured(instance):
        state.customers[1:] = along_curve(instance)
        instance = instance.only(state.customers[1:].tolist())
        routes = np.argsort(state.customers)[routes].astype(np.int32)
    problem = cpu_arrays.lay_out(instance, vehicle_cost, parameters)
    cpu_arrays.load(problem, state, routes)
    return problem, state


def _run_iterations(
    problem: Problem, state: State, task: SearchTask, temperatures: tuple[float, float]
) -> None:
    """Search until the number of iterations is done."""
    stop, cost = task.stop, _best_cost(state)
    total = stop.iterations or 0
    chunk = min(_CHUNK_ITERATIONS, max(1, total // 100))
    while not stop.over():
        count = min(chunk, total - stop.done)
        temperature = _cool(state, temperatures, stop.done / total)
        cpu_kernel.advance(problem, state, count, temperature)
        stop.count(count)
        cost = _report(task, state, cost)


def _run_seconds(
    problem: Problem, state: State, task: SearchTask, temperatures: tuple[float, float]
) -> None:
    """Search until the time is over."""
    stop, cost = task.stop, _best_cost(state)
    count = _FIRST_CHUNK
    left = stop.left()
    while left > 0:
        temperature = _cool(state, temperatures, 1 - left / stop.seconds)
        cpu_kernel.advance(problem, state, count, temperature)
        stop.count(count)
        cost = _report(task, state, cost)
        before, left = left, stop.left()
        pace = count / max(before - left, 1e-7)
        count = max(1, int(pace * min(_CHUNK_SECONDS, left)))


def _cool(state: State, temperatures: tuple[float, float], share: float) -> float:
    """Return the temperature when a share of the limit is used.

    It does not fall before every customer is served: while some are unassigned, a low
    temperature would only hinder finding places for them.
    """
    if state.counts[BEST_ABSENT] > 0:
        state.origin[0] = share
    fallen = (share - state.origin[0]) / max(1 - state.origin[0], 1e-9)
    return _temperature(temperatures, fallen)


def _temperature(temperatures: tuple[float, float], share: float) -> float:
    """Return the temperature after a share of its geometric fall."""
    hot, cold = temperatures
    # 32 bits are the same on every machine, whatever its power function.
    return float(np.float32(hot * (cold / hot) ** share))


def _report(task: SearchTask, state: State, reported: float) -> float:
    """Note the best cost if it became lower; offer its plan only to a listener."""
    cost = _best_cost(state)
    if cost < reported:
        if task.best.watched:
            task.offer(_best_plan(state))
        elif task.vehicle_cost == task.best.vehicle_cost:
            task.best.note(cost)
    return min(cost, reported)


def _best_cost(state: State) -> float:
    """Return the cost of the best plan, infinite while customers are unassigned."""
    return np.inf if state.counts[BEST_ABSENT] > 0 else float(state.costs[1])


def _best_plan(state: State) -> Plan:
    """Read the best plan out of a state."""
    return _read_plan(state, state.best)


def _read_plan(state: State, links: NDArray[np.uint32]) -> Plan:
    """Read a plan from the links that lead from each node to the next."""
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
    return Plan(tours)


def _load_kernel(legs: Matrix | Points) -> None:
    """Load the compiled search, or compile it the first time on a machine."""
    tiny = Instance(
        depot=(0.0, 0.0),
        customers=[[0.0, 1.0], [1.0, 0.0]],
        demands=[1, 1],
        capacity=2,
        vehicles=1,
    )
    problem = cpu_arrays.lay_out(tiny, 0.0, _DEFAULTS, legs)
    state = cpu_arrays.empty_state(tiny, seed=0)
    cpu_arrays.load(problem, state, Plan([]).to_routes(len(state.best)))
    cpu_kernel.advance(problem, state, 1, 1.0)


@cache
def load_kernel(measured: bool) -> None:
    """Load the compiled search for a matrix of distances, or for coordinates."""
    legs: Matrix | Points = Matrix(*np.zeros((2, 3, 4), dtype=np.float32))
    if measured:
        legs = Points(np.zeros((4, 3)), np.float64(0), np.int64(0))
    try:
        _load_kernel(legs)
    except (ImportError, AttributeError):
        # Another version of this package compiled into the same folder. Numba cannot
        # read its cache if that names something which this version does not have.
        clear_cache(cpu_kernel.advance)
        _load_kernel(legs)


# With the module, so that it happens once and no search counts it as its time.
load_kernel(measured=False)
