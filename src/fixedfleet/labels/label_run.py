"""Label instances: let a method plan them, and write the plans to a folder."""

from __future__ import annotations

import contextlib
import logging
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fixedfleet.errors import (
    InputError,
    MissingPackageError,
    above,
    at_least,
    check_number,
    check_seed,
    check_whole,
    place_of,
)
from fixedfleet.labels.label_files import (
    INFEASIBLE,
    LABELLED,
    NO_PLAN,
    LabelFolder,
    fingerprint,
    locked,
)
from fixedfleet.plan import Plan, PlanBatch, pad_routes
from fixedfleet.progress import Progress
from fixedfleet.registry import source_hash
from fixedfleet.workers import Done, Lost, available_cores, check_engine, run_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.workers import Call, Engine, Event

__all__ = ["LabelSummary", "LabellingError", "Planner", "label"]

_log = logging.getLogger(__name__)

# If a run is killed, its unfinished shards are lost. So a shard of a slow method has
# few instances. With 16 shards per process, all processes finish at about the same
# time.
_SHARD_SIZE, _SHARD_SIZE_GPU = 64, 10_000
_SHARDS_PER_PROCESS = 16
_ATTEMPTS = 2  # the run fails when this many workers have died in the same shard


class LabellingError(RuntimeError):
    """
    A labelling run ended early: the method failed, or worker processes died repeatedly.
    """


@dataclass(frozen=True)
class LabelSummary:
    """
    The contents of a folder of labels after a run, in numbers.

    Attributes
    ----------
    folder
        The folder.
    count
        The number of all instances.
    labelled
        The number of instances with a label.
    no_plan
        The number of instances for which the method found no plan.
    infeasible
        The number of instances for which the method's plan was infeasible.
    proven
        The number of labels that are proven optimal. It is 0 unless the method has the
        option ``prove=yes``.
    new
        The number of instances that were planned in this run, not in an earlier one.
    seconds
        Wall time of this run, in seconds.
    """

    folder: Path
    count: int
    labelled: int
    no_plan: int
    infeasible: int
    proven: int
    new: int
    seconds: float

    def __str__(self) -> str:
        parts = [f"{self.labelled:,} of {self.count:,} instances labelled"]
        if self.proven:
            parts.append(f"{self.proven:,} proven optimal")
        if self.no_plan:
            parts.append(f"{self.no_plan:,} without a plan")
        if self.infeasible:
            parts.append(f"{self.infeasible:,} with an infeasible plan, not kept")
        return f"{', '.join(parts)} ({self.new:,} new in {self.seconds:.1f} s)"


class Planner(Protocol):
    """
    The interface of a method that :func:`label` can use.

    Every :class:`fixedfleet.evaluate.Method` has this interface.

    Attributes
    ----------
    name
        The name of the method, for the manifest.
    batch
        The largest number of instances per call of ``solve``.
    on_gpu
        Whether the method runs on a GPU, and therefore in one process.
    limits
        The kinds of limit that the method accepts: ``time`` and ``iterations``.
    """

    @property
    def name(self) -> str: ...

    @property
    def batch(self) -> int: ...

    @property
    def on_gpu(self) -> bool: ...

    @property
    def limits(self) -> Sequence[str]: ...

    def check(self) -> None:
        """Raise an error if the method cannot run here."""

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> Sequence[Any]:
        """
        Return one answer per instance.

        The ``plan`` of an answer is a plan or None. Its ``details``, if it has any, may
        contain ``lower_bound`` and ``is_optimal``, as the details of a method with
        ``prove=yes`` do.
        """


