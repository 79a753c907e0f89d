"""Ruin and recreate with simulated annealing, on one core."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.instance import Instance
from fixedfleet.plan import Plan
from fixedfleet.search import cpu_arrays, cpu_kernel
from fixedfleet.search.cpu_arrays import BEST_ABSENT, Problem, State
from fixedfleet.search.parameters import RuinRecreateParameters

if TYPE_CHECKING:
    from fixedfleet.search.method import SearchTask

__all__ = ["ruin_recreate"]

_DEFAULTS = RuinRecreateParameters()
_CHUNK_SECONDS = 1e-3  # seconds between two readings of the clock
_CHUNK_ITERATIONS = 1000  # at most, if the limit is a number of iterations
_FIRST_CHUNK = 32  # iterations before the clock is first read, to measure the speed


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
    problem = cpu_arrays.lay_out(instance, task.vehicle_cost, parameters)
    state = cpu_arrays.empty_state(instance, task.seed)
    cpu_arrays.load(problem, state, task.start.to_routes(len(state.best)))
    hot, cold = parameters.temperatures(instance.num_customers)
    scale = cpu_arrays.scale(instance)
    temperatures = hot * scale, cold * scale
    try:
        if task.stop.iterations is not None:
            _run_iterations(problem, state, task, temperatures)
        else:
            _run_seconds(problem, state, task, temperatures)
    finally:  # also after Ctrl-C
        task.offer(_best_plan(state))


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

    It falls geometrically, but not before every customer is served: while some are
    unassigned, a low temperature would only hinder finding places for them.
    """
    hot, cold = temperatures
    if state.counts[BEST_ABSENT] > 0:
        state.origin[0] = share
    fallen = (share - state.origin[0]) / max(1 - state.origin[0], 1e-9)
    # 32 bits are the same on every machine, whatever its power function.
    return float(np.float32(hot * (cold / hot) ** fallen))


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


def _load_kernel() -> None:
    """Load the compiled search, or compile it the first time on a machine."""
    tiny = Instance(
        depot=(0.0, 0.0),
        customers=[[0.0, 1.0], [1.0, 0.0]],
        demands=[1, 1],
        capacity=2,
        vehicles=1,
    )
    problem = cpu_arrays.lay_out(tiny, 0.0, _DEFAULTS)
    state = cpu_arrays.empty_state(tiny, seed=0)
    cpu_arrays.load(problem, state, Plan([]).to_routes(len(state.best)))
    cpu_kernel.advance(problem, state, 1, 1.0)


def _load_or_recompile() -> None:
    try:
        _load_kernel()
    except (ImportError, AttributeError):
        # Another version of this package compiled into the same folder. Numba cannot
        # read its cache if that names something which this version does not have.
        cpu_arrays.clear_cache(cpu_kernel.advance)
        _load_kernel()


# With the module, so that it happens once and no search counts it as its time.
_load_or_recompile()
