"""The files of labels: the folder of a labelling run, or a single npz file.

A folder holds ``manifest.json`` (what is labelled, by which method and how),
``instances.npz``, ``shard-00000.npz``, ``shard-00001.npz`` and so on. Each file is
written under another name and then renamed, so that a killed run leaves no half-written
file behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet import files
from fixedfleet.errors import InputError, at_least, check_whole
from fixedfleet.files.atomic import lock, replacing, write_text
from fixedfleet.files.npz_files import Archive
from fixedfleet.generate import uniform
from fixedfleet.plan import PlanBatch
from fixedfleet.version import own_version

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch

    Labels = tuple[InstanceBatch, PlanBatch, NDArray[np.bool_]]

__all__ = [
    "INFEASIBLE",
    "LABELLED",
    "NO_PLAN",
    "LabelFolder",
    "check_labels",
    "fingerprint",
    "has_labels",
    "load_bounds",
    "load_labels",
    "locked",
]

# The status of a row: the method found a plan, no plan, or an infeasible plan.
LABELLED, NO_PLAN, INFEASIBLE = 0, 1, 2

_FORMAT = 1
_CHECKED_AT_ONCE = 20_000
_ARRAYS = ("depots", "customers", "demands", "capacity", "vehicles")


@dataclass(frozen=True)
class LabelFolder:
    """
    A folder of labels, finished or not, with the contents of its manifest.

    A run may continue an existing folder only if the run has the same manifest.

    Attributes
    ----------
    path
        The folder.
    count, customers
        The number of instances, and the number of customers of each instance.
    instances
        The fingerprint of the instances.
    method
        The method's name.
    settings
        The method's limit, and the hash of its source code if the user has written it.
    seed
        The seed from which the seeds of all instances are computed.
    shard_size
        Instances per shard; the last shard may hold fewer.
    """

    path: Path
    count: int
    customers: int
    instances: str
    method: str
    settings: dict[str, Any]
    seed: int
    shard_size: int

    @classmethod
    def read(cls, path: Path) -> LabelFolder:
        """
        Return a folder of labels, with its manifest read.

        InputError is raised if the folder has no manifest or if the manifest is not
        valid.
        """
        file = path / "manifest.json"
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{path} holds no labels: no {file.name}") from None
        except ValueError as error:
            raise InputError(f"{file} is not JSON: {error}") from error
        if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
            raise InputError(f"{file} does not describe labels of format {_FORMAT}")
        if "teacher" in found:  # the key's name in older folders
            found = {**found, "method": found["teacher"]}
        names = [field.name for field in fields(cls) if field.name != "path"]
        if missing := [name for name in names if name not in found]:
            raise InputError(f"{file} has no {missing[0]!r}")
        for name in ("count", "shard_size"):
            check_whole(f"{file}: {name}", found[name], at_least(1))
        return cls(path, **{name: found[name] for name in names})

    def set_up(self, batch: InstanceBatch) -> None:
        """
        Write the instances and the manifest, unless the folder already has them.

        The run must have locked the folder by :func:`locked`.

        Raises
        ------
        InputError
            If the folder holds labels of another run.
        """
        if (self.path / "manifest.json").exists():
            self._check_same(LabelFolder.read(self.path))
        else:
            self._refuse_strays()
            if not (self.path / "instances.npz").exists():
                files.write_batch(self.path / "instances.npz", batch)
            # The manifest is written last: a folder that has one lacks only shards.
            made = {"made_with": f"fixedfleet {own_version()}"}
            content = made | self._content() | {"format": _FORMAT}
            text = json.dumps(content, indent=2)
            write_text(self.path / "manifest.json", f"{text}\n")
        for stem in ("shard-", "instances", "manifest"):  # leftovers of a killed run
            for path in self.path.glob(f".{stem}*.tmp"):
                path.unlink()

    def _content(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "path"}

    def _check_same(self, there: LabelFolder) -> None:
        """
        Raise InputError if the manifest in the folder, ``there``, differs from this.
        """
        for name, wanted in self._content().items():
            found = getattr(there, name)
            if found == wanted:
                continue
            say = {"settings": f"settings of {there.method!r}", "count": "instances"}
            difference = (
                f"{say.get(name, name.replace('_', ' '))}: {_show(found)} in the "
                f"folder, {_show(wanted)} asked for"
            )
            if name == "instances":
                difference = (
                    "its labels are of other instances (their fingerprints differ)"
                )
            raise InputError(
                f"{self.path} holds other labels: {difference}; choose another folder"
            )

    def _refuse_strays(self) -> None:
        """
        Raise InputError if a folder without a manifest holds shards or other instances.
        """
        if stray := next(self.path.glob("shard-*.npz"), None):
            raise InputError(
                f"{self.path} holds {stray.name} but no manifest.json that says what "
                "it labels: choose another folder"
            )
        # A run that was killed at its very start leaves its own instances behind.
        file = self.path / "instances.npz"
        if file.exists() and fingerprint(files.read_batch(file)) != self.instances:
            raise InputError(f"{file} is of other instances: choose another folder")

    @property
    def num_shards(self) -> int:
        """The number of shards that the folder has when all instances are labelled."""
        return -(-self.count // self.shard_size)

    def rows(self, shard: int) -> slice:
        """Return the numbers of the instances that a shard holds, as a slice."""
        first = shard * self.shard_size
        return slice(first, min(first + self.shard_size, self.count))

    def shard_path(self, shard: int) -> Path:
        """Return the path of a shard's file."""
        return self.path / f"shard-{shard:05d}.npz"

    def finished(self) -> list[int]:
        """Return the numbers of the shards whose files exist."""
        shards = range(self.num_shards)
        return [shard for shard in shards if self.shard_path(shard).exists()]

    def write_shard(self, shard: int, arrays: dict[str, Any]) -> None:
        """Write the arrays of a shard; raise InputError if the file exists."""
        path = self.shard_path(shard)
        if path.exists():
            raise InputError(f"{path} exists: another run has labelled it meanwhile")
        with replacing(path) as file:
            first = np.int64(self.rows(shard).start)
            np.savez_compressed(file, **arrays, first=first)

    def read_shard(self, shard: int) -> dict[str, NDArray[Any]]:
        """
        Return the arrays of a shard by name: ``routes`` (B, L) and ``status`` (B,).

        L is the length of the longest row of routes. If the method has computed lower
        bounds, ``lower_bound`` and ``proven`` are also returned, each (B,). InputError
        is raised if the file is corrupt.
        """
        path, rows = self.shard_path(shard), self.rows(shard)
        size = rows.stop - rows.start
        try:
            archive = Archive(path)
            if archive.whole("first", 0) != rows.start:
                raise InputError(f"not rows {rows.start} to {rows.stop - 1}")
            status = archive.array("status", "u", size)
            if status.max(initial=0) > INFEASIBLE:
                raise InputError(f"status holds {status.max()}, not 0, 1 or 2")
            arrays = {
                "routes": archive.array("routes", "iu", size, None),
                "status": status,
            }
            if "proven" in archive.arrays:
                arrays["lower_bound"] = archive.array("lower_bound", "f", size)
                arrays["proven"] = archive.array("proven", "b", size)
            return arrays
        except InputError as error:
            raise InputError(
                f"{path}: {error}; delete it to have its rows labelled again"
            ) from None

    def read_instances(self) -> InstanceBatch:
        """
        Return the instances; raise InputError if they are not those of the manifest.
        """
        path = self.path / "instances.npz"
        batch = files.read_batch(path)
        if (len(batch), fingerprint(batch)) != (self.count, self.instances):
            raise InputError(f"{path} holds other instances than manifest.json says")
        return batch