def label(
    batch: InstanceBatch,
    folder: str | os.PathLike[str],
    *,
    method: Planner,
    time_limit: float | None = None,
    iterations: int | None = None,
    shard_size: int | None = None,
    processes: int | None = None,
    engine: Engine = "processes",
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> LabelSummary:
    """
    Plan all instances by a method and write the plans to a folder of labels.

    A run that was interrupted is resumed by the same call.

    Parameters
    ----------
    batch
        The instances, all of one size.
    folder
        The folder for the labels. If it holds some of the same labels, the missing ones
        are added. If it holds other labels, InputError is raised.
    method
        The method that plans: the result of :func:`fixedfleet.evaluate.get_method` for
        a spec such as ``packing+ruin_recreate``, or a method of your own.
    time_limit, iterations
        The limit per instance, in seconds or in iterations. Give the kind of limit that
        the method accepts. With iterations, the labels are the same on every machine.
    shard_size
        Instances per shard. Default: that of an existing folder. For a new folder 64,
        or fewer if there are few instances per process, and 10,000 for a method on a
        GPU.
    processes
        Number of processes. Default: one per core, or as many as the cluster can run;
        one for a method on a GPU.
    engine
        ``processes`` for the cores of this machine; ``ray`` for the cluster that this
        process is connected to, or that the environment variable ``RAY_ADDRESS`` names.
    seed
        Seed of the run. The seed of an instance is computed from it and the instance's
        number. So the labels do not depend on the number of processes or on the shards.
    progress
        Called with the progress when the run begins and whenever instances are done.

    Raises
    ------
    InputError
        If an argument is wrong, or the folder holds other labels.
    LabellingError
        If the method fails, or if worker processes die repeatedly. Finished shards are
        kept; they are also kept if the run is interrupted by Ctrl-C or killed.
    """
    begin = time.monotonic()
    if not len(batch):
        raise InputError("there are no instances to label")
    batch.require_plain("a folder of labels")
    check_engine(engine, processes)
    if shard_size is not None:
        check_whole("shard_size", shard_size, at_least(1))
    seed = check_seed(seed)
    limits = _check_limits(method, time_limit, iterations)
    if getattr(method, "objective", "length") != "length":
        raise InputError(
            "labels are the shortest plans: leave objective=cost-v out of the method"
        )
    method.check()
    path = Path(folder)
    with locked(path):
        shards = LabelFolder(
            path,
            count=len(batch),
            customers=batch.num_customers,
            instances=fingerprint(batch),
            method=method.name,
            settings=limits | _source(method),
            seed=seed,
            shard_size=shard_size or _shard_size(path, batch, method, processes),
        )
        shards.set_up(batch)
        counts: Counter[str] = Counter()
        for index in shards.finished():
            counts.update(_count(shards.read_shard(index)))
        found = counts["rows"]

        def report(done: int) -> None:
            if progress is not None:
                seconds = time.monotonic() - begin
                progress(Progress(done, len(batch), found, seconds))

        report(found)
        if found < len(batch):
            if processes is None and method.on_gpu and engine == "processes":
                processes = 1
            events = run_jobs(
                label_shard,
                _missing(shards, batch),
                shared=(method, limits),
                engine=engine,
                processes=processes,
                attempts=_ATTEMPTS,
                gpus_for=lambda _shard: 1 if method.on_gpu else 0,
            )
            with contextlib.closing(events):  # Ctrl-C ends the workers at once
                _follow(events, shards, counts, report)
    return LabelSummary(
        folder=path,
        count=len(batch),
        labelled=counts["labelled"],
        no_plan=counts["no_plan"],
        infeasible=counts["infeasible"],
        proven=counts["proven"],
        new=counts["rows"] - found,
        seconds=time.monotonic() - begin,
    )


def _check_limits(
    method: Planner, time_limit: float | None, iterations: int | None
) -> dict[str, float | int]:
    """
    Return the limit as {"time_limit": seconds} or {"iterations": number}.

    The result is empty if the method accepts no limit. InputError is raised if the
    given limits do not suit the method.
    """
    limits: dict[str, float | int] = {}
    if time_limit is not None:
        limits["time_limit"] = check_number("time limit", time_limit, above(0))
    if iterations is not None:
        limits["iterations"] = check_whole("iterations", iterations, at_least(1))
    known = {"time": "time_limit", "iterations": "iterations"}
    taken = [known[kind] for kind in method.limits]
    wrong = [name for name in limits if name not in taken]
    if wrong or len(limits) > 1 or (taken and not limits):
        raise InputError(
            f"the method {method.name!r} takes {' or '.join(taken) or 'no limit'}, and "
            f"was given {' and '.join(limits) or 'none'}"
        )
    return limits


def _source(method: Planner) -> dict[str, str]:
    """
    Return ``{"source": hash}`` for a user-defined method, otherwise an empty dict.
    """
    found = source_hash(method)
    return {"source": found} if found else {}


def _follow(
    events: Iterator[Event],
    shards: LabelFolder,
    counts: Counter[str],
    report: Callable[[int], None],
) -> None:
    """
    Write each shard that the worker processes finish, and report the progress.

    ``counts`` has the number of instances of each status; it is updated in place.
    ``report`` is called with the number of instances done. LabellingError is raised if
    worker processes die repeatedly on a shard.
    """
    running: dict[int, int] = {}  # instances done in each unfinished shard
    for event in events:
        shard = event.job.index
        running.pop(shard, None)
        if isinstance(event, Done):
            shards.write_shard(shard, event.value)
            counts.update(_count(event.value))
        elif isinstance(event, Lost):
            if not event.again:
                raise LabellingError(
                    f"{event.reason} on {event.job}, as another one did before: this "
                    "shard is not labelled; finished shards are kept"
                )
            _log.warning("%s on %s, which is tried again", event.reason, event.job)
        else:
            running[shard] = event.value
        report(counts["rows"] + sum(running.values()))


def _count(shard: Mapping[str, NDArray[Any]]) -> Counter[str]:
    """
    Return how many instances a shard has, in total and of each status.

    The keys are ``rows`` for the total, ``labelled``, ``no_plan``, ``infeasible`` and
    ``proven``.
    """
    status = shard["status"]
    return Counter(
        rows=len(status),
        labelled=int((status == LABELLED).sum()),
        no_plan=int((status == NO_PLAN).sum()),
        infeasible=int((status == INFEASIBLE).sum()),
        proven=int(shard["proven"].sum()) if "proven" in shard else 0,
    )


def _shard_size(
    path: Path, batch: InstanceBatch, method: Planner, processes: int | None
) -> int:
    """Return the shard size of an existing folder, or the default of a new folder."""
    if (path / "manifest.json").exists():
        return LabelFolder.read(path).shard_size
    if method.on_gpu:
        return _SHARD_SIZE_GPU
    shards = _SHARDS_PER_PROCESS * (processes or available_cores())
    return max(1, min(_SHARD_SIZE, len(batch) // shards))


# ----------------------------------------------------------------- the work of a worker


@dataclass(frozen=True)
class _Shard:
    """
    The instances of one shard, which a worker process plans.

    ``index`` is the number of the shard, ``first`` the number of its first instance in
    the whole batch, and ``seed`` the seed of the run.
    """

    index: int
    first: int
    batch: InstanceBatch
    seed: int

    def __str__(self) -> str:
        last = self.first + len(self.batch) - 1
        return f"shard {self.index} (rows {self.first} to {last})"

    def seeds(self, rows: slice) -> NDArray[np.int64]:
        """
        Return the seeds of some instances of the shard, below 2³¹.

        A seed only depends on the run's seed and the instance's number in the batch.
        """
        numbers = range(self.first + rows.start, self.first + rows.stop)
        sequences = (np.random.SeedSequence((self.seed, row)) for row in numbers)
        states = (int(sequence.generate_state(1)[0]) for sequence in sequences)
        return np.array([state >> 1 for state in states], dtype=np.int64)


def _missing(folder: LabelFolder, batch: InstanceBatch) -> Iterator[_Shard]:
    """Yield the shards of a folder that have no file yet."""
    finished = set(folder.finished())
    for index in range(folder.num_shards):
        if index not in finished:
            rows = folder.rows(index)
            yield _Shard(index, rows.start, batch[rows], folder.seed)


def label_shard(
    shard: _Shard, call: Call, method: Planner, limits: Mapping[str, Any]
) -> dict[str, Any]:
    """
    Plan the instances of a shard in a worker process; return the arrays of its file.

    After each call of the method, the number of instances done so far in this shard is
    sent to the main process.

    Raises
    ------
    LabellingError
        If the method raises an error or returns a wrong number of answers. InputError
        and MissingPackageError, which a user can correct, are raised unchanged.
    """
    size, step = len(shard.batch), max(1, method.batch)
    claimed = np.zeros(size, dtype=bool)
    seconds = np.zeros(size, dtype=np.float32)
    bounds = np.full(size, np.nan)
    proven = np.zeros(size, dtype=bool)
    parts = []
    for start in range(0, size, step):
        rows = slice(start, min(start + step, size))
        begin = time.perf_counter()
        answers = _ask(method, limits, shard, rows)
        seconds[rows] = (time.perf_counter() - begin) / (rows.stop - rows.start)
        claimed[rows] = [plan is not None for plan, _ in answers]
        bounds[rows] = [details.get("lower_bound", np.nan) for _, details in answers]
        proven[rows] = [details.get("is_optimal", 0) == 1 for _, details in answers]
        routes = PlanBatch.from_plans(plan or Plan([]) for plan, _ in answers).routes
        parts.append((rows, routes))
        call.send(rows.stop)
    found = PlanBatch.gather(size, parts)
    labelled = found.feasible(shard.batch) & claimed
    status = np.where(claimed, INFEASIBLE, NO_PLAN).astype(np.uint8)
    status[labelled] = LABELLED
    kept = _compact(np.where(labelled[:, None], found.routes, 0))
    proofs = {"lower_bound": bounds, "proven": proven & labelled}
    return {
        "routes": kept.astype(np.min_scalar_type(shard.batch.num_customers)),
        "labelled": labelled,
        "status": status,
        "seconds": seconds,
        **({} if np.isnan(bounds).all() else proofs),
    }


def _ask(
    method: Planner, limits: Mapping[str, Any], shard: _Shard, rows: slice
) -> list[tuple[Plan | None, Mapping[str, float]]]:
    """
    Call the method for some rows of a shard; return the plan and details of each row.

    The plans are not checked yet. For the errors see :func:`label_shard`.
    """
    first, last = shard.first + rows.start, shard.first + rows.stop - 1
    where = f"method {method.name!r} on rows {first} to {last}"
    instances = list(shard.batch[rows])
    try:
        # A call for several instances gets the seed of the first one.
        seed = int(shard.seeds(rows)[0])
        answers = [
            (answer.plan, getattr(answer, "details", {}))
            for answer in method.solve(instances, **limits, seed=seed)
        ]
    except (InputError, MissingPackageError):
        raise
    except Exception as error:
        failure = LabellingError(f"{where} failed: {error!r} ({place_of(error)})")
        failure.add_note(traceback.format_exc())  # pickling loses the cause
        raise failure from error
    if len(answers) != len(instances):
        raise LabellingError(f"{where} gave {len(answers)} answers")
    return answers


def _compact(routes: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """
    Return the routes without the trailing columns that are 0 in all rows.

    One of these columns is kept: the 0 that ends the last tour of the longest row.
    """
    used = np.flatnonzero(routes.any(axis=0))
    width = int(used[-1]) + 2 if len(used) else 0
    return pad_routes(routes, width)[:, :width]
