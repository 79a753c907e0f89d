"""The folder of a labelling run.

A folder holds ``manifest.json`` (what is labelled, by which teacher and how),
``instances.npz``, ``shard-00000.npz``, ``shard-00001.npz`` and so on. Each file is
written under another name and then renamed, so that a killed run leaves no half-written
file behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet import files
from fixedfleet.errors import InputError, at_least, check_whole
from fixedfleet.files.atomic import lock, replacing, write_text
from fixedfleet.files.npz_files import Archive
from fixedfleet.labels.shard import INFEASIBLE, Shard, ShardLabels
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.labels.teacher import Teacher

__all__ = ["LabelFolder", "Manifest", "fingerprint", "locked"]

_FORMAT = 1
_ARRAYS = ("depots", "customers", "demands", "capacity", "vehicles")


@dataclass(frozen=True)
class Manifest:
    """
    What a folder's labels are made from. A run continues a folder only if they agree.

    Attributes
    ----------
    count, customers
        Number of instances, and of customers in each.
    instances
        Fingerprint of the instances.
    teacher, settings
        The teacher's name and its settings.
    seed
        The seed that the seeds of all instances derive from.
    shard_size
        Instances per shard; the last one may hold fewer.
    format
        Version of the folder's layout.
    """

    count: int
    customers: int
    instances: str
    teacher: str
    settings: dict[str, Any]
    seed: int
    shard_size: int
    format: int = _FORMAT

    @classmethod
    def of(
        cls, batch: InstanceBatch, teacher: Teacher, seed: int, shard_size: int
    ) -> Manifest:
        """Return the manifest of a run."""
        return cls(
            count=len(batch),
            customers=batch.num_customers,
            instances=fingerprint(batch),
            teacher=teacher.name,
            # Through JSON and back, so that a tuple equals the list it is read as.
            settings=json.loads(json.dumps(dict(teacher.settings()))),
            seed=seed,
            shard_size=shard_size,
        )

    @property
    def num_shards(self) -> int:
        """The number of shards of a finished folder."""
        return -(-self.count // self.shard_size)

    def rows(self, shard: int) -> range:
        """Return the rows of the instances that a shard holds."""
        first = shard * self.shard_size
        return range(first, min(first + self.shard_size, self.count))

    def difference(self, other: Manifest) -> str | None:
        """Return how another run differs from this folder; None if it does not."""
        for field, here in asdict(self).items():
            there = getattr(other, field)
            if here == there:
                continue
            if field == "instances":
                return "its labels are of other instances (their fingerprints differ)"
            name = {"settings": f"settings of {self.teacher!r}", "count": "instances"}
            what = name.get(field, field.replace("_", " "))
            return f"{what}: {_show(here)} in the folder, {_show(there)} asked for"
        return None


@dataclass(frozen=True)
class LabelFolder:
    """A folder of labels, finished or not. Open it with ``create`` or ``read``."""

    path: Path
    manifest: Manifest

    @classmethod
    def read(cls, path: Path) -> LabelFolder:
        """Open a folder that holds labels."""
        return cls(path, _read_manifest(path / "manifest.json"))

    @classmethod
    def create(cls, path: Path, batch: InstanceBatch, wanted: Manifest) -> LabelFolder:
        """
        Open the folder of a run; set it up if it is new.

        Raises
        ------
        InputError
            If the folder holds anything that must not mix with the labels of this run.
        """
        if (path / "manifest.json").exists():
            folder = cls.read(path)
            if difference := folder.manifest.difference(wanted):
                raise InputError(
                    f"{path} holds other labels: {difference}; choose another folder"
                )
            return folder
        _refuse_strays(path, batch)
        if not (path / "instances.npz").exists():
            files.write_batch(path / "instances.npz", batch)
        # Written last, so that a folder with a manifest lacks nothing but shards.
        content = {"made_with": f"fixedfleet {own_version()}", **asdict(wanted)}
        write_text(path / "manifest.json", json.dumps(content, indent=2) + "\n")
        return cls(path, wanted)

    def shard_path(self, shard: int) -> Path:
        """Return the file of a shard."""
        return self.path / f"shard-{shard:05d}.npz"

    def finished(self) -> list[int]:
        """Return the numbers of the shards that have a file."""
        shards = range(self.manifest.num_shards)
        return [shard for shard in shards if self.shard_path(shard).exists()]

    def missing(self, batch: InstanceBatch) -> Iterator[Shard]:
        """Yield the shards that have no file yet, with their instances and seeds."""
        for shard in range(self.manifest.num_shards):
            if not self.shard_path(shard).exists():
                rows = self.manifest.rows(shard)
                part = batch[rows.start : rows.stop]
                yield Shard(shard, rows.start, part, self._seeds(rows))

    def _seeds(self, rows: range) -> NDArray[np.int64]:
        """Return seeds below 2³¹ that depend only on the seed and each row's number."""
        sequences = (np.random.SeedSequence((self.manifest.seed, row)) for row in rows)
        states = (int(sequence.generate_state(1)[0]) for sequence in sequences)
        return np.array([state >> 1 for state in states], dtype=np.int64)

    def write_shard(self, shard: int, labels: ShardLabels) -> None:
        """Write a shard, but never over another."""
        path = self.shard_path(shard)
        if path.exists():
            raise InputError(f"{path} exists: another run has labelled it meanwhile")
        arrays: dict[str, Any] = {
            "routes": labels.routes,
            "labelled": labels.labelled,
            "status": labels.status,
            "seconds": labels.seconds,
            "first": np.int64(self.manifest.rows(shard).start),
        }
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)

    def read_shard(self, shard: int) -> ShardLabels:
        """Read a shard."""
        path, rows = self.shard_path(shard), self.manifest.rows(shard)
        try:
            archive = Archive(path)
            if archive.whole("first", 0) != rows.start:
                raise InputError(f"not rows {rows.start} to {rows.stop - 1}")
            labels = ShardLabels(
                archive.array("routes", "iu", len(rows), None),
                archive.array("status", "u", len(rows)),
                archive.array("seconds", "f", len(rows)),
            )
            if labels.status.max(initial=0) > INFEASIBLE:
                raise InputError(f"status holds {labels.status.max()}, not 0, 1 or 2")
            return labels
        except InputError as error:
            raise InputError(
                f"{path}: {error}; delete it to have its rows labelled again"
            ) from None

    def read_instances(self) -> InstanceBatch:
        """Read the instances, and check that they are those of the manifest."""
        path = self.path / "instances.npz"
        batch = files.read_batch(path)
        expected = (self.manifest.count, self.manifest.instances)
        if (len(batch), fingerprint(batch)) != expected:
            raise InputError(f"{path} holds other instances than manifest.json says")
        return batch

    def remove_leftovers(self) -> None:
        """Remove the unfinished files of a killed run. Call it under :func:`locked`."""
        for stem in ("shard-", "instances", "manifest"):
            for path in self.path.glob(f".{stem}*.tmp"):
                path.unlink()


