"""
Ruin and recreate on a GPU, for one plan or for a whole batch of plans.

A chain is one run of ruin and recreate. The GPU runs many chains at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError, check_seed, check_vehicle_cost
from fixedfleet.instance import InstanceBatch
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.search import gpu_kernel
from fixedfleet.search.gpu_arrays import pack
from fixedfleet.search.gpu_kernel import GpuSpeed
from fixedfleet.search.gpu_parts import load_for_gpu_parts, search_parts
from fixedfleet.search.rounds import rounds
from fixedfleet.search.ruin_recreate import load_kernel_for, ruin_recreate
from fixedfleet.search.searches import loaded_by
from fixedfleet.search.task import MIN_SECONDS, PARTS_ABOVE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.search.task import SearchTask

__all__ = [
    "GpuParameters",
    "gpu_search",
    "improve_batch",
    "load_for_batch",
    "require_gpu",
]

_MOST_ITERATIONS = 2**31 - 1  # the kernel counts them in 32 bits


@dataclass(frozen=True, kw_only=True)
class GpuParameters:
    """
    Settings of the search on a GPU for plans that are not divided into parts.

    Parameters
    ----------
    hot, cold
        First and last temperature for customers in the unit square; for other
        instances, they are multiplied by the ratio of the mean distances.
    rounds
        A time limit is divided into at least this many rounds.
    first_iterations
        Iterations of the first round, which measures the speed of the GPU.
    """

    hot: float = 0.1
    cold: float = 0.015
    rounds: int = 10
    first_iterations: int = 50


_DEFAULTS = GpuParameters()


def require_gpu() -> None:
    """Raise an error if there is no suitable GPU, or if CuPy is not installed."""
    gpu_kernel.load_cupy()


def improve_batch(
    batch: InstanceBatch,
    plans: PlanBatch,
    *,
    deadline: Deadline,
    seed: int = 0,
    vehicle_cost: float = 0.0,
) -> PlanBatch:
    """
    Improve the plans of all instances of a batch at the same time.

    With a limit on iterations, the same call gives the same plans on the same GPU. No
    returned plan costs more than the given one or exceeds the fleet.

    Parameters
    ----------
    batch, plans
        The instances, and a feasible plan for each.
    deadline
        Either the iterations for each instance or a time limit for the whole batch.
        After Ctrl-C the best plans so far are returned.
    seed, vehicle_cost
        Seed of the random numbers, and fixed cost of each vehicle used. The length plus
        this cost is minimised.

    Raises
    ------
    InputError
        If an argument is wrong, a plan is infeasible or there is no GPU.
    MissingPackageError
        If CuPy is not installed.
    """
    check_vehicle_cost(vehicle_cost)
    check_seed(seed)
    _check_plans(batch, plans)
    with interrupt_noted() as pressed:
        search = _BatchSearch(batch, deadline.or_when(pressed), seed, vehicle_cost)
        for better in search.run(plans):
            plans = better
    return plans


def load_for_batch(batch: InstanceBatch) -> None:
    """
    Load or compile the kernels with which :func:`improve_batch` searches a batch.

    Call it before a time limit begins.
    """
    nothing = PlanBatch(np.zeros((len(batch), 1), dtype=np.int64))
    gpu_kernel.load_kernels(pack(batch, nothing))


def _load(instance: Instance) -> None:
    """Load or compile the kernels that an instance needs."""
    if instance.num_customers > PARTS_ABOVE:
        load_for_gpu_parts(instance)
    else:
        load_kernel_for(instance)  # needed if the initial plan has unserved customers
        load_for_batch(InstanceBatch.of([instance]))


@loaded_by(_load)
def gpu_search(task: SearchTask) -> Iterator[Plan]:
    """
    Improve one plan by many chains of ruin and recreate; yield better and better plans.

    There are as many chains as the GPU can run at the same time. Each round starts from
    the best plan of all chains. If the initial plan leaves customers unserved, one CPU
    core first searches for a plan that serves all.
    """
    instance, plan = task.instance, task.initial_plan
    if plan.unserved(instance):
        plan = yield from _serve_all(task)
        if plan.unserved(instance):
            return
        task = replace(task, initial_plan=plan, deadline=task.deadline.until(1.0))
    if instance.num_customers > PARTS_ABOVE:
        yield from search_parts(task)
        return
    batch, plans = InstanceBatch.of([instance]), PlanBatch.from_plans([plan])
    chains = gpu_kernel.chains_to_fill(pack(batch, plans))
    search = _BatchSearch(batch, task.deadline, task.seed, task.vehicle_cost, chains)
    for better in search.run(plans):
        yield better[0]


def _serve_all(task: SearchTask) -> Generator[Plan, None, Plan]:
    """
    Search on one CPU core until a plan serves all customers, or the deadline is over.

    This is a generator that yields plans and returns the last one.
    """
    plan = task.initial_plan
    for plan in ruin_recreate(task):
        yield plan
        if not plan.unserved(task.instance):
            break
    return plan


@dataclass(frozen=True)
class _BatchSearch:
    """A search of all instances of a batch, by ``chains`` chains for each instance."""

    batch: InstanceBatch
    deadline: Deadline
    seed: int
    vehicle_cost: float
    chains: int = 1
    parameters: GpuParameters = _DEFAULTS

    def run(self, plans: PlanBatch) -> Iterator[PlanBatch]:
        """
        Yield the best plans of the batch after each round.

        ``plans`` has a feasible plan for each instance. With a limit on iterations,
        there is one round. A time limit is divided into rounds, each of which continues
        from the best plans. The temperature falls with the share of the time that is
        used.
        """
        parameters, limit = self.parameters, self.deadline.iterations
        if limit is not None and limit > _MOST_ITERATIONS:
            raise InputError(f"iterations is {limit}, not at most 2^31 − 1")
        groups = pack(self.batch, plans)
        gpu_kernel.load_kernels(groups)
        speed = GpuSpeed(parameters.first_iterations)
        # Most of a round should be spent on the GPU.
        at_least = lambda: 4 * speed.overhead  # noqa: E731
        count = parameters.rounds if limit is None else 1
        for one in rounds(self.deadline, count, at_least):
            if self.deadline.left() <= max(MIN_SECONDS, speed.overhead):
                return
            begin = one.deadline.clock()
            if one.number > 0:
                groups = pack(self.batch, plans)
            iterations = limit or speed.iterations_in(one.deadline.seconds)
            plans = gpu_kernel.improve(
                self.batch,
                plans,
                groups,
                chains=self.chains,
                iterations=min(iterations, _MOST_ITERATIONS),
                temperatures=one.between(parameters.hot, parameters.cold),
                vehicle_cost=self.vehicle_cost,
                seed=self.seed + one.number,
            )
            speed.record(iterations, one.deadline.clock() - begin)
            yield plans


def _check_plans(batch: InstanceBatch, plans: PlanBatch) -> None:
    if len(batch) != len(plans):
        raise InputError(f"{len(plans)} plans for {len(batch)} instances")
    bad = np.flatnonzero(~plans.feasible(batch))
    if len(bad):
        row = int(bad[0])
        fault = plans[row].check(batch[row])[0]
        raise InputError(
            f"plan {row} is not feasible for its instance: {fault}; the GPU search "
            "starts from feasible plans"
        )
