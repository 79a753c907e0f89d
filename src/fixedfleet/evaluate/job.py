"""One call of a method, and the rows that come of it."""

from __future__ import annotations

import contextlib
import functools
import math
import platform
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixedfleet.evaluate.rows import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fixedfleet.evaluate.protocol import Answer, Method
    from fixedfleet.evaluate.rows import Key, Trace
    from fixedfleet.instance import Instance
    from fixedfleet.solve import Objective

__all__ = ["Job", "Skipped", "failed", "machine_name", "run_job", "warm_up"]

# A warm-up loads and compiles; what it finds is thrown away.
_WARM_SECONDS = 0.1
_WARM_ITERATIONS = 10
_LONGEST_FAULT = 200


@dataclass(frozen=True, eq=False)
class Job:
    """
    Instances for one call of a method.

    Attributes
    ----------
    method
        Place of the method in the run's list.
    name
        Name of the method.
    set
        Name of the set.
    instances
        Instances of equal size, as many as the method takes at once.
    vehicle_cost
        Fixed cost of a vehicle.
    time_limit, iterations
        The limit; one of them, or neither.
    seed
        The seed.
    objective, made
        What the method minimises, and what the rows are made with.
    """

    method: int
    name: str
    set: str
    instances: tuple[Instance, ...]
    vehicle_cost: float
    time_limit: float | None
    iterations: int | None
    seed: int
    objective: Objective | None = None
    made: Mapping[str, str] = field(default_factory=dict)

    def keys(self) -> list[Key]:
        """Keys of the rows that come of it."""
        return [
            (i.name, self.name, self.time_limit, self.iterations, self.seed)
            for i in self.instances
        ]


@dataclass(frozen=True)
class Skipped:
    """A job that could not run because of a missing package; no row comes of it."""

    reason: str


def warm_up(method: Method, job: Job) -> None:
    """Call the method once, briefly, so that nothing is loaded while it is timed."""
    limit, iterations = job.time_limit, job.iterations
    brief = _WARM_SECONDS / len(job.instances)
    with contextlib.suppress(Exception):  # the call that counts will say it again
        method.solve(
            job.instances,
            vehicle_cost=job.vehicle_cost,
            time_limit=None if limit is None else min(limit, brief),
            iterations=None
            if iterations is None
            else min(iterations, _WARM_ITERATIONS),
            seed=job.seed,
        )


def run_job(method: Method, job: Job) -> list[Row] | Skipped:
    """Call a method and measure what it answers; whatever goes wrong is in the rows."""
    machine = machine_name(method.on_gpu)
    begin = time.perf_counter()
    try:
        answers = method.solve(
            job.instances,
            vehicle_cost=job.vehicle_cost,
            time_limit=job.time_limit,
            iterations=job.iterations,
            seed=job.seed,
        )
        seconds = (time.perf_counter() - begin) / len(job.instances)
        return [
            _measure(job, instance, answer, seconds, machine)
            for instance, answer in zip(job.instances, answers, strict=True)
        ]
    except ImportError as error:
        return Skipped(f"{job.name}: {error}")
    except Exception as error:  # a method may fail in any way: the run goes on
        spent = time.perf_counter() - begin
        return failed(job, f"{type(error).__name__}: {error}", spent, machine)


def failed(job: Job, why: str, seconds: float, machine: str) -> list[Row]:
    """Rows of a call that gave no plans."""
    share = seconds / len(job.instances)
    return [
        _row(job, i, fault=why, seconds=share, machine=machine) for i in job.instances
    ]


def _measure(
    job: Job, instance: Instance, answer: Answer, seconds: float, machine: str
) -> Row:
    """Check a plan and measure it, whatever the method says of it."""
    plan = answer.plan
    if plan is None:
        why = f"no plan: {answer.reason}" if answer.reason else "no plan"
        return _row(job, instance, fault=why, seconds=seconds, machine=machine)
    allowed = instance
    if plan.vehicles > instance.vehicles:
        allowed = instance.with_vehicles(plan.vehicles)
    if faults := plan.check(allowed):
        more = f" and {len(faults) - 1} more faults" if len(faults) > 1 else ""
        why = f"infeasible: {faults[0]}{more}"
        return _row(job, instance, fault=why, seconds=seconds, machine=machine)
    within = allowed is instance
    beyond = f"{plan.vehicles} tours for {instance.vehicles} vehicles"
    row = _row(
        job,
        instance,
        length=plan.length(instance),
        cost_v=plan.cost_v(instance, job.vehicle_cost),
        vehicles=plan.vehicles,
        served=True,
        within=within,
        fault=None if within else beyond,
        seconds=seconds,
        machine=machine,
    )
    trace = _shorten(answer.trace, row.cost or 0.0, seconds)
    return replace(row, trace=trace)


def _row(
    job: Job, instance: Instance, *, seconds: float, machine: str, **found: Any
) -> Row:
    """Return a row for an instance; without what was found, one of a failure."""
    plan = {"length": None, "cost_v": None, "vehicles": None}
    flags = {"served": False, "within": False}
    if fault := found.get("fault"):
        found["fault"] = " ".join(str(fault).split())[:_LONGEST_FAULT]
    return Row(
        set=job.set,
        instance=instance.name,
        method=job.name,
        time_limit=job.time_limit,
        iterations=job.iterations,
        seed=job.seed,
        customers=instance.num_customers,
        fleet=instance.vehicles,
        vehicle_cost=job.vehicle_cost,
        floor=instance.minimum_vehicles,
        seconds=seconds,
        machine=machine,
        objective=job.objective,
        made=job.made,
        **(plan | flags | found),
    )


def _shorten(trace: Trace, final: float, seconds: float) -> Trace:
    """
    Keep the improvements down to the plan's true cost, and nothing below it.

    A trace that never comes to that cost ends with it, when the call ended.
    """
    kept: list[tuple[float, float]] = []
    for moment, cost in trace:
        arrived = cost <= final * (1 + 1e-9)
        better = not kept or cost < kept[-1][1]
        if not (math.isfinite(cost) and better):
            continue
        kept.append((round(moment, 6), final if arrived else float(f"{cost:.9g}")))
        if arrived:
            return tuple(kept)
    return (*kept, (round(seconds, 6), final)) if kept else ()


@functools.cache
def machine_name(gpu: bool = False) -> str:
    """Name of this machine's processor, or of its GPU."""
    if gpu:
        with contextlib.suppress(ImportError, AssertionError, RuntimeError):
            import torch

            return torch.cuda.get_device_name()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
