"""npz: batches of instances, label files and reference plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.files import atomic
from fixedfleet.files.archive import Archive
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = [
    "LabelFile",
    "ReferenceFile",
    "read_batch",
    "read_labels",
    "read_reference",
    "write_batch",
]


@dataclass(frozen=True, eq=False)
class LabelFile:
    """
    Plans for instances that a seed brings back; the file holds the plans alone.

    Parameters
    ----------
    n
        Customers of each instance.
    capacity
        What one vehicle carries.
    fleet
        The number of vehicles, M.
    seed
        Seed of the stream the instances come from.
    count
        The number of instances kept from that stream.
    iterations
        Iterations of the search that made each plan.
    routes
        Shape (count, L): customers with a 0 after each tour and zeros to the end.
    labelled
        Shape (count,): whether the row has a plan.
    """

    n: int
    capacity: int
    fleet: int
    seed: int
    count: int
    iterations: int
    routes: NDArray[np.integer]
    labelled: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ReferenceFile:
    """
    Near-optimal plans for some rows of a test set, for gaps.

    Parameters
    ----------
    n
        Customers of each instance.
    capacity
        What one vehicle carries.
    fleet
        The number of vehicles, M.
    index
        Shape (B,): rows of the test set.
    routes
        Shape (B, L), as in :class:`LabelFile`.
    feasible
        Shape (B,): whether the row has a feasible plan.
    """

    n: int
    capacity: int
    fleet: int
    index: NDArray[np.int64]
    routes: NDArray[np.integer]
    feasible: NDArray[np.bool_]


def read_batch(
    path: str | os.PathLike[str],
    vehicles: int | None = None,
    capacity: int | None = None,
) -> InstanceBatch:
    """Read a batch; the caller's fleet and capacity win over the file's."""
    archive = Archive(path)
    size = archive.require("depots", "fiu", 2)[0]
    shape = archive.require("customers", "fiu", 3)
    n = shape[1]
    _expect(archive, "depots", (size, 2))
    _expect(archive, "customers", (size, n, 2))
    archive.require("demands", "fiu", 2)
    _expect(archive, "demands", (size, n))
    return InstanceBatch(
        depots=archive.array("depots"),
        customers=archive.array("customers"),
        demands=archive.array("demands"),
        capacity=_per_instance(archive, "capacity", size, capacity),
        vehicles=_per_instance(archive, "vehicles", size, vehicles),
    )


def _expect(archive: Archive, name: str, shape: tuple[int, ...]) -> None:
    found = archive.headers[name].shape
    if found != shape:
        raise InputError(f"array {name!r} has shape {found}, not {shape}")


def _per_instance(
    archive: Archive, name: str, size: int, given: int | None
) -> NDArray[np.generic] | int:
    """One number for all or one for each instance: the caller's, else the file's."""
    if given is not None:
        return given
    if name not in archive.headers:
        raise InputError(f"no array {name!r} in the file: give {name}=")
    shape = archive.headers[name].shape
    archive.require(name, "fiu", len(shape))
    if shape not in ((), (1,), (size,)):
        raise InputError(f"array {name!r} has shape {shape}, not () or ({size},)")
    return archive.array(name)


def write_batch(path: str | os.PathLike[str], batch: InstanceBatch) -> None:
    """Write a batch, compressed."""
    batch.require_plain("a file of instances")
    with atomic.replacing(path) as file:
        np.savez_compressed(
            file,
            depots=batch.depots,
            customers=batch.customers,
            demands=batch.demands,
            capacity=batch.capacity,
            vehicles=batch.vehicles,
        )


def read_labels(path: str | os.PathLike[str]) -> LabelFile:
    """Read a label file, whole."""
    archive = Archive(path)
    n, capacity, fleet = _problem(archive)
    seed = archive.whole("seed", 0)
    if seed >= 2**32:
        raise InputError(f"seed is {seed}, not below 2^32")
    count = archive.whole("count", 0)
    routes, labelled = _plans(archive, n, "labelled")
    if len(routes) != count:
        raise InputError(f"{len(routes)} rows of routes for a count of {count}")
    return LabelFile(
        n=n,
        capacity=capacity,
        fleet=fleet,
        seed=seed,
        count=count,
        iterations=archive.whole("iterations", 0),
        routes=routes,
        labelled=labelled,
    )


def read_reference(path: str | os.PathLike[str]) -> ReferenceFile:
    """Read a file of reference plans, whole."""
    archive = Archive(path)
    n, capacity, fleet = _problem(archive)
    routes, feasible = _plans(archive, n, "feasible")
    archive.require("index", "iu", 1)
    _expect(archive, "index", (len(routes),))
    index = archive.array("index").astype(np.int64)
    if (index < 0).any() or len(np.unique(index)) != len(index):
        raise InputError("index holds a negative row, or a row twice")
    return ReferenceFile(
        n=n,
        capacity=capacity,
        fleet=fleet,
        index=index,
        routes=routes,
        feasible=feasible,
    )


def _problem(archive: Archive) -> tuple[int, int, int]:
    return (
        archive.whole("n", 1),
        archive.whole("capacity", 1),
        archive.whole("fleet", 1),
    )


def _plans(
    archive: Archive, n: int, mask: str
) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
    """Routes and the mask that says which rows hold a plan."""
    rows = archive.require("routes", "iu", 2)[0]
    archive.require(mask, "b", 1)
    _expect(archive, mask, (rows,))
    routes = archive.array("routes")
    bad = (routes > n).any(axis=1) | (routes < 0).any(axis=1)
    if bad.any():
        raise InputError(
            f"routes[{int(np.argmax(bad))}] names a customer that is not within 1 … {n}"
        )
    return routes, archive.array(mask)
