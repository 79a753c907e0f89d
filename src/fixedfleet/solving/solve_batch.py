"""Plan tours for thousands of instances at once, on all cores or on a GPU."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fixedfleet import wording
from fixedfleet.deadline import Deadline
from fixedfleet.errors import (
    InputError,
    at_least,
    check_choice,
    check_seed,
    check_vehicle_cost,
    check_whole,
)
from fixedfleet.fleet import assess_batch, exact_packing
from fixedfleet.fleet.packing import best_fit_batch
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.interrupts import interrupt_noted, interrupts_deferred
from fixedfleet.plan import PlanBatch
from fixedfleet.progress import ProgressPrinter
from fixedfleet.result import BatchResult
from fixedfleet.search import SEARCHES, improve, load_search, name_of
from fixedfleet.search.construct import (
    StartName,
    complete_plan,
    load_start,
    make_start,
)
from fixedfleet.search.improve import expensive_rows
from fixedfleet.search.task import MIN_SECONDS, PARTS_ABOVE
from fixedfleet.solving.solve import warn_of_ignored_cost
from fixedfleet.solving.stages import Stages
from fixedfleet.workers import Lost, available_cores, check_engine, run_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fixedfleet.plan import Plan
    from fixedfleet.search import Search
    from fixedfleet.workers import Call, Engine

__all__ = ["BatchResult", "solve_batch"]

_log = logging.getLogger("fixedfleet")

# A job of a process is a chunk of instances: at most this many, and at most this work.
_CHUNK_SECONDS, _CHUNK = 0.5, 64
_CLUSTER_CORES = 64  # the chunks for a cluster are sized for this many cores
# Fewest chunks per process, so that all processes end at about the same time.
_CHUNKS = 4
_ATTEMPTS = 2  # a chunk is not searched again when it has killed this many workers


def solve_batch(
    instances: InstanceBatch | Sequence[Instance],
    *,
    time_limit: float | None = None,
    iterations: int | None = None,
    seed: int = 0,
    start: StartName = "packing",
    search: str | Search = "auto",
    vehicle_cost: float = 0.0,
    device: str | None = None,
    cores: int | None = None,
    engine: Engine = "processes",
    display: bool = False,
) -> BatchResult:
    """
    Plan tours for many instances, on all cores, on a Ray cluster or on a GPU.

    An instance whose fleet does not suffice gets no plan, but a reason in the result.
    The other instances are still planned.

    Parameters
    ----------
    instances
        A batch, or instances of any sizes and distances.
    time_limit
        Seconds per instance for everything. The verdicts on the fleets and the initial
        plans are made for the whole batch; their time, divided by the number of
        instances, is subtracted from this limit, and the search of each instance has
        the rest. Each core searches one instance at a time. A GPU searches all
        instances at once, for this time multiplied by their number. Loading compiled
        code and networks, the first time in a process, does not count.
    iterations
        Iterations of the search per instance, instead of a time limit. Then the same
        seed gives the same plans on any number of cores and on a cluster.
    seed
        Seed of the search.
    start
        The initial plans of the search: ``packing``, ``savings``, ``sweep``, or
        ``network``, the plans of the shipped network.
    search
        As for :func:`fixedfleet.solve`. ``auto`` is ``gpu`` if the device is a GPU, and
        ``ruin_recreate`` if iterations are limited.
    vehicle_cost
        As for :func:`fixedfleet.solve`.
    device
        The device of the network: ``cpu`` or ``cuda``. Default: the device of the
        search, which always uses the first GPU.
    cores
        Number of cores to search with, one process each. Default: all cores of this
        machine, or of the cluster.
    engine
        ``processes`` for the cores of this machine, ``ray`` for a cluster; see
        :func:`fixedfleet.labels.label`.
    display
        Whether to print progress and the result.

    Raises
    ------
    InputError
        If an argument is wrong, or if a GPU or cluster was chosen and there is none.
    MissingPackageError
        If the chosen start or search needs a package that is not installed.
    RuntimeError
        If all worker processes were killed. If only some instances killed two of them,
        these keep their initial plans, and a warning says how many they are.
    """
    if search == "auto" and device is not None and device.startswith("cuda"):
        search = "gpu"
    if search == "auto" and iterations is not None:
        search = "ruin_recreate"
    device = device or ("cuda" if search == "gpu" else "cpu")
    _check(start, search, device, engine, time_limit, iterations)
    if cores is not None:
        check_whole("cores", cores, at_least(1))
    check_engine(engine, cores)
    settings = _Settings(
        search=search,
        time_limit=time_limit,
        iterations=iterations,
        seed=check_seed(seed),
        vehicle_cost=check_vehicle_cost(vehicle_cost),
    )
    batch = InstanceBatch.of(instances)
    _load(batch, start, device, settings)
    clock = Deadline()
    progress = _Progress(Stages(clock), vehicle_cost, display)
    with interrupt_noted() as pressed:
        ending = Deadline(stop=pressed)
        verdict = assess_batch(batch, smallest=vehicle_cost > 0, deadline=ending)
        rows = np.flatnonzero(verdict.feasible)
        solvable, packings = batch[rows], verdict.packings[rows]
        lengths = progress.close("fleet", solvable, packings)

        plans = packings
        if start != "packing":
            plans = _initial_plans(start, solvable, packings, device, seed)
            lengths = progress.close(start, solvable, plans)

        if search != "none" and len(solvable):
            if not expensive_rows(vehicle_cost, packings, solvable).all():
                warn_of_ignored_cost(search, vehicle_cost)
            settings = settings.after(clock.elapsed() / len(batch))
            if search == "gpu":
                plans = _on_gpu(solvable, plans, packings, settings, cores, pressed)
            else:
                plans = _on_cores(
                    solvable,
                    plans,
                    packings,
                    settings,
                    progress,
                    cores,
                    engine,
                    pressed,
                )
            lengths = progress.close(name_of(search), solvable, plans)
        interrupted = pressed()

    solved = np.zeros(len(batch), dtype=bool)
    solved[rows] = plans.feasible(solvable)
    everywhere = PlanBatch.gather(len(batch), [(rows, plans.routes)])
    progress.close("check", solvable, plans, lengths)
    solved_lengths = np.full(len(batch), math.inf)
    solved_lengths[rows] = np.where(solved[rows], lengths, math.inf)
    result = BatchResult(
        plans=everywhere,
        statuses=verdict.statuses,
        reasons=verdict.reasons,
        feasible=solved,
        lengths=solved_lengths,
        costs=solved_lengths + vehicle_cost * everywhere.vehicles(),
        stages=tuple(progress.stages.closed),
        vehicle_cost=vehicle_cost,
        interrupted=interrupted,
    )
    progress.say(str(result))
    return result


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """The arguments of :func:`solve_batch` that the search of each instance needs."""

    search: str | Search
    time_limit: float | None
    iterations: int | None
    seed: int
    vehicle_cost: float

    def after(self, seconds: float) -> _Settings:
        """
        Return the settings with a time limit that is shorter by these seconds.

        Settings without a time limit are returned unchanged.
        """
        if self.time_limit is None:
            return self
        left = max(self.time_limit - seconds, MIN_SECONDS)
        return _Settings(**{**vars(self), "time_limit": left})

    def improve(
        self,
        row: int,
        instance: Instance,
        plan: Plan,
        fewest: Plan,
        *,
        cores: int = 1,
        stop: Callable[[], bool] | None = None,
    ) -> Plan:
        """
        Return an improved plan for the instance in this row of the batch.

        ``fewest`` is a plan with as few vehicles as possible.
        """
        return improve(
            instance,
            plan,
            time_limit=self.time_limit,
            iterations=self.iterations,
            stop=stop,
            search=self.search,
            seed=_seed_of(row, self.seed),
            vehicle_cost=self.vehicle_cost,
            fewest=fewest,
            cores=cores,
        ).plan


class _Progress:
    """Prints the progress of a call of :func:`solve_batch`, and records its stages."""

    def __init__(self, stages: Stages, vehicle_cost: float, display: bool) -> None:
        self.stages = stages
        self._vehicle_cost = vehicle_cost
        self._display = display
        self._printer = ProgressPrinter(sys.stdout, in_place=False)

    def close(
        self,
        name: str,
        batch: InstanceBatch,
        plans: PlanBatch,
        lengths: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """
        Close the stage that has made these plans; return the length of each plan.

        Give ``lengths`` if they are known, so that they are not computed again.
        """

        measured = cache(lambda: plans.lengths(batch) if lengths is None else lengths)

        def mean_cost() -> float:
            costs = measured() + self._vehicle_cost * plans.vehicles()
            return float(costs.mean()) if len(costs) else math.inf

        stage = self.stages.close(name, mean_cost)
        self.say(f"{name}: {stage.seconds:.3f} s, mean cost {stage.cost:g}")
        return measured()

    def show(self, text: str) -> None:
        """Print a text and the time of the running stage, but not too often."""
        if self._display:
            self._printer.show(f"{text}, {self.stages.seconds:.1f} s")

    def say(self, text: str) -> None:
        """Print a line, if the user has asked for ``display``."""
        if self._display:
            print(text, flush=True)


# ---------------------------------------------------------------------- the steps


def _load(
    batch: InstanceBatch, start: StartName, device: str, settings: _Settings
) -> None:
    """
    Load all code that the steps need, before the time begins.

    What this process compiles is stored on disk. The processes that search load it from
    there.
    """
    one = Instance(
        depot=(0, 0), customers=[(1, 0)], demands=[1], capacity=1, vehicles=1
    )
    tiny = InstanceBatch.of([one])
    with interrupts_deferred():  # Numba's compiler may lose a KeyboardInterrupt
        packing, _ = best_fit_batch(tiny)
        packing.costs_v(tiny, settings.vehicle_cost)
        packing.feasible(tiny)
        if settings.vehicle_cost or not best_fit_batch(batch)[1].all():
            exact_packing.load()
        if not len(batch):
            return
        # Large instances may need other code than small ones.
        for row in {int(batch.sizes.argmin()), int(batch.sizes.argmax())}:
            load_start(start, batch[row], device=device)
            if settings.search != "none":
                load_search(settings.search, batch[row])
        if settings.search == "gpu":
            from fixedfleet.search.gpu import load_for_batch

            small = batch[batch.sizes <= PARTS_ABOVE]
            load_for_batch(small)
            if settings.vehicle_cost:  # then vehicles may be left out
                load_for_batch(small.with_vehicles(small.minimum_vehicles))


def _initial_plans(
    start: StartName,
    batch: InstanceBatch,
    packings: PlanBatch,
    device: str,
    seed: int,
) -> PlanBatch:
    """
    Return the initial plan of each instance, made by the method ``start``.

    If the method finds no plan for an instance, its plan in ``packings`` is returned.
    ``device`` is the device of the network.
    """
    if start != "network":
        made = {
            row: make_start(start, batch[row], packings[row], seed=_seed_of(row, seed))
            or packings[row]
            for row in range(len(batch))
        }
        return _replace(packings, made)
    from fixedfleet.planning.network_plans import plan_by_network

    plans = plan_by_network(batch, device=device).plans
    incomplete = np.flatnonzero(~plans.feasible(batch)).tolist()
    made = {
        row: complete_plan(batch[row], plans[row], seed=_seed_of(row, seed))
        or packings[row]
        for row in incomplete
    }
    return _replace(plans, made)


def _on_gpu(
    batch: InstanceBatch,
    plans: PlanBatch,
    packings: PlanBatch,
    settings: _Settings,
    cores: int | None,
    pressed: Callable[[], bool],
) -> PlanBatch:
    """
    Improve the plans of all small instances together, then of each large one alone.

    Small instances are searched together, for the time limit per instance times their
    number. Each large instance is searched for the time limit per instance.

    Parameters
    ----------
    batch, plans
        The instances and their initial plans.
    packings
        Plans with as few vehicles as possible.
    settings
        The limits per instance, the seed and the vehicle cost.
    cores
        Number of cores that help the GPU with a large instance; None for all.
    pressed
        Returns whether Ctrl-C was pressed. Then no further search begins, and the
        remaining plans are returned unchanged.
    """
    from fixedfleet.search.gpu import improve_batch

    large = batch.sizes > PARTS_ABOVE
    expensive = expensive_rows(settings.vehicle_cost, packings, batch)
    # If vehicles are expensive, all plans use the fewest vehicles possible. Then the
    # vehicle cost is the same for all plans, and only the length is minimised.
    for vehicle_cost, chosen in (
        (settings.vehicle_cost, ~large & ~expensive),
        (0.0, ~large & expensive),
    ):
        some = np.flatnonzero(chosen)
        if not len(some) or pressed():
            continue
        instances, initial = batch[some], plans[some]
        if vehicle_cost != settings.vehicle_cost:
            fewest = packings[some].vehicles()
            more = initial.vehicles() > fewest
            initial = initial.replace(more, packings[some][more])
            instances = instances.with_vehicles(fewest)
        seconds = settings.time_limit and settings.time_limit * len(some)
        found = improve_batch(
            instances,
            initial,
            deadline=Deadline.of(seconds, settings.iterations),
            seed=settings.seed,
            vehicle_cost=vehicle_cost,
        )
        plans = plans.replace(some, found)
    improved = {}
    for row in np.flatnonzero(large).tolist():
        if pressed():
            break
        improved[row] = settings.improve(
            row, batch[row], plans[row], packings[row], cores=cores or available_cores()
        )
    return _replace(plans, improved)


def _on_cores(
    batch: InstanceBatch,
    plans: PlanBatch,
    packings: PlanBatch,
    settings: _Settings,
    progress: _Progress,
    cores: int | None,
    engine: Engine,
    pressed: Callable[[], bool],
) -> PlanBatch:
    """
    Improve all plans, in one process per core; return the improved plans.

    ``packings`` are plans with as few vehicles as possible.
    """
    available = _CLUSTER_CORES if engine == "ray" else available_cores()
    size = min(_CHUNK, max(1, -(-len(batch) // (_CHUNKS * (cores or available)))))
    if settings.time_limit is not None:
        size = min(size, max(1, int(_CHUNK_SECONDS / settings.time_limit)))
    rows = [slice(begin, begin + size) for begin in range(0, len(batch), size)]
    how: Any = engine
    if engine != "ray":
        cores = min(cores or available, len(rows))
        how = "processes" if cores > 1 else "here"
    found: dict[int, Plan] = {}
    jobs = run_jobs(
        _improve,
        ((some.start, batch[some], plans[some], packings[some]) for some in rows),
        shared=(settings,),
        engine=how,
        processes=cores,
        attempts=_ATTEMPTS,
        ending=pressed,
    )
    lost, reason = 0, ""
    with contextlib.closing(jobs) as events:
        for event in events:
            if isinstance(event, Lost):
                if not event.again:
                    lost, reason = lost + len(event.job[1]), event.reason
                continue
            found.update(event.value)
            progress.show(f"{len(found):,} of {len(plans):,} instances")
    if lost and not found:
        raise RuntimeError(f"{reason} while it searched: no instance was searched")
    if lost:
        left = wording.count(lost, "instance")
        _log.warning(
            "%s while it searched: %s left as planned at the start", reason, left
        )
    return _replace(plans, found)


def _improve(
    chunk: tuple[int, InstanceBatch, PlanBatch, PlanBatch],
    call: Call,
    settings: _Settings,
) -> dict[int, Plan]:
    """
    Return the improved plans of a chunk of the batch, by row.

    ``chunk`` is (its first row in the batch, instances, plans, packings). If the call
    is asked to end early, the rows that have not been searched are missing.
    """
    found = {}
    first, *parts = chunk
    for row, (instance, plan, packing) in enumerate(zip(*parts, strict=True), first):
        if call.ending():
            break
        found[row] = settings.improve(row, instance, plan, packing, stop=call.ending)
    return found


def _replace(plans: PlanBatch, others: dict[int, Plan]) -> PlanBatch:
    """Return a batch in which ``others``, by row, replace the plans of these rows."""
    return plans.replace(list(others), PlanBatch.from_plans(others.values()))


def _seed_of(row: int, seed: int) -> int:
    """Return the seed for the instance in this row of the batch."""
    return (seed + row) % 2**32


def _check(
    start: str,
    search: str | Search,
    device: str,
    engine: str,
    time_limit: float | None,
    iterations: int | None,
) -> None:
    """Raise InputError for a wrong argument, before anything is computed."""
    check_choice("start", start, get_args(StartName))
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise InputError(f"device is {device!r}, not cpu, cuda or cuda:1")
    if search != "none":
        if (time_limit is None) == (iterations is None):
            raise InputError("give either a time limit or a number of iterations")
        Deadline.of(time_limit, iterations)
        SEARCHES.get(search)
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
