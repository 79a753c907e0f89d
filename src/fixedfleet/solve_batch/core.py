"""What one core does for some instances of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.search import improve
from fixedfleet.starts import make_start

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.plan import Plan, PlanBatch
    from fixedfleet.search import SearchName
    from fixedfleet.starts import StartName
    from fixedfleet.workers import Call

__all__ = ["Job", "Task", "do"]


@dataclass(frozen=True)
class Task:
    """What to do for each instance: make a start, or search from the one it has."""

    start: StartName | None = None
    search: SearchName = "auto"
    seed: int = 0
    time_limit: float | None = None
    iterations: int | None = None
    vehicle_cost: float = 0.0


@dataclass(frozen=True)
class Job:
    """A task for some instances, with their plans and packings."""

    task: Task
    rows: NDArray[np.int64]
    instances: InstanceBatch
    plans: PlanBatch
    packings: PlanBatch


def do(job: Job, call: Call) -> list[tuple[int, Plan]]:
    """Do a job: rows and their plans, as far as it came."""
    done = []
    for row, instance, plan, packing in zip(
        job.rows.tolist(), job.instances, job.plans, job.packings, strict=True
    ):
        if call.ending():
            break
        found = _do_one(job.task, instance, plan, packing, row, call.ending)
        done.append((row, found))
    return done


def _do_one(
    task: Task,
    instance: Instance,
    plan: Plan,
    packing: Plan,
    row: int,
    stop: Callable[[], bool],
) -> Plan:
    seed = task.seed + row
    if task.start is not None:
        return make_start(task.start, instance, packing, seed=seed) or packing
    if task.iterations is not None:
        from fixedfleet.search.ruin_recreate import ruin_recreate

        return ruin_recreate(
            instance,
            plan,
            iterations=task.iterations,
            seed=seed,
            vehicle_cost=task.vehicle_cost,
            stop=stop,
        ).plan
    return improve(
        instance,
        plan,
        search=task.search,
        time_limit=task.time_limit or 1.0,
        seed=seed,
        vehicle_cost=task.vehicle_cost,
        fewest=packing,
        stop=stop,
    ).plan
