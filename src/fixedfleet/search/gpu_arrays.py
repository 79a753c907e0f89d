"""The arrays the GPU search works on: instances and starts of one size class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
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


def pack(batch: InstanceBatch | Sequence[Instance], starts: PlanBatch) -> list[Group]:
    """Sort the instances into groups of one size class and one kind of distances."""
    if isinstance(batch, InstanceBatch):
        return list(_pack_batch(batch, starts.routes))
    return list(_pack_instances(batch, starts.routes))


def _pack_batch(batch: InstanceBatch, routes: NDArray[np.int64]) -> Iterator[Group]:
    n = batch.num_customers
    fleet = np.minimum(batch.vehicles, n)  # more tours than customers are no use
    classes = np.array(
        [size_class(n + m) for m in range(int(fleet.max(initial=0)) + 1)]
    )
    for slots in np.unique(classes[fleet]):
        rows = np.flatnonzero(classes[fleet] == slots)
        points = batch.customers[rows] - batch.depots[rows, None]
        yield Group(
            rows=rows,
            slots=int(slots),
            sizes=_sizes(
                rows, np.full(len(rows), n), fleet[rows], batch.capacity[rows]
            ),
            points=np.pad(points, ((0, 0), (1, 0), (0, 0))).astype(np.float32),
            matrices=None,
            demands=_demands(batch.demands[rows], batch.capacity[rows]),
            starts=_fit(routes[rows], n + int(fleet[rows].max())),
        )


def _pack_instances(
    instances: Sequence[Instance], routes: NDArray[np.int64]
) -> Iterator[Group]:
    classes: dict[tuple[int, bool], list[int]] = {}
    for row, instance in enumerate(instances):
        n = instance.num_customers
        plain = instance.metric == "euclidean" and instance.rounding == "none"
        key = size_class(n + min(n, instance.vehicles)), plain
        classes.setdefault(key, []).append(row)
    for (slots, plain), members in sorted(classes.items()):
        rows = np.array(members)
        group = [instances[row] for row in members]
        count = np.array([instance.num_customers for instance in group])
        fleet = np.minimum(count, [instance.vehicles for instance in group])
        capacity = np.array([instance.capacity_units for instance in group])
        demands = _stack([instance.demand_units[1:] for instance in group])
        yield Group(
            rows=rows,
            slots=slots,
            sizes=_sizes(rows, count, fleet, capacity),
            points=_stack([_points(instance) for instance in group]) if plain else None,
            matrices=None if plain else _stack([_matrix(i) for i in group]),
            demands=_demands(demands, capacity),
            starts=_fit(routes[rows], int((count + fleet).max())),
        )


def _points(instance: Instance) -> NDArray[np.float32]:
    # Relative to the depot: float32 keeps seven digits, and the first are often shared.
    relative = instance.coordinates - instance.coordinates[0]
    return np.asarray(relative, dtype=np.float32)


def _matrix(instance: Instance) -> NDArray[np.float32]:
    return np.asarray(instance.distances, dtype=np.float32)


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


def _stack(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Stack arrays that differ in size, with zeros behind the smaller ones."""
    shape = np.max([array.shape for array in arrays], axis=0)
    stacked = np.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
    for index, array in enumerate(arrays):
        place = tuple(slice(size) for size in array.shape)
        stacked[index][place] = array
    return stacked


def _fit(routes: NDArray[np.int64], width: int) -> NDArray[np.uint16]:
    """Routes with room for a plan of ``width`` entries, whatever it is."""
    short = max(0, width - routes.shape[1])
    return np.pad(routes, ((0, 0), (0, short))).astype(np.uint16)
