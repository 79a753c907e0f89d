"""One shard's work: a teacher over its instances, every answer checked."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.labels.teacher import Teacher
    from fixedfleet.workers import Call

__all__ = [
    "INFEASIBLE",
    "LABELLED",
    "NO_PLAN",
    "Job",
    "LabellingError",
    "Labels",
    "label_job",
    "row_seeds",
]

# What became of a row, as shards record it.
LABELLED, NO_PLAN, INFEASIBLE = 0, 1, 2


class LabellingError(RuntimeError):
    """A run cannot go on: a teacher failed, or workers keep dying. Shards are kept."""


@dataclass(frozen=True)
class Job:
    """
    The instances of one shard, to be labelled.

    Attributes
    ----------
    index
        Number of the shard.
    first
        Row of its first instance among all instances.
    batch
        Its instances.
    seeds
        The seed of each instance, shape (B,).
    """

    index: int
    first: int
    batch: InstanceBatch
    seeds: NDArray[np.int64]

    def __str__(self) -> str:
        last = self.first + len(self.batch) - 1
        return f"shard {self.index} (rows {self.first} to {last})"


@dataclass(frozen=True)
class Labels:
    """
    What one shard holds.

    Attributes
    ----------
    routes
        Shape (B, L), as in :class:`PlanBatch`; all zeros where there is no label.
    status
        Shape (B,): ``LABELLED``, ``NO_PLAN``, or ``INFEASIBLE`` where the teacher's
        plan was none for the instance.
    seconds
        Wall time the teacher took, shape (B,); its share of a call for many.
    """

    routes: NDArray[np.unsignedinteger]
    status: NDArray[np.uint8]
    seconds: NDArray[np.float32]

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows have a label, shape (B,)."""
        return np.equal(self.status, LABELLED)


def row_seeds(seed: int, rows: range) -> NDArray[np.int64]:
    """Seeds below 2³¹ that depend on nothing but ``seed`` and each row's number."""
    mixed = (np.random.SeedSequence((seed, row)).generate_state(1)[0] for row in rows)
    return np.array([int(state) >> 1 for state in mixed], dtype=np.int64)


def label_job(job: Job, call: Call, teacher: Teacher) -> Labels:
    """
    Label the instances of one shard.

    Parameters
    ----------
    job
        The shard's instances and seeds.
    call
        Sent the number of instances that are done, after each call of the teacher.
    teacher
        Who labels them.

    Raises
    ------
    LabellingError
        If the teacher raises, or its answer has the wrong shape. What a user can
        mend (an InputError, a MissingPackageError) is raised as it is.
    """
    size = len(job.batch)
    routes = np.zeros((size, 0), dtype=np.int64)
    claimed = np.zeros(size, dtype=bool)
    seconds = np.zeros(size, dtype=np.float32)
    for rows in _calls(size, teacher):
        begin = time.perf_counter()
        new, claimed[rows] = _ask(teacher, job, rows)
        seconds[rows] = (time.perf_counter() - begin) / (rows.stop - rows.start)
        routes = np.pad(routes, ((0, 0), (0, max(0, new.shape[1] - routes.shape[1]))))
        routes[rows, : new.shape[1]] = new
        call.send(rows.stop)
    return _checked(routes, claimed, seconds, job.batch)


def _calls(size: int, teacher: Teacher) -> Iterator[slice]:
    """Rows of each call: all at once on a GPU, else one by one to time each."""
    step = max(1, size) if teacher.on_gpu else 1
    return (slice(row, min(row + step, size)) for row in range(0, size, step))


def _ask(
    teacher: Teacher, job: Job, rows: slice
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    where = f"teacher {teacher.name!r} on rows {job.first + rows.start} to " + str(
        job.first + rows.stop - 1
    )
    # A slice that spans the shard needs no copy of it.
    whole = rows.stop - rows.start == len(job.batch)
    batch = job.batch if whole else job.batch.take(np.arange(rows.start, rows.stop))
    try:
        routes, claimed = teacher.label_many(batch, job.seeds[rows])
    except (InputError, MissingPackageError):
        raise
    except Exception as error:
        failure = LabellingError(f"{where} failed: {error!r}")
        failure.add_note(traceback.format_exc())  # the cause is lost between processes
        raise failure from error
    routes, claimed = np.asarray(routes), np.asarray(claimed)
    if routes.ndim != 2 or routes.dtype.kind not in "iu" or len(routes) != len(batch):
        raise LabellingError(
            f"{where} gave routes of {routes.dtype} of shape {routes.shape}, not whole "
            f"numbers of shape ({len(batch)}, L)"
        )
    if claimed.shape != (len(batch),) or claimed.dtype != np.bool_:
        raise LabellingError(
            f"{where} gave labelled as {claimed.dtype} of shape {claimed.shape}, not "
            f"bool of shape ({len(batch)},)"
        )
    return routes.astype(np.int64), claimed


def _checked(
    routes: NDArray[np.int64],
    claimed: NDArray[np.bool_],
    seconds: NDArray[np.float32],
    batch: InstanceBatch,
) -> Labels:
    """Keep the plans that hold for their instances, and say what became of the rest."""
    sound = (routes >= 0).all(axis=1) & claimed
    feasible = PlanBatch(np.where(sound[:, None], routes, 0)).feasible(batch) & sound
    status = np.full(len(batch), INFEASIBLE, dtype=np.uint8)
    status[~claimed] = NO_PLAN
    status[feasible] = LABELLED
    kept = np.where(feasible[:, None], routes, 0)
    used = int(np.flatnonzero((kept > 0).any(axis=0))[-1]) + 2 if feasible.any() else 0
    kept = kept[:, :used] if used <= kept.shape[1] else np.pad(kept, ((0, 0), (0, 1)))
    smallest = np.min_scalar_type(batch.num_customers)
    return Labels(kept.astype(smallest), status, seconds)
