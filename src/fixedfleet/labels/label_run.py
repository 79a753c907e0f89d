"""A labelling run: from instances and a teacher to a folder of shards."""

from __future__ import annotations

import contextlib
import json
import logging
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import (
    InputError,
    MissingPackageError,
    at_least,
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
from fixedfleet.plan import PlanBatch, pad_routes
from fixedfleet.progress import Progress
from fixedfleet.workers import Done, Lost, available_cores, check_engine, run_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.labels.teacher import Teacher
    from fixedfleet.workers import Call, Engine, Event

__all__ = ["LabelSummary", "LabellingError", "label"]

_log = logging.getLogger(__name__)

# A kill loses the shards that are running: few rows of a slow teacher, many of a fast
# one. With 16 shards per process all processes finish at about the same time.
_SHARD_SIZE, _SHARD_SIZE_GPU = 64, 10_000
_SHARDS_PER_PROCESS = 16
_ATTEMPTS = 2  # workers that may die over one shard


class LabellingError(RuntimeError):
    """The run ended early: the teacher failed, or workers died repeatedly."""


@dataclass(frozen=True)
class LabelSummary:
    """
    What a folder of labels holds after a run.

    Attributes
    ----------
    folder
        The folder.
    count
        Number of instances.
    labelled
        Instances with a label.
    no_plan
        Instances for which the teacher found no plan.
    infeasible
        Instances for which the teacher's plan was infeasible.
    new
        Instances that this run gave to the teacher.
    seconds
        Wall time of this run.
    """

    folder: Path
    count: int
    labelled: int
    no_plan: int
    infeasible: int
    new: int
    seconds: float

    def __str__(self) -> str:
        parts = [f"{self.labelled:,} of {self.count:,} instances labelled"]
        if self.no_plan:
            parts.append(f"{self.no_plan:,} without a plan")
        if self.infeasible:
            parts.append(f"{self.infeasible:,} with an infeasible plan, not kept")
        return f"{', '.join(parts)} ({self.new:,} new in {self.seconds:.1f} s)"


def label(
    batch: InstanceBatch,
    folder: str | os.PathLike[str],
    *,
    teacher: Teacher,
    shard_size: int | None = None,
    processes: int | None = None,
    engine: Engine = "processes",
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> LabelSummary:
    """
    Label instances into a folder of shards, or resume a run that was ended.

    Parameters
    ----------
    batch
        The instances, all of one size.
    folder
        Where the shards go. A folder that holds a part of the same labels is
        completed; a folder that holds other labels is refused.
    teacher
        Makes the plans; see :func:`get_teacher`.
    shard_size
        Instances per shard. Default: that of the folder; for a new one 64, or fewer if
        there are few instances per process, and 10,000 for a teacher on a GPU.
    processes
        Number of processes. Default: one per core, or what the cluster has room for;
        one for a teacher on a GPU.
    engine
        ``processes`` for the cores of this machine; ``ray`` for the cluster that this
        process is connected to, or that the environment variable ``RAY_ADDRESS`` names.
    seed
        The seed of each instance derives from this and the instance's row, so that
        neither the number of processes nor the shards change the labels.
    progress
        Called when the run begins and as instances are done.

    Raises
    ------
    InputError
        If an argument is wrong, or the folder holds other labels.
    LabellingError
        If the teacher fails or workers keep dying. Finished shards are kept, also on
        Ctrl-C and when the run is killed.
    """
    begin = time.monotonic()
    if not len(batch):
        raise InputError("there are no instances to label")
    batch.require_plain("a folder of labels")
    check_engine(engine, processes)
    if shard_size is not None:
        check_whole("shard_size", shard_size, at_least(1))
    seed = check_seed(seed)
    path = Path(folder)
    with locked(path):
        shards = LabelFolder(
            path,
            count=len(batch),
            customers=batch.num_customers,
            instances=fingerprint(batch),
            teacher=teacher.name,
            # Through JSON and back, so that a tuple equals the list it is read as.
            settings=json.loads(json.dumps(dict(teacher.settings()))),
            seed=seed,
            shard_size=shard_size or _shard_size(path, batch, teacher, processes),
        )
        shards.set_up(batch)
        counts = np.zeros(3, dtype=np.int64)  # rows of each status
        for index in shards.finished():
            counts += np.bincount(shards.read_shard(index)[1], minlength=3)
        found = int(counts.sum())

        def report(done: int) -> None:
            if progress is not None:
                seconds = time.monotonic() - begin
                progress(Progress(done, len(batch), found, seconds))

        report(found)
        if found < len(batch):
            if processes is None and teacher.on_gpu and engine == "processes":
                processes = 1
            events = run_jobs(
                label_shard,
                _missing(shards, batch),
                shared=(teacher,),
                engine=engine,
                processes=processes,
                attempts=_ATTEMPTS,
                gpus_for=lambda _shard: 1 if teacher.on_gpu else 0,
            )
            with contextlib.closing(events):  # Ctrl-C ends the workers at once
                _follow(events, shards, counts, report)
    return LabelSummary(
        folder=path,
        count=len(batch),
        labelled=int(counts[LABELLED]),
        no_plan=int(counts[NO_PLAN]),
        infeasible=int(counts[INFEASIBLE]),
        new=int(counts.sum()) - found,
        seconds=time.monotonic() - begin,
    )


def _follow(
    events: Iterator[Event],
    shards: LabelFolder,
    counts: NDArray[np.int64],
    report: Callable[[int], None],
) -> None:
    """Write shards as they are finished, and add their rows to the counts."""
    running: dict[int, int] = {}  # rows done of each shard that is running
    for event in events:
        shard = event.job.index
        running.pop(shard, None)
        if isinstance(event, Done):
            shards.write_shard(shard, event.value)
            counts += np.bincount(event.value["status"], minlength=3)
        elif isinstance(event, Lost):
            if not event.again:
                raise LabellingError(
                    f"{event.reason} on {event.job}, as another one did before: this "
                    "shard is not labelled; finished shards are kept"
                )
            _log.warning("%s on %s, which is tried again", event.reason, event.job)
        else:
            running[shard] = event.value
        report(int(counts.sum()) + sum(running.values()))


def _shard_size(
    path: Path, batch: InstanceBatch, teacher: Teacher, processes: int | None
) -> int:
    """Return the shard size of the folder, or one that suits a new run."""
    if (path / "manifest.json").exists():
        return LabelFolder.read(path).shard_size
    if teacher.on_gpu:
        return _SHARD_SIZE_GPU
    shards = _SHARDS_PER_PROCESS * (processes or available_cores())
    return max(1, min(_SHARD_SIZE, len(batch) // shards))


# ----------------------------------------------------------------- the work of a worker


@dataclass(frozen=True)
class _Shard:
    """The instances of one shard; ``first`` is the row of its first one."""

    index: int
    first: int
    batch: InstanceBatch
    seed: int

    def __str__(self) -> str:
        last = self.first + len(self.batch) - 1
        return f"shard {self.index} (rows {self.first} to {last})"

    def seeds(self, rows: slice) -> NDArray[np.int64]:
        """Return seeds below 2³¹ that depend only on the seed and each row's number."""
        numbers = range(self.first + rows.start, self.first + rows.stop)
        sequences = (np.random.SeedSequence((self.seed, row)) for row in numbers)
        states = (int(sequence.generate_state(1)[0]) for sequence in sequences)
        return np.array([state >> 1 for state in states], dtype=np.int64)


def _missing(folder: LabelFolder, batch: InstanceBatch) -> Iterator[_Shard]:
    """Yield the shards that have no file yet."""
    finished = set(folder.finished())
    for index in range(folder.num_shards):
        if index not in finished:
            rows = folder.rows(index)
            yield _Shard(index, rows.start, batch[rows], folder.seed)


def label_shard(shard: _Shard, call: Call, teacher: Teacher) -> dict[str, Any]:
    """
    Return the arrays of a shard's file, and send the number done after each step.

    Raises
    ------
    LabellingError
        If the teacher raises, or its answer has the wrong shape. Errors that a user can
        correct (InputError, MissingPackageError) are raised as they are.
    """
    size = len(shard.batch)
    # A teacher on a GPU takes all rows at once, any other one row, to time each.
    step = size if teacher.on_gpu else 1
    claimed = np.zeros(size, dtype=bool)
    seconds = np.zeros(size, dtype=np.float32)
    parts = []
    for start in range(0, size, step):
        rows = slice(start, min(start + step, size))
        begin = time.perf_counter()
        routes, claimed[rows] = _ask(teacher, shard, rows)
        seconds[rows] = (time.perf_counter() - begin) / (rows.stop - rows.start)
        valid = (routes >= 0).all(axis=1) & claimed[rows]
        parts.append((rows, np.where(valid[:, None], routes, 0)))
        call.send(rows.stop)
    plans = PlanBatch.gather(size, parts)
    labelled = plans.feasible(shard.batch) & claimed
    status = np.where(claimed, INFEASIBLE, NO_PLAN).astype(np.uint8)
    status[labelled] = LABELLED
    kept = _compact(np.where(labelled[:, None], plans.routes, 0))
    return {
        "routes": kept.astype(np.min_scalar_type(shard.batch.num_customers)),
        "labelled": labelled,
        "status": status,
        "seconds": seconds,
    }


def _ask(
    teacher: Teacher, shard: _Shard, rows: slice
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the teacher's routes and which of them it claims to be plans."""
    first, last = shard.first + rows.start, shard.first + rows.stop - 1
    where = f"teacher {teacher.name!r} on rows {first} to {last}"
    batch = shard.batch[rows]
    try:
        answer = teacher.label_many(batch, shard.seeds(rows))
    except (InputError, MissingPackageError):
        raise
    except Exception as error:
        failure = LabellingError(f"{where} failed: {error!r} ({place_of(error)})")
        failure.add_note(traceback.format_exc())  # the cause is lost between processes
        raise failure from error
    routes, claimed = np.asarray(answer[0]), np.asarray(answer[1])
    kinds = routes.dtype.kind in "iu" and claimed.dtype.kind == "b"
    shapes = routes.ndim == 2 and claimed.shape == routes.shape[:1] == (len(batch),)
    if not (kinds and shapes):
        raise LabellingError(
            f"{where} gave routes of {routes.dtype} of shape {routes.shape} and "
            f"labelled of {claimed.dtype} of shape {claimed.shape}, not whole numbers "
            f"of shape ({len(batch)}, L) and bool of shape ({len(batch)},)"
        )
    return routes.astype(np.int64), claimed


def _compact(routes: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
    """Return routes in as few columns as they need, with the 0 that ends a tour."""
    used = np.flatnonzero(routes.any(axis=0))
    width = int(used[-1]) + 2 if len(used) else 0
    return pad_routes(routes, width)[:, :width]