def fingerprint(batch: InstanceBatch) -> str:
    """
    Return the SHA-256 of a batch's arrays; it is the same on every machine.

    Equal batches have equal fingerprints.
    """
    digest = hashlib.sha256()
    for name in _ARRAYS:
        array = getattr(batch, name)
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        digest.update(f"{name}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """
    Return a context manager that locks a folder during a ``with`` block.

    The folder is created if necessary. InputError is raised if another run has locked
    it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{path} is a file, not a folder for labels") from None
    with (path / ".lock").open("w") as file:
        busy = f"another run is labelling into {path}: wait for it, or choose another"
        lock(file, f"{busy} folder")
        yield


def _show(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# ----------------------------------------------------------------------- reading labels


def has_labels(path: Path) -> bool:
    """Return whether a folder or file holds labels that :func:`load_labels` reads."""
    if path.is_dir():
        return (path / "manifest.json").is_file()
    if path.suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "routes.npy" in archive.namelist()


def load_labels(path: str | os.PathLike[str]) -> Labels:
    """
    Read labels, and check that each label is feasible for its instance.

    Parameters
    ----------
    path
        A folder that :func:`label` has written, finished or not; or an npz file with
        routes and the seed of their uniform instances.

    Returns
    -------
    batch
        The instances.
    plans
        One plan per instance; it is empty if the instance has no label.
    labelled
        Which instances have a label, shape (B,).

    Raises
    ------
    InputError
        If there are no labels at ``path``, or a label is infeasible for its instance.
    """
    path = Path(path)
    batch, plans, labelled = _read_folder(path) if path.is_dir() else _read_file(path)
    check_labels(path, batch, plans, labelled)
    return batch, plans, labelled


def _read_folder(path: Path) -> Labels:
    folder = LabelFolder.read(path)
    batch = folder.read_instances()
    labelled = np.zeros(len(batch), dtype=bool)
    parts = []
    for index in folder.finished():
        rows, shard = folder.rows(index), folder.read_shard(index)
        parts.append((rows, shard["routes"]))
        labelled[rows] = shard["status"] == LABELLED
    return batch, PlanBatch.gather(len(batch), parts), labelled


def load_bounds(
    path: str | os.PathLike[str],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """
    Read the lower bounds of a folder that a method with ``prove=yes`` has labelled.

    Returns
    -------
    lower_bounds
        A lower bound on the cost of any plan of each instance, shape (B,); NaN if no
        bound was computed.
    proven
        Which labels are proven optimal, shape (B,).
    """
    folder = LabelFolder.read(Path(path))
    bounds = np.full(folder.count, np.nan)
    proven = np.zeros(folder.count, dtype=bool)
    for index in folder.finished():
        rows, shard = folder.rows(index), folder.read_shard(index)
        if "proven" in shard:
            bounds[rows], proven[rows] = shard["lower_bound"], shard["proven"]
    return bounds, proven


def _read_file(path: Path) -> Labels:
    file = files.read_labels(path)
    # This is checked first: with a wrong n, the instances might not fit into memory.
    if file.routes.shape[1] < file.n:
        raise InputError(
            f"{path}: routes has shape {file.routes.shape}, too short a row for "
            f"{file.n} customers"
        )
    batch = uniform(
        file.n,
        len(file.routes),
        seed=file.seed,
        capacity=file.capacity,
        vehicles=file.fleet,
    )
    routes = np.where(file.labelled[:, None], file.routes, 0)
    return batch, PlanBatch(routes), file.labelled


def check_labels(
    where: Path | str,
    batch: InstanceBatch,
    plans: PlanBatch,
    labelled: NDArray[np.bool_],
) -> None:
    """
    Raise InputError if a label is infeasible for its instance.

    ``labelled`` masks the instances that have a label; ``where`` is the file or folder
    that the message names.
    """
    for start in range(0, len(batch), _CHECKED_AT_ONCE):  # bounds the memory
        rows = np.arange(start, min(start + _CHECKED_AT_ONCE, len(batch)))
        rows = rows[labelled[rows]]
        feasible = plans[rows].feasible(batch[rows])
        if not feasible.all():
            row = int(rows[~feasible][0])
            fault = plans[row].check(batch[row])[0]
            raise InputError(f"{where}: the label of row {row} is infeasible: {fault}")
