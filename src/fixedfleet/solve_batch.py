"""Plan tours for thousands of instances at once, on all cores or on a GPU."""

from __future__ import annotations

import contextlib
import math
import re
import sys
import time
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from fixedfleet.errors import InputError, check_choice
from fixedfleet.fleet import assess_batch
from fixedfleet.instance import InstanceBatch
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.plan import PlanBatch, charge
from fixedfleet.progress import ProgressPrinter
from fixedfleet.result import BatchResult, Stage, with_gains
from fixedfleet.search import Stop, improve
from fixedfleet.search.construct import complete_plan
from fixedfleet.search.method import EXPENSIVE
from fixedfleet.workers import Lost, available_cores, check_engine, run_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Objective, Plan
    from fixedfleet.workers import Call, Engine

__all__ = ["BatchResult", "BatchSearch", "BatchStart", "solve_batch"]

BatchStart = Literal["packing", "network"]
BatchSearch = Literal["auto", "ruin_recreate", "gpu", "none"]

# A process is given at most so many seconds of work, and so many instances, at a time.
_CHUNK_SECONDS, _CHUNK = 0.5, 64
_CLUSTER_CORES = 64  # the chunks for a cluster are sized for this many cores
_CHUNKS = 4  # per process at least, so that all processes end at about the same time


def solve_batch(
    instances: InstanceBatch | Sequence[Instance],
    *,
    time_limit: float | None = None,
    iterations: int | None = None,
    seed: int = 0,
    start: BatchStart = "packing",
    search: BatchSearch = "auto",
    objective: Objective = "length",
    vehicle_cost: float = 0.0,
    device: str | None = None,
    processes: int | None = None,
    engine: Engine = "processes",
    display: bool = False,
) -> BatchResult:
    """
    Plan tours for many instances, on all cores, on a Ray cluster or on a GPU.

    An instance whose fleet does not suffice gets no plan but a reason, and does not
    disturb the others.

    Parameters
    ----------
    instances
        A batch, or instances of any sizes and distances.
    time_limit
        Seconds to search per instance. A core searches for one instance at a time. A
        GPU searches for all at once, for this time multiplied by their number.
    iterations
        Iterations of ruin and recreate per instance, instead of a time limit. Then the
        same seed gives the same plans on any number of cores and on a cluster.
    seed
        Seed of the search.
    start
        What the search starts from: ``packing``, or ``network``, the shipped network's
        plans.
    search
        ``ruin_recreate`` on cores; ``gpu``; ``none``; or ``auto``. The latter is
        ``gpu`` if the device is one, ruin and recreate for a number of iterations, and
        otherwise what measured best for size and time.
    objective
        ``length``, or ``cost-v``: length plus ``vehicle_cost`` for each vehicle used.
    vehicle_cost
        Fixed cost of each vehicle used.
    device
        Where the network predicts: ``cpu`` or ``cuda``. Default: where the search is.
        The search takes the first GPU.
    processes
        Processes to search with, on cores. Default: as many as there are cores, or
        what the cluster has.
    engine
        ``processes`` for the cores of this machine, ``ray`` for a cluster; see
        :func:`fixedfleet.labels.label`.
    display
        Whether to print progress and the result.

    Raises
    ------
    InputError
        If an argument is wrong, or there is no GPU or cluster that is asked for.
    MissingPackageError
        If the chosen start or search needs a package that is not installed.
    """
    if search == "auto" and device is not None and device.startswith("cuda"):
        search = "gpu"
    device = device or ("cuda" if search == "gpu" else "cpu")
    charged = charge(objective, vehicle_cost)
    _check(start, search, device, engine)
    check_engine(engine, processes)
    limit = None
    if search != "none":
        if (time_limit is None) == (iterations is None):
            raise InputError("give either a time limit or a number of iterations")
        limit = Stop(time_limit, iterations=iterations)
    batch = InstanceBatch.of(instances)
    stages = _Stages(charged, display)

    verdict = assess_batch(batch, smallest=charged > 0)
    rows = np.flatnonzero(verdict.feasible)
    solvable, packings = batch[rows], verdict.packings[rows]
    stages.close("fleet", solvable, packings)

    plans, interrupted = packings, False
    if start == "network":
        plans = _predict(solvable, packings, device, seed)
        stages.close(start, solvable, plans)

    if limit is not None:
        if search == "gpu":
            plans, interrupted = _on_gpu(
                solvable, plans, packings, limit, seed, charged
            )
        else:
            shared = search, limit, seed, charged
            plans, interrupted = _over_cores(
                shared, solvable, plans, packings, stages, processes, engine
            )
        stages.close(search, solvable, plans)

    solved = np.zeros(len(batch), dtype=bool)
    solved[rows] = plans.feasible(solvable)
    lengths = np.full(len(batch), math.inf)
    lengths[rows] = np.where(solved[rows], plans.lengths(solvable), math.inf)
    everywhere = PlanBatch.gather(len(batch), [(rows, plans.routes)])
    stages.close("check", solvable, plans)
    result = BatchResult(
        plans=everywhere,
        statuses=verdict.statuses,
        reasons=verdict.reasons,
        feasible=solved,
        lengths=lengths,
        costs_v=lengths + vehicle_cost * everywhere.vehicles(),
        stages=with_gains(stages.closed),
        objective=objective,
        vehicle_cost=vehicle_cost,
        interrupted=interrupted,
    )
    stages.say(str(result))
    return result


