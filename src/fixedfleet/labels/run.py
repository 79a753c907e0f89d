"""A labelling run: instances, a teacher and an engine into a folder of shards."""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from fixedfleet.errors import InputError, check_whole
from fixedfleet.labels.job import (
    INFEASIBLE,
    LABELLED,
    NO_PLAN,
    LabellingError,
    Labels,
    label_job,
)
from fixedfleet.labels.shards import LabelFolder, Manifest, locked
from fixedfleet.progress import Progress, ProgressCallback
from fixedfleet.workers import Answer, Engine, Event, Lost, available_cores, run_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.labels.teacher import Teacher

__all__ = ["Engine", "LabelSummary", "label"]

_log = logging.getLogger(__name__)

# A kill loses the shards in work: few rows of a slow teacher, many of a fast one.
_ROWS_A_SHARD = {False: 64, True: 10_000}
_ATTEMPTS = 2  # workers that may die over a shard


@dataclass(frozen=True)
class LabelSummary:
    """
    What a folder of labels holds after a run.

    Attributes
    ----------
    folder
        The folder.
    count
        Instances there are.
    labelled
        Instances with a label.
    no_plan
        Instances the teacher found no plan for.
    infeasible
        Instances whose plan from the teacher did not hold.
    new
        Instances this run took to the teacher; the others were in the folder.
    seconds
        Wall time of this run.
    teacher_seconds
        Time the teacher spent on all instances, summed over the processes and runs.
    """

    folder: Path
    count: int
    labelled: int
    no_plan: int
    infeasible: int
    new: int
    seconds: float
    teacher_seconds: float

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
    ray_address: str | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> LabelSummary:
    """
    Label instances into a folder of shards, or go on where a run was ended.

    Parameters
    ----------
    batch
        The instances.
    folder
        Where the shards go. A folder that holds a part of the same labels is
        completed; one that holds others is refused.
    teacher
        Who makes the plans.
    shard_size
        Instances a shard. Default: what the folder has, else 64, fewer if the
        processes would lack work; 10,000 for a teacher on a GPU.
    processes
        Processes at work at once. Default: one a core, or what the cluster has; one
        for a teacher on a GPU.
    engine
        ``processes`` for the cores of this machine, ``ray`` for a cluster.
    ray_address
        Where the Ray cluster is: ``auto``, ``host:port``, ``ray://host:port``, or
        ``local`` to start one here. Not needed where this process is connected.
    seed
        Each instance's seed derives from this and its row, so that neither the
        number of processes nor the shards matter.
    progress
        Called when the run begins and as instances are done.

    Returns
    -------
    LabelSummary
        What the folder holds now.

    Raises
    ------
    InputError
        If an argument is wrong, or the folder holds other labels.
    LabellingError
        If the teacher fails or workers keep dying. Whole shards are kept then, as
        they are on Ctrl-C and on a kill.
    """
    _check_arguments(batch, shard_size, processes, engine)
    seed = check_whole("seed", seed, least=0)
    begin = time.monotonic()
    path = Path(folder)
    with locked(path):
        size = shard_size or _shard_size(path, batch, teacher, processes)
        wanted = Manifest.of(batch, teacher, seed, size)
        shards = LabelFolder.create(path, batch, wanted)
        shards.remove_leftovers()
        tally = _Tally(shards, begin, progress)
        if processes is None and engine == "processes" and teacher.on_gpu:
            processes = 1
        events = run_jobs(
            label_job,
            shards.jobs(batch),
            shared=(teacher,),
            engine=engine,
            processes=processes,
            ray_address=ray_address,
            attempts=_ATTEMPTS,
            gpus_for=lambda _job: 1 if teacher.on_gpu else 0,
        )
        if tally.missing:
            with contextlib.closing(events):  # Ctrl-C ends the workers at once
                tally.follow(events)
        return tally.summary()


class _Tally:
    """Writes shards as they come, and counts."""

    def __init__(
        self, folder: LabelFolder, begin: float, progress: ProgressCallback | None
    ) -> None:
        self.folder, self.begin, self.progress = folder, begin, progress
        manifest = folder.manifest
        there = [s for s in range(manifest.num_shards) if folder.has_shard(s)]
        self.missing = manifest.num_shards - len(there)
        self.counts = np.zeros(3, dtype=np.int64)  # of each status
        self.teacher_seconds = 0.0
        self.in_work: dict[int, int] = {}  # rows done of each shard in work
        for shard in there:
            self._count(shard, folder.read_shard(shard))
        self.found = int(self.counts.sum())
        self._tell()

    def follow(self, events: Iterator[Event]) -> None:
        for event in events:
            index = event.job.index
            if isinstance(event, Answer):
                self.folder.write_shard(index, event.value)
                self._count(index, event.value)
            elif isinstance(event, Lost):
                _report(event)
                self.in_work.pop(index, None)
            else:
                self.in_work[index] = event.value
            self._tell()

    def _count(self, shard: int, labels: Labels) -> None:
        self.in_work.pop(shard, None)
        self.counts += np.bincount(labels.status, minlength=3)
        self.teacher_seconds += float(labels.seconds.sum())

    def _tell(self) -> None:
        if self.progress is not None:
            rows = int(self.counts.sum()) + sum(self.in_work.values())
            seconds = time.monotonic() - self.begin
            total = self.folder.manifest.count
            self.progress(Progress(rows, total, self.found, seconds))

    def summary(self) -> LabelSummary:
        return LabelSummary(
            folder=self.folder.path,
            count=self.folder.manifest.count,
            labelled=int(self.counts[LABELLED]),
            no_plan=int(self.counts[NO_PLAN]),
            infeasible=int(self.counts[INFEASIBLE]),
            new=int(self.counts.sum()) - self.found,
            seconds=time.monotonic() - self.begin,
            teacher_seconds=self.teacher_seconds,
        )


def _report(lost: Lost) -> None:
    """Warn of a worker that died; raise if its shard is given up."""
    if not lost.again:
        raise LabellingError(
            f"{lost.reason} on {lost.job}, and so did the worker before it: this shard "
            "is not labelled; finished shards are kept"
        )
    _log.warning("%s on %s, which is tried again", lost.reason, lost.job)


def _shard_size(
    path: Path, batch: InstanceBatch, teacher: Teacher, processes: int | None
) -> int:
    """Choose the folder's size, else one that lets all processes end together."""
    if (path / "manifest.json").exists():
        return LabelFolder.read(path).manifest.shard_size
    usual = _ROWS_A_SHARD[teacher.on_gpu]
    if teacher.on_gpu:
        return usual
    workers = processes or available_cores()
    return max(1, min(usual, len(batch) // (16 * workers)))


def _check_arguments(
    batch: InstanceBatch,
    shard_size: int | None,
    processes: int | None,
    engine: str,
) -> None:
    if not len(batch):
        raise InputError("there are no instances to label")
    if engine not in get_args(Engine):
        raise InputError(
            f"unknown engine {engine!r}: choose from {', '.join(get_args(Engine))}"
        )
    for name, value in (("shard_size", shard_size), ("processes", processes)):
        if value is not None:
            check_whole(name, value, least=1)
