"""
The arrays of the GPU search: instances and initial plans, grouped by size class.

A size class is a number of nodes (customers and vehicles) per lane of a warp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.plan import pad_routes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.plan import PlanBatch

__all__ = ["FAST_NODES", "SIZE_CLASSES", "Group", "count_nodes", "pack", "size_classes"]

# Size classes: the number of nodes (customers and vehicles) per lane of a warp. Each
# class has a kernel of its own, which is compiled when it is first needed.
SIZE_CLASSES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_LANES = 32
FAST_NODES = 24 * _LANES  # with more, the state of a lane exceeds its registers
# How distances are found: in a matrix, from coordinates, or from coordinates and then
# rounded.
_MATRIX, _POINTS, _ROUNDED = range(3)
_LARGEST_CAPACITY = 2**31 - 2  # loads are int32, and 2^31 − 1 means "no place"


@dataclass(frozen=True)
class Group:
    """
    Instances that one launch of a kernel improves, padded to the same shape.

    There are B instances; L is the number of customers of the largest one, plus 1.
    """

    rows: NDArray[np.int64]  # (B,): rows of the instances in the batch
    slots: int  # the size class: nodes per lane
    sizes: NDArray[np.int32]  # (B, 4): customers, vehicles, capacity and row of each
    points: NDArray[np.float32] | None  # (B, L, 2): relative to the depot
    rounded: bool  # whether distances between points are rounded to whole numbers
    matrices: NDArray[np.float32] | None  # (B, L, L): [from, to], instead of points
    demands: NDArray[np.int32]  # (B, L - 1)
    starts: NDArray[np.uint16]  # (B, W): initial plans as routes; W is enough for any

    @property
    def locations(self) -> int:
        """L, the number of customers of the largest instance, plus 1 for the depot."""
        return int(self.demands.shape[1]) + 1

    @property
    def shared_bytes(self) -> int:
        """
        Bytes of shared memory that one warp needs: the size of the kernel's Shared.
        """
        index = 1 if self.slots <= 8 else 2
        place = 8 if self.matrices is None else 4
        return _LANES * self.slots * (2 * place + 16 + 7 * index)


def count_nodes(batch: InstanceBatch) -> NDArray[np.int64]:
    """
    Return the number of customers plus tours of each instance, shape (B,).

    There are as many tours as vehicles, but at most as many as customers.
    """
    # There cannot be more tours than customers.
    return batch.sizes + np.minimum(batch.vehicles, batch.sizes)


def size_classes(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """
    Return, for each number of nodes, the smallest size class with space for it.

    A size class is a number of nodes per lane of a warp. Raise InputError if a number
    is too large for every class.
    """
    room = _LANES * np.array(SIZE_CLASSES)
    if nodes.max(initial=0) > room[-1]:
        raise InputError(
            f"customers and vehicles together are {nodes.max()}; the GPU search takes "
            f"at most {room[-1]}"
        )
    classes: NDArray[np.int64] = np.array(SIZE_CLASSES)[np.searchsorted(room, nodes)]
    return classes


def pack(batch: InstanceBatch, starts: PlanBatch) -> list[Group]:
    """
    Return the instances of a batch as groups with the same size class and distances.

    ``starts`` has the initial plan of each instance. Distances are of the same kind if
    they are all read from a matrix, all computed from coordinates, or all computed and
    rounded.
    """
    sizes = _sizes(batch)
    classes = size_classes(count_nodes(batch))
    kinds = _kinds(batch)
    groups = []
    for slots in np.unique(classes).tolist():
        for kind in (_MATRIX, _POINTS, _ROUNDED):
            rows = np.flatnonzero((classes == slots) & (kinds == kind))
            if len(rows):
                groups.append(_group(batch, starts, sizes[rows], rows, slots, kind))
    return groups


def _group(
    batch: InstanceBatch,
    starts: PlanBatch,
    sizes: NDArray[np.int32],
    rows: NDArray[np.int64],
    slots: int,
    kind: int,
) -> Group:
    """
    Return some instances of a batch as a group.

    ``rows`` are their rows in the batch, ``sizes`` is :func:`_sizes` of these rows,
    ``slots`` is their size class, and ``kind`` their kind of distances, as in
    :func:`_kinds`.
    """
    largest = int(batch.sizes[rows].max())
    width = int(sizes[:, :2].sum(axis=1).max())
    points = matrices = None
    if kind == _MATRIX:
        shape = len(rows), largest + 1, largest + 1
        matrices = np.zeros(shape, dtype=np.float32)
        for place, row in enumerate(rows.tolist()):
            distances = batch[row].distances
            matrices[place, : len(distances), : len(distances)] = distances
    else:
        # float32 has seven digits, of which the first are often the same in all points.
        # Relative to the depot, more digits of the differences are kept.
        relative = batch.coordinates[rows, : largest + 1] - batch.depots[rows, None]
        points = relative.astype(np.float32)
    # A demand above the capacity never fits, so it may be cut off to fit into int32.
    demands = np.minimum(batch.demands[rows, :largest], batch.capacity[rows, None] + 1)
    return Group(
        rows=rows,
        slots=slots,
        sizes=sizes,
        points=points,
        rounded=kind == _ROUNDED,
        matrices=matrices,
        demands=demands.astype(np.int32),
        starts=pad_routes(starts.routes[rows], width).astype(np.uint16),
    )


def _kinds(batch: InstanceBatch) -> NDArray[np.int64]:
    """
    Return how the distances of each instance are found, shape (B,).

    They are read (_MATRIX), computed from coordinates (_POINTS), or computed and then
    rounded to whole numbers (_ROUNDED).
    """
    kinds = np.where(batch.euclidean, _POINTS, _MATRIX)
    for row, one in enumerate(batch.originals or ()):
        if (one.metric, one.rounding) == ("euclidean", "round"):
            kinds[row] = _ROUNDED
    return kinds


def _sizes(batch: InstanceBatch) -> NDArray[np.int32]:
    """Return (customers, vehicles, capacity, row) of each instance, shape (B, 4)."""
    fleet = np.minimum(batch.vehicles, batch.sizes)  # no more tours than customers
    if batch.capacity.max(initial=0) > _LARGEST_CAPACITY:
        row = int(np.argmax(batch.capacity > _LARGEST_CAPACITY))
        raise InputError(
            f"instance {row} has a capacity of {batch.capacity[row]} units of its "
            f"finest demand; the GPU search takes at most {_LARGEST_CAPACITY}"
        )
    columns = batch.sizes, fleet, batch.capacity, np.arange(len(batch))
    return np.stack(columns, axis=1).astype(np.int32)