def fingerprint(batch: InstanceBatch) -> str:
    """Return the SHA-256 of a batch's numbers, which is the same on every machine."""
    digest = hashlib.sha256()
    for name in _ARRAYS:
        array = getattr(batch, name)
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        digest.update(f"{name}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Make a folder, and keep every other run out of it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{path} is a file, not a folder for labels") from None
    with (path / ".lock").open("w") as file:
        busy = f"another run is labelling into {path}: wait for it, or choose another"
        lock(file, f"{busy} folder")
        yield


def _refuse_strays(path: Path, batch: InstanceBatch) -> None:
    """Raise InputError if a folder without a manifest holds labels or instances."""
    if stray := next(path.glob("shard-*.npz"), None):
        raise InputError(
            f"{path} holds {stray.name} but no manifest.json that says what it labels: "
            "choose another folder"
        )
    instances = path / "instances.npz"
    # A run that was killed at its very start leaves its own instances behind.
    if instances.exists() and fingerprint(files.read_batch(instances)) != fingerprint(
        batch
    ):
        raise InputError(f"{instances} is of other instances: choose another folder")


def _read_manifest(path: Path) -> Manifest:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path.parent} holds no labels: no {path.name}") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
        raise InputError(f"{path} does not describe labels of format {_FORMAT}")
    fields = Manifest.__dataclass_fields__
    if missing := [name for name in fields if name not in found]:
        raise InputError(f"{path} has no {missing[0]!r}")
    for name in ("count", "shard_size"):
        check_whole(f"{path}: {name}", found[name], at_least(1))
    return Manifest(**{name: found[name] for name in fields})


def _show(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