# ---------------------------------------------------------------------- the steps


class _Stages:
    """The stages so far, printed as they end; ``charged`` is a vehicle's cost."""

    def __init__(self, charged: float, display: bool) -> None:
        self.closed: list[Stage] = []
        self._charged = charged
        self._display = display
        self._printer = ProgressPrinter(sys.stdout, in_place=False)
        self._begin = time.perf_counter()

    def close(self, name: str, batch: InstanceBatch, plans: PlanBatch) -> None:
        """Close a stage. The time to measure its plans counts for the next one."""
        now = time.perf_counter()
        costs = plans.costs_v(batch, self._charged)
        cost = float(costs.mean()) if len(costs) else math.inf
        self.closed.append(Stage(name, now - self._begin, cost))
        self.say(f"{name}: {now - self._begin:.3f} s, mean cost {cost:g}")
        self._begin = now

    def progress(self, text: str) -> None:
        """Print how far the stage is, now and then."""
        if self._display:
            self._printer.show(f"{text}, {time.perf_counter() - self._begin:.1f} s")

    def say(self, text: str) -> None:
        """Print a line if wanted."""
        if self._display:
            print(text, flush=True)


def _predict(
    batch: InstanceBatch, packings: PlanBatch, device: str, seed: int
) -> PlanBatch:
    """Let a network plan; complete its plans, or take the packing if that fails."""
    from fixedfleet.planning.network_plans import plan_by_network

    plans = plan_by_network(batch, device=device).plans
    completed = {
        row: complete_plan(batch[row], plans[row], seed=seed + row) or packings[row]
        for row in np.flatnonzero(~plans.feasible(batch)).tolist()
    }
    return _replace(plans, completed)


