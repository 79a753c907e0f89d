"""npz: batches of instances, label files and reference plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError, check_seed
from fixedfleet.files import atomic
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = [
    "Archive",
    "LabelFile",
    "read_batch",
    "read_labels",
    "write_batch",
]

_KINDS = {
    "b": "true or false",
    "u": "whole numbers from 0",
    "iu": "whole numbers",
    "f": "decimal numbers",
}


class Archive:
    """The arrays of an npz file. Only arrays of numbers are read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}  # by name, as the file has them
        name = ""
        # A broken file makes zipfile and numpy raise errors of a dozen kinds.
        try:
            with np.load(path, allow_pickle=False) as archive:
                for name in archive.files:
                    self.arrays[name] = archive[name]
        except Exception as error:
            lines = str(error).splitlines() or [type(error).__name__]
            what = f"array {name!r} cannot be read" if name else "not an npz file"
            raise InputError(f"{what}: {lines[0][:200]}") from None

    def find(self, name: str) -> NDArray[Any]:
        """Return an array of the file, unchecked."""
        if name not in self.arrays:
            raise InputError(
                f"no array {name!r} in the file, only {', '.join(self.arrays)}"
            )
        return self.arrays[name]

    def array(self, name: str, kinds: str, *shape: int | None) -> NDArray[Any]:
        """
        Return an array of the file; raise InputError for another kind or shape.

        ``kinds`` are the letters of ``dtype.kind`` allowed: "b", "u", "iu" or "f". In
        the shape, None stands for any length.
        """
        array = self.find(name)
        if array.dtype.kind not in kinds:
            raise InputError(f"array {name!r} holds {array.dtype}, not {_KINDS[kinds]}")
        pairs = zip(shape, array.shape, strict=False)
        if array.ndim != len(shape) or any(want not in (None, n) for want, n in pairs):
            sizes = ", ".join("any" if want is None else str(want) for want in shape)
            raise InputError(f"array {name!r} has shape {array.shape}, not ({sizes})")
        return array

    def whole(self, name: str, least: int) -> int:
        """Return a single whole number of the file."""
        value = int(self.array(name, "iu"))
        if value < least:
            raise InputError(f"{name} is {value}, not at least {least}")
        return value


@dataclass(frozen=True, eq=False)
class LabelFile:
    """Plans for instances that are drawn again from a seed."""

    n: int  # customers of each instance
    capacity: int
    fleet: int  # vehicles of each instance
    routes: NDArray[np.integer]  # (B, L): a 0 after each tour and zeros to the end
    seed: int
    labelled: NDArray[np.bool_]  # (B,): whether the row has a plan


def read_batch(
    path: str | os.PathLike[str],
    vehicles: int | None = None,
    capacity: int | None = None,
) -> InstanceBatch:
    """Read a batch; the caller's fleet and capacity win over the file's."""
    archive = Archive(path)
    # InstanceBatch checks what the arrays hold, and their shapes.
    arrays: dict[str, Any] = {
        name: archive.find(name) for name in ("depots", "customers", "demands")
    }
    for name, given in (("capacity", capacity), ("vehicles", vehicles)):
        if given is None and name not in archive.arrays:
            raise InputError(f"no array {name!r} in the file: give {name}=")
        arrays[name] = archive.arrays[name] if given is None else given
    return InstanceBatch(**arrays)


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
    """Read a label file."""
    archive = Archive(path)
    n = archive.whole("n", 1)
    routes = archive.array("routes", "iu", None, None)
    bad = (routes > n).any(axis=1) | (routes < 0).any(axis=1)
    if bad.any():
        raise InputError(
            f"routes[{int(np.argmax(bad))}] names a customer that is not within 1 … {n}"
        )
    capacity, fleet = archive.whole("capacity", 1), archive.whole("fleet", 1)
    seed, count = archive.whole("seed", 0), archive.whole("count", 0)
    check_seed(seed)
    if len(routes) != count:
        raise InputError(f"{len(routes)} rows of routes for a count of {count}")
    labelled = archive.array("labelled", "b", count)
    return LabelFile(n, capacity, fleet, routes, seed, labelled)
