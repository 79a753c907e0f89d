"""What one core does for some instances of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.plan import Plan
from fixedfleet.search import improve
from fixedfleet.starts import make_start

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.search import SearchName
    from fixedfleet.starts import StartName

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
    """A task for some instances, with their plans and packings as routes."""

    task: Task
    rows: NDArray[np.int64]
    instances: InstanceBatch | list[Instance]
    routes: NDArray[np.int64]
    packings: NDArray[np.int64]


def do(job: Job, stop: Callable[[], bool]) -> list[tuple[int, NDArray[np.int32]]]:
    """Do a job: rows and the routes of their plans, as far as it came."""
    done = []
    for row, instance, routes, packing in zip(
        job.rows.tolist(), job.instances, job.routes, job.packings, strict=True
    ):
        if stop():
            break
        plan, packed = Plan.from_routes(routes), Plan.from_routes(packing)
        found = _do_one(job.task, instance, plan, packed, row, stop)
        done.append((row, found.to_routes()))
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
