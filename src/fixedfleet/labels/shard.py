"""One shard: a teacher plans its instances, and every plan is checked."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError, MissingPackageError, place_of
from fixedfleet.plan import PlanBatch, pad_routes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.labels.teacher import Teacher
    from fixedfleet.workers import Call

__all__ = [
    "INFEASIBLE",
    "LABELLED",
    "NO_PLAN",
    "LabellingError",
    "Shard",
    "ShardLabels",
    "label_shard",
]

# The status of a row, as shards record it.
LABELLED, NO_PLAN, INFEASIBLE = 0, 1, 2


class LabellingError(RuntimeError):
    """The run ended early: the teacher failed, or workers died repeatedly."""


@dataclass(frozen=True)
class Shard:
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
class ShardLabels:
    """
    What one shard's file holds.

    Attributes
    ----------
    routes
        Shape (B, L), as in :class:`PlanBatch`; all zeros where there is no label.
    status
        Shape (B,): ``LABELLED``; ``NO_PLAN`` if the teacher found none; or
        ``INFEASIBLE`` if the teacher's plan was infeasible.
    seconds
        Wall time of the teacher per row, shape (B,). Rows that were planned in one
        call share its time.
    """

    routes: NDArray[np.integer]
    status: NDArray[np.uint8]
    seconds: NDArray[np.floating]

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows have a label, shape (B,)."""
        return np.equal(self.status, LABELLED)


def label_shard(shard: Shard, call: Call, teacher: Teacher) -> ShardLabels:
    """
    Label the instances of one shard, and send the number done after each step.

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
    return _checked(PlanBatch.gather(size, parts), claimed, seconds, shard.batch)


def _ask(
    teacher: Teacher, shard: Shard, rows: slice
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the teacher's routes and which of them it claims to be plans."""
    first, last = shard.first + rows.start, shard.first + rows.stop - 1
    where = f"teacher {teacher.name!r} on rows {first} to {last}"
    batch = shard.batch[rows]
    try:
        answer = teacher.label_many(batch, shard.seeds[rows])
    except (InputError, MissingPackageError):
        raise
    except Exception as error:
        place = place_of(error)
        failure = LabellingError(f"{where} failed: {error!r} ({place})")
        failure.add_note(traceback.format_exc())  # the cause is lost between processes
        raise failure from error
    routes, claimed = np.asarray(answer[0]), np.asarray(answer[1])
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
    plans: PlanBatch,
    claimed: NDArray[np.bool_],
    seconds: NDArray[np.float32],
    batch: InstanceBatch,
) -> ShardLabels:
    """Keep the feasible plans, in as few columns and bytes as they need."""
    feasible = plans.feasible(batch) & claimed
    status = np.where(claimed, INFEASIBLE, NO_PLAN).astype(np.uint8)
    status[feasible] = LABELLED
    kept = np.where(feasible[:, None], plans.routes, 0)
    used = np.flatnonzero(kept.any(axis=0))
    width = int(used[-1]) + 2 if len(used) else 0  # with the 0 that ends a tour
    kept = pad_routes(kept, width)[:, :width]
    smallest = np.min_scalar_type(batch.num_customers)
    return ShardLabels(kept.astype(smallest), status, seconds)