def _on_gpu(
    batch: InstanceBatch,
    plans: PlanBatch,
    packings: PlanBatch,
    limit: Stop,
    seed: int,
    charged: float,
) -> tuple[PlanBatch, bool]:
    """
    Improve all plans at once; also return whether Ctrl-C ended it.

    Large instances follow one after the other, each for the limit per instance.
    """
    from fixedfleet.search.gpu import improve_batch
    from fixedfleet.search.gpu_arrays import FAST_NODES, count_nodes

    # If a vehicle is expensive, no plan may use more than the smallest number.
    expensive = (charged > 0) & (charged >= EXPENSIVE * packings.lengths(batch))
    if expensive.any():
        fewest = packings.vehicles()
        rows = expensive & (plans.vehicles() > fewest)
        plans = plans.replace(rows, packings[rows])
        batch = batch.with_vehicles(np.where(expensive, fewest, batch.vehicles))
    large = count_nodes(batch) > FAST_NODES
    stop = limit.again()
    if not large.all():
        if limit.iterations is None:
            stop = Stop(limit.seconds * int(np.sum(~large)))
        found = improve_batch(
            batch[~large], plans[~large], stop=stop, seed=seed, vehicle_cost=charged
        )
        plans = plans.replace(~large, found)
    for row in np.flatnonzero(large).tolist():
        if stop.interrupted:
            break
        stop = limit.again()
        better = improve(
            batch[row],
            plans[row],
            stop=stop,
            search="gpu",
            seed=seed + row,
            vehicle_cost=charged,
            cores=available_cores(),
        )
        plans = _replace(plans, {row: better.plan})
    return plans, stop.interrupted


def _over_cores(
    shared: tuple[str, Stop, int, float],
    batch: InstanceBatch,
    plans: PlanBatch,
    packings: PlanBatch,
    stages: _Stages,
    processes: int | None,
    engine: Engine | Literal["here"],
) -> tuple[PlanBatch, bool]:
    """Improve all plans in processes; also return whether Ctrl-C ended it."""
    workers = _CLUSTER_CORES if engine == "ray" else available_cores()
    size = min(_CHUNK, max(1, -(-len(batch) // (_CHUNKS * (processes or workers)))))
    if (seconds := shared[1].seconds) < math.inf:
        size = min(size, max(1, int(_CHUNK_SECONDS / seconds)))
    rows = [slice(begin, begin + size) for begin in range(0, len(batch), size)]
    if engine != "ray":
        processes = min(processes or workers, len(rows))
        engine = "processes" if processes > 1 else "here"
    found: dict[int, Plan] = {}
    with interrupt_noted() as pressed:
        jobs = run_jobs(
            _improve,
            ((some.start, batch[some], plans[some], packings[some]) for some in rows),
            shared=shared,
            engine=engine,
            processes=processes,
            ending=pressed,
        )
        with contextlib.closing(jobs) as events:
            for event in events:
                if isinstance(event, Lost):
                    raise RuntimeError(f"{event.reason} while it searched")
                found.update(event.value)
                stages.progress(f"{len(found):,} of {len(plans):,} instances")
        return _replace(plans, found), pressed()


def _replace(plans: PlanBatch, others: dict[int, Plan]) -> PlanBatch:
    """Return plans with others in some rows."""
    return plans.replace(list(others), PlanBatch.from_plans(others.values()))


def _improve(
    chunk: tuple[int, InstanceBatch, PlanBatch, PlanBatch],
    call: Call,
    search: str,
    limit: Stop,
    seed: int,
    charged: float,
) -> dict[int, Plan]:
    """
    Return better plans by row, as many as are found before the call ends.

    A chunk is its first row in the batch, its instances, their plans and packings.
    """
    found = {}
    first, *parts = chunk
    for row, (instance, plan, packing) in enumerate(zip(*parts, strict=True), first):
        if call.ending():
            break
        found[row] = improve(
            instance,
            plan,
            stop=limit.again(asked=call.ending),
            search=search if limit.iterations is None else "ruin_recreate",
            seed=seed + row,
            vehicle_cost=charged,
            fewest=packing,
        ).plan
    return found


def _check(start: str, search: str, device: str, engine: str) -> None:
    """Raise InputError for a wrong argument, before anything is computed."""
    check_choice("start", start, get_args(BatchStart))
    check_choice("search", search, get_args(BatchSearch))
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise InputError(f"device is {device!r}, not cpu, cuda or cuda:1")
    if search == "gpu":
        from fixedfleet.search.gpu import require_gpu

        if engine == "ray":
            raise InputError(
                "the search gpu takes the GPU of this machine: leave Ray out"
            )
        require_gpu()
    if start == "network":
        from fixedfleet.model.devices import check_device

        check_device(device)
