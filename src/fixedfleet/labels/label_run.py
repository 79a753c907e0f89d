"""A labelling run: from instances and a teacher to a folder of shards."""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError, at_least, check_seed, check_whole
from fixedfleet.labels.folder import LabelFolder, Manifest, locked
from fixedfleet.labels.shard import (
    INFEASIBLE,
    LABELLED,
    NO_PLAN,
    LabellingError,
    ShardLabels,
    label_shard,
)
from fixedfleet.progress import Progress
from fixedfleet.workers import Done, Lost, available_cores, check_engine, run_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.labels.teacher import Teacher
    from fixedfleet.workers import Engine, Event

__all__ = ["LabelSummary", "label"]

_log = logging.getLogger(__name__)

# A kill loses the shards that are running: few rows of a slow teacher, many of a fast
# one. With 16 shards per process all processes finish at about the same time.
_SHARD_SIZE, _SHARD_SIZE_GPU = 64, 10_000
_SHARDS_PER_PROCESS = 16
_ATTEMPTS = 2  # workers that may die over one shard


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
        size = shard_size or _shard_size(path, batch, teacher, processes)
        shards = LabelFolder.create(
            path, batch, Manifest.of(batch, teacher, seed, size)
        )
        shards.remove_leftovers()
        writer = _ShardWriter(shards, begin, progress)
        if processes is None and teacher.on_gpu and engine == "processes":
            processes = 1
        events = run_jobs(
            label_shard,
            shards.missing(batch),
            shared=(teacher,),
            engine=engine,
            processes=processes,
            attempts=_ATTEMPTS,
            gpus_for=lambda _shard: 1 if teacher.on_gpu else 0,
        )
        if writer.done < len(batch):
            with contextlib.closing(events):  # Ctrl-C ends the workers at once
                writer.follow(events)
        return writer.summary()


class _ShardWriter:
    """Writes shards as they are finished, and counts rows."""

    def __init__(
        self,
        folder: LabelFolder,
        begin: float,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.folder, self.begin, self.progress = folder, begin, progress
        self.counts = np.zeros(3, dtype=np.int64)  # rows of each status
        self.running: dict[int, int] = {}  # rows done of each shard that is running
        for shard in folder.finished():
            self._count(shard, folder.read_shard(shard))
        self.found = self.done
        self._report()

    @property
    def done(self) -> int:
        """Rows of all finished shards."""
        return int(self.counts.sum())

    def follow(self, events: Iterator[Event]) -> None:
        for event in events:
            shard = event.job.index
            if isinstance(event, Done):
                self.folder.write_shard(shard, event.value)
                self._count(shard, event.value)
            elif isinstance(event, Lost):
                _warn(event)
                self.running.pop(shard, None)
            else:
                self.running[shard] = event.value
            self._report()

    def _count(self, shard: int, labels: ShardLabels) -> None:
        self.running.pop(shard, None)
        self.counts += np.bincount(labels.status, minlength=3)

    def _report(self) -> None:
        if self.progress is not None:
            done = self.done + sum(self.running.values())
            seconds = time.monotonic() - self.begin
            total = self.folder.manifest.count
            self.progress(Progress(done, total, self.found, seconds))

    def summary(self) -> LabelSummary:
        return LabelSummary(
            folder=self.folder.path,
            count=self.folder.manifest.count,
            labelled=int(self.counts[LABELLED]),
            no_plan=int(self.counts[NO_PLAN]),
            infeasible=int(self.counts[INFEASIBLE]),
            new=self.done - self.found,
            seconds=time.monotonic() - self.begin,
        )


def _warn(lost: Lost) -> None:
    """Warn of a worker that died; raise LabellingError if its shard is given up."""
    if not lost.again:
        raise LabellingError(
            f"{lost.reason} on {lost.job}, as another one did before: this shard is "
            "not labelled; finished shards are kept"
        )
    _log.warning("%s on %s, which is tried again", lost.reason, lost.job)


def _shard_size(
    path: Path, batch: InstanceBatch, teacher: Teacher, processes: int | None
) -> int:
    """Return the shard size of the folder, or one that suits a new run."""
    if (path / "manifest.json").exists():
        return LabelFolder.read(path).manifest.shard_size
    if teacher.on_gpu:
        return _SHARD_SIZE_GPU
    shards = _SHARDS_PER_PROCESS * (processes or available_cores())
    return max(1, min(_SHARD_SIZE, len(batch) // shards))
