"""Batches of instances, label files and reference plans in .npz files."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError, check_seed
from fixedfleet.files import atomic
from fixedfleet.instance import InstanceBatch
from fixedfleet.instance.amounts import undo_division

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from fixedfleet.plan import PlanBatch

__all__ = [
    "Archive",
    "LabelFile",
    "make_batch",
    "read_batch",
    "read_labels",
    "write_batch",
    "write_rl4co",
]

_log = logging.getLogger("fixedfleet")

_RL4CO = {"customers": "locs", "depots": "depot", "demands": "demand"}
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
        # For a broken file, zipfile and numpy raise a dozen kinds of errors.
        try:
            with np.load(path, allow_pickle=False) as archive:
                for name in archive.files:
                    self.arrays[name] = archive[name]
        except Exception as error:
            lines = str(error).splitlines() or [type(error).__name__]
            what = f"array {name!r} cannot be read" if name else "not an npz file"
            raise InputError(f"{what}: {lines[0][:200]}") from None

    def find(self, name: str) -> NDArray[Any]:
        """Return an array of the file, without a check of its kind and shape."""
        if name not in self.arrays:
            raise InputError(
                f"no array {name!r} in the file, only {', '.join(self.arrays)}"
            )
        return self.arrays[name]

    def array(self, name: str, kinds: str, *shape: int | None) -> NDArray[Any]:
        """
        Return an array of the file; raise InputError if its kind or shape is wrong.

        ``kinds`` has the allowed letters of ``dtype.kind``: "b", "u", "iu" or "f". In
        ``shape``, None stands for any length.
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
        """Return a single whole number of the file; it must be at least ``least``."""
        value = int(self.array(name, "iu"))
        if value < least:
            raise InputError(f"{name} is {value}, not at least {least}")
        return value


@dataclass(frozen=True, eq=False)
class LabelFile:
    """Plans for random instances. The instances are generated again from the seed."""

    n: int  # customers of each instance
    capacity: int
    fleet: int  # vehicles of each instance
    routes: NDArray[np.integer]  # (B, L): a 0 after each tour, then zeros to the end
    seed: int
    labelled: NDArray[np.bool_]  # (B,): whether the row has a plan


def read_batch(
    path: str | os.PathLike[str],
    vehicles: int | None = None,
    capacity: int | None = None,
) -> InstanceBatch:
    """
    Read a batch. A fleet or capacity that the caller gives replaces the file's.

    The arrays may have RL4CO's names. If such a file has no array ``depot``, the first
    point of ``locs`` in each instance is the depot.
    """
    archive = Archive(path)
    arrays = dict(archive.arrays)
    if "locs" in arrays and "customers" not in arrays:
        for name, theirs in _RL4CO.items():
            if theirs in arrays:
                arrays[name] = arrays.pop(theirs)
        points = arrays["customers"]
        if "depots" not in arrays and points.ndim == 3 and points.shape[1] > 1:
            arrays |= {"depots": points[:, 0], "customers": points[:, 1:]}
    names = ("depots", "customers", "demands", "capacity", "vehicles")
    known = {name: arrays[name] for name in names if name in arrays}
    for name in names[:3]:
        if name not in known:
            archive.find(name)  # the error lists the arrays of the file
    return make_batch(known, vehicles, capacity)


def make_batch(
    arrays: dict[str, Any], vehicles: int | None, capacity: int | None
) -> InstanceBatch:
    """
    Return a batch from the arrays of a file.

    The arrays may lack ``vehicles`` and ``capacity`` if the caller gives them. Values
    that the caller gives replace those of the file. Demands that were divided by the
    capacity become whole numbers again.
    """
    given = {"capacity": capacity, "vehicles": vehicles}
    arrays = arrays | {name: one for name, one in given.items() if one is not None}
    if "vehicles" not in arrays:
        raise InputError("no array 'vehicles' in the file: give {field}", "vehicles")
    demands = np.asarray(arrays["demands"])
    loads = arrays.get("capacity")
    if loads is not None:
        loads = np.asarray(loads)
        loads = loads[:, 0] if loads.ndim == 2 and loads.shape[1] == 1 else loads
    if demands.ndim == 2 and _are_shares(demands):
        demands, loads = undo_division(demands, loads)
        _log.warning("the demands are fractions: they are read as shares of a capacity")
    if loads is None:
        raise InputError("no array 'capacity' in the file: give {field}", "capacity")
    # InstanceBatch checks what the arrays hold, and their shapes.
    return InstanceBatch(**arrays | {"demands": demands, "capacity": loads})


def _are_shares(demands: NDArray[Any]) -> bool:
    """Return whether demands are shares of a capacity: from 0 to 1, not all whole."""
    if demands.dtype.kind != "f":
        return False
    within = bool(((demands >= 0) & (demands <= 1)).all())
    return within and bool((np.rint(demands) != demands).any())


def write_batch(path: str | os.PathLike[str], batch: InstanceBatch) -> None:
    """Write a batch to a compressed .npz file."""
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


def write_rl4co(
    path: str | os.PathLike[str], batch: InstanceBatch, plans: PlanBatch | None = None
) -> None:
    """
    Write a batch with RL4CO's names and types, and plans as its actions and rewards.

    The fleet is not in the file and must be given again when the file is read.
    """
    batch.require_plain("a file of instances")
    arrays: dict[str, NDArray[Any]] = {
        "depot": batch.depots,
        "locs": batch.customers,
        "demand": batch.demands,
        "capacity": batch.capacity,
    }
    if plans is not None:
        arrays["reward"] = -plans.lengths(batch)
    # RL4CO's networks compute in 32 bits, and torch does not mix them with 64.
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    if plans is not None:
        arrays["actions"] = plans.routes
    with atomic.replacing(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # "file" is not a name of ours


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
