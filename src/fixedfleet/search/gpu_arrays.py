"""The arrays the GPU search works on: instances and starts of one size class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.plan import pad_routes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.plan import PlanBatch

__all__ = ["SIZE_CLASSES", "Group", "pack", "size_class"]

# Nodes (customers and vehicles) a plan may have in each class, over the 32 lanes of a
# warp. Each class is a kernel of its own, compiled when it is first needed.
SIZE_CLASSES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_LARGEST_CAPACITY = 2**31 - 2  # loads are int32, and 2^31 − 1 means "no place"


@dataclass(frozen=True)
class Group:
    """
    Instances that one launch improves, padded to the same shape.

    Attributes
    ----------
    rows
        Their rows in the batch, shape (B,).
    slots
        The size class: nodes a lane owns.
    sizes
        Customers, vehicles, capacity and row of each, shape (B, 4).
    points
        Coordinates relative to the depot, shape (B, L, 2), or None with matrices.
    matrices
        Distances [from, to], shape (B, L, L), or None with points.
    demands
        Shape (B, L - 1).
    starts
        Routes to start from, shape (B, W) with W enough for any plan.
    """

    rows: NDArray[np.int64]
    slots: int
    sizes: NDArray[np.int32]
    points: NDArray[np.float32] | None
    matrices: NDArray[np.float32] | None
    demands: NDArray[np.int32]
    starts: NDArray[np.uint16]

    @property
    def locations(self) -> int:
        """L, the customers of the largest instance and the depot."""
        return int(self.demands.shape[1]) + 1

    @property
    def shared_bytes(self) -> int:
        """Shared memory one warp needs: the kernel's struct Shared."""
        index = 1 if self.slots <= 8 else 2
        place = 8 if self.matrices is None else 4
        return 32 * self.slots * (2 * place + 16 + 7 * index)


def size_class(nodes: int) -> int:
    """Return the nodes a lane owns in the smallest class with room for that many."""
    for slots in SIZE_CLASSES:
        if nodes <= 32 * slots:
            return slots
    raise InputError(
        f"customers and vehicles together are {nodes}; the GPU search takes "
        f"{32 * SIZE_CLASSES[-1]}"
    )


def pack(batch: InstanceBatch, starts: PlanBatch) -> list[Group]:
    """Sort the instances into groups of one size class and one kind of distances."""
    nodes = batch.sizes + np.minimum(batch.vehicles, batch.sizes)
    classes = {count: size_class(count) for count in np.unique(nodes).tolist()}
    slots = np.array([classes[count] for count in nodes.tolist()], dtype=np.int64)
    kinds = sorted(set(zip(slots.tolist(), batch.euclidean.tolist(), strict=True)))
    return [
        _group(
            batch,
            starts,
            np.flatnonzero((slots == size) & (batch.euclidean == euclidean)),
            size,
        )
        for size, euclidean in kinds
    ]


def _group(
    batch: InstanceBatch, starts: PlanBatch, rows: NDArray[np.int64], slots: int
) -> Group:
    count, capacity = batch.sizes[rows], batch.capacity[rows]
    fleet = np.minimum(batch.vehicles[rows], count)  # more tours would stay empty
    n = int(count.max())
    euclidean = bool(batch.euclidean[rows[0]])
    return Group(
        rows=rows,
        slots=slots,
        sizes=_sizes(rows, count, fleet, capacity),
        points=_points(batch, rows, n) if euclidean else None,
        matrices=None if euclidean else _matrices(batch, rows, n),
        demands=_demands(batch.demands[rows, :n], capacity),
        starts=pad_routes(starts.routes[rows], int((count + fleet).max())).astype(
            np.uint16
        ),
    )


def _points(
    batch: InstanceBatch, rows: NDArray[np.int64], n: int
) -> NDArray[np.float32]:
    # Relative to the depot: float32 keeps seven digits, and the first are often shared.
    relative = batch.coordinates[rows, : n + 1] - batch.depots[rows, None]
    return np.asarray(relative, dtype=np.float32)


def _matrices(
    batch: InstanceBatch, rows: NDArray[np.int64], n: int
) -> NDArray[np.float32]:
    matrices = np.zeros((len(rows), n + 1, n + 1), dtype=np.float32)
    for matrix, row in zip(matrices, rows, strict=True):
        size = int(batch.sizes[row]) + 1
        matrix[:size, :size] = batch[row].distances
    return matrices


def _sizes(*columns: NDArray[Any]) -> NDArray[np.int32]:
    rows, count, fleet, capacity = columns
    if capacity.max(initial=0) > _LARGEST_CAPACITY:
        which = int(np.argmax(capacity > _LARGEST_CAPACITY))
        raise InputError(
            f"instance {rows[which]} has a capacity of {capacity[which]} units of its "
            f"finest demand; the GPU search takes {_LARGEST_CAPACITY}"
        )
    return np.stack((count, fleet, capacity, rows), axis=1).astype(np.int32)


def _demands(demands: NDArray[Any], capacity: NDArray[np.int64]) -> NDArray[np.int32]:
    # A demand above the capacity fits nowhere, however large: the start was checked.
    bounded = np.minimum(demands, capacity[:, None] + 1)
    return np.asarray(bounded, dtype=np.int32)
