"""Ruin and recreate on a GPU: one call improves the plans of a whole batch."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import (
    InputError,
    check_seed,
    check_vehicle_cost,
)
from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import PlanBatch
from fixedfleet.search import gpu_kernel
from fixedfleet.search.gpu_arrays import pack
from fixedfleet.search.gpu_parts import search_parts
from fixedfleet.search.method import LEAST_SECONDS, MANY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.stop import Stop

__all__ = ["gpu_search", "improve_batch", "require_gpu"]

_MOST_ITERATIONS = 2**31 - 1  # that the kernel counts
_HOT, _COLD = 0.1, 0.015  # temperatures, for customers drawn in the unit square
_ROUNDS = 10  # a time limit is divided into at least this many rounds
_FIRST = 50  # iterations of the first round, which shows how fast the GPU is
_GROWTH = 8  # a round has at most this many times the iterations of the last one


def require_gpu() -> None:
    """Raise InputError or MissingPackageError if there is no GPU to search on."""
    gpu_kernel.load_cupy()


def improve_batch(
    batch: InstanceBatch,
    starts: PlanBatch,
    *,
    stop: Stop,
    seed: int = 0,
    vehicle_cost: float = 0.0,
) -> PlanBatch:
    """
    Improve one plan for each instance, all at once.

    With a limit on iterations, the same call gives the same plans on the same GPU. No
    plan returned costs more than its start or uses more vehicles than there are.

    Parameters
    ----------
    batch, starts
        The instances, and a feasible plan for each.
    stop
        Either the iterations for each instance or a time limit for the whole batch.
        After Ctrl-C the best plans so far are returned.
    seed, vehicle_cost
        Seed of the random numbers, and fixed cost of each vehicle used.

    Raises
    ------
    InputError
        If an argument is wrong, a start is infeasible or there is no GPU.
    MissingPackageError
        If CuPy is not installed.
    """
    check_vehicle_cost(vehicle_cost)
    check_seed(seed)
    _check_starts(batch, starts)
    call = _Call(batch, seed, vehicle_cost, chains=1)
    plans = starts
    try:
        for found in _rounds(call, starts, stop):
            plans = found
    except KeyboardInterrupt:
        stop.interrupt()
    return plans


def gpu_search(task: SearchTask) -> None:
    """
    Improve one plan by as many chains of ruin and recreate as keep the GPU busy.

    The start must be feasible. Each round starts from the best plan of all chains.
    Compiling the kernel does not count as time.
    """
    if faults := task.start.check(task.instance):
        raise InputError(
            "the search on a GPU needs a feasible plan to start from, and this start "
            f"is not feasible: {faults[0]}"
        )
    if task.instance.num_customers > MANY:
        search_parts(task)
        return
    batch = InstanceBatch.of([task.instance])
    starts = PlanBatch.from_plans([task.start])
    with task.stop.paused():  # the kernel may have to be compiled
        chains = gpu_kernel.chains_to_fill(pack(batch, starts))
    call = _Call(batch, task.seed, task.vehicle_cost, chains)
    for plans in _rounds(call, starts, task.stop):
        task.offer(plans[0])


@dataclass(frozen=True)
class _Call:
    """What is the same for all rounds of a search on the GPU."""

    batch: InstanceBatch
    seed: int
    vehicle_cost: float
    chains: int

    def improve(
        self,
        plans: PlanBatch,
        iterations: int,
        *,
        round_number: int = 0,
        cooled: tuple[float, float] = (0.0, 1.0),
    ) -> PlanBatch:
        """
        Run some iterations of each chain; return the better plan of each instance.

        Each round has random numbers of its own. ``cooled`` is which part of the
        cooling it is, as shares of the whole.
        """
        start, end = (_HOT * (_COLD / _HOT) ** share for share in cooled)
        return gpu_kernel.improve(
            self.batch,
            plans,
            pack(self.batch, plans),
            chains=self.chains,
            iterations=iterations,
            temperatures=(start, end),
            vehicle_cost=self.vehicle_cost,
            seed=self.seed + round_number,
        )


def _rounds(call: _Call, plans: PlanBatch, stop: Stop) -> Iterator[PlanBatch]:
    """
    Yield the best plans after each round.

    A limit on iterations is one round. A time limit is divided into rounds, each of
    which continues from the best plans with the temperature that the clock says, so
    that the search ends cold at its limit.
    """
    if stop.iterations is not None:
        if stop.iterations > _MOST_ITERATIONS:
            raise InputError(f"iterations is {stop.iterations}, not at most 2^31 − 1")
        yield call.improve(plans, stop.iterations)
        stop.count(call.chains * stop.iterations)
        return
    total = stop.seconds
    with stop.paused():
        overhead = _compile(call, plans)
    iterations, pace, number = _FIRST, 0.0, 0
    while (left := stop.left()) > max(LEAST_SECONDS, overhead):
        seconds = min(left, total / _ROUNDS)
        if pace:
            wanted = int(pace * (seconds - overhead))
            iterations = min(max(1, wanted), _GROWTH * iterations, _MOST_ITERATIONS)
        begin = 1 - left / total
        cooled = begin, min(begin + seconds / total, 1.0)
        before = time.perf_counter()
        plans = call.improve(plans, iterations, round_number=number, cooled=cooled)
        spent = max(time.perf_counter() - before, 1e-9)
        pace = iterations / max(spent - overhead, spent / 10)
        number += 1
        stop.count(call.chains * iterations)
        yield plans


def _compile(call: _Call, plans: PlanBatch) -> float:
    """Compile the kernels; return the seconds that the host needs for each round."""
    call.improve(plans, 1)
    begin = time.perf_counter()
    call.improve(plans, 1)
    return time.perf_counter() - begin


def _check_starts(batch: InstanceBatch, starts: PlanBatch) -> None:
    if len(batch) != len(starts):
        raise InputError(f"{len(starts)} starts for {len(batch)} instances")
    bad = np.flatnonzero(~starts.feasible(batch))
    if len(bad):
        row = int(bad[0])
        fault = starts[row].check(batch[row])[0]
        raise InputError(
            f"start {row} is not feasible for its instance: {fault}; the GPU search "
            "starts from feasible plans"
        )
