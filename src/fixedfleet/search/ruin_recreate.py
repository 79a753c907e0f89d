"""Ruin and recreate: a plan in, a better plan out, never more vehicles."""

from __future__ import annotations

import functools
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.instance import Instance
from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.plan import Plan
from fixedfleet.search import kernel, layout
from fixedfleet.search.parameters import RuinRecreateParameters
from fixedfleet.search.result import SearchResult, better
from fixedfleet.search.start import check_time_limit, check_vehicle_cost, fit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RuinRecreateParameters", "ruin_recreate", "warm_up"]

_CHUNK_SECONDS = 1e-3  # between two looks at the clock
_CHUNK_ITERATIONS = 1000  # the same where iterations are the limit, at most
_ROUNDS = 20  # exchanges between parallel chains


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
    _check_limits(time_limit, iterations, chains, vehicle_cost)
    parameters = parameters or RuinRecreateParameters()
    problem = layout.lay_out(instance, vehicle_cost, parameters)
    fitted = Plan([]) if start is None else fit(instance, start)
    states = [layout.empty_state(instance, seed + 7919 * k) for k in range(chains)]
    for state in states:
        _load(problem, state, fitted)
    watch = _Watch(begin, time_limit, iterations, on_improvement, stop)
    scale = layout.scale(instance)
    hot, cold = parameters.temperatures(instance.num_customers)
    interrupted = False
    try:
        watch.report(states[0])
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
    with interrupts_deferred():
        problem = layout.lay_out(tiny, 0.0, RuinRecreateParameters())
        state = layout.empty_state(tiny, seed=0)
        _load(problem, state, Plan([]))
        kernel.advance(problem, state, 1, 1.0)


class _Watch:
    """Keeps the limits of a search and the trace of its improvements."""

    def __init__(
        self,
        begin: float,
        time_limit: float | None,
        iterations: int | None,
        on_improvement: Callable[[float, float, Plan], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self.begin = begin
        self.time_limit = np.inf if time_limit is None else time_limit
        self.iterations = iterations
        self.on_improvement = on_improvement
        self.stop = stop
        self.ended = False
        self.trace: list[tuple[float, float]] = []
        self._lock = Lock()

    def elapsed(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.begin

    def over(self) -> bool:
        """Whether the time is up or the user has had enough."""
        if self.ended or self.elapsed() >= self.time_limit:
            return True
        return bool(self.stop and self.stop())

    def report(self, state: layout.State) -> None:
        """Record a chain's best plan if it is the best of all so far.

        Only the thread that runs a chain may ask: nobody else can read its plan whole.
        """
        if state.counts[layout.BEST_ABSENT] > 0:
            return
        cost = float(state.costs[1])
        with self._lock:
            if self.trace and cost >= self.trace[-1][1]:
                return
            self.trace.append((self.elapsed(), cost))
            if self.on_improvement is not None:
                self.on_improvement(*self.trace[-1], _plan_of(state))


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
        try:
            for part in range(1, _ROUNDS + 1):
                share = part / _ROUNDS
                jobs = [
                    pool.submit(_run_chain, problem, state, watch, temperatures, share)
                    for state in states
                ]
                for job in jobs:
                    job.result()
                if watch.over():
                    return
                _exchange(problem, states)
        finally:
            watch.ended = True  # after Ctrl-C or an error no chain goes on


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
        watch.report(state)


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
        watch.report(state)
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
    return int(state.counts[layout.BEST_ABSENT]), float(state.costs[1])


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


def _load(problem: layout.Problem, state: layout.State, plan: Plan) -> None:
    """Make a plan within fleet and capacity the current and the best one."""
    layout.load(problem, state, plan.to_routes(len(state.best)))


def _check_limits(
    time_limit: float | None, iterations: int | None, chains: int, vehicle_cost: float
) -> None:
    if time_limit is None and iterations is None:
        raise InputError("give a time limit or a number of iterations")
    if time_limit is not None:
        check_time_limit(time_limit)
    if iterations is not None and iterations < 1:
        raise InputError(f"{iterations} iterations asked for, not at least 1")
    if chains < 1:
        raise InputError(f"{chains} chains asked for, not at least 1")
    check_vehicle_cost(vehicle_cost)
