"""The folder of a labelling run: what it holds, and how nothing in it is half-written.

A folder holds ``manifest.json`` (what is labelled, by whom and how), ``instances.npz``
and ``shard-00000.npz`` and on. Each is written under another name and then renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.files.atomic import replacing, write_text
from fixedfleet.files.npz_files import Archive
from fixedfleet.labels.job import INFEASIBLE, Job, Labels, row_seeds
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from pathlib import Path

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.labels.teacher import Teacher

__all__ = ["FORMAT", "LabelFolder", "Manifest", "fingerprint", "locked"]

FORMAT = 1
_FIELDS = ("depots", "customers", "demands", "capacity", "vehicles")


@dataclass(frozen=True)
class Manifest:
    """
    What a folder's labels were made from; two that agree may share a folder.

    Attributes
    ----------
    count, customers
        Number of instances, and of customers in each.
    instances
        Fingerprint of the instances.
    teacher, settings
        The teacher's name and its settings.
    seed
        The seed all instances' seeds derive from.
    shard_size
        Instances a shard; the last one may hold fewer.
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
    format: int = FORMAT

    @classmethod
    def of(
        cls, batch: InstanceBatch, teacher: Teacher, seed: int, shard_size: int
    ) -> Manifest:
        """Describe a run."""
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
        """The number of shards when all are there."""
        return -(-self.count // self.shard_size)

    def rows(self, shard: int) -> range:
        """Rows of the instances that a shard holds."""
        first = shard * self.shard_size
        return range(first, min(first + self.shard_size, self.count))

    def difference(self, other: Manifest) -> str | None:
        """Say in words where another run differs from this one's folder, if it does."""
        for field, here in asdict(self).items():
            there = getattr(other, field)
            if here == there:
                continue
            if field == "instances":
                return "its labels are of other instances (their fingerprints differ)"
            name = {"settings": f"settings of {self.teacher!r}", "count": "instances"}
            what = name.get(field, field.replace("_", " "))
            return f"{what}: {_show(here)} there, {_show(there)} asked for"
        return None


@dataclass(frozen=True)
class LabelFolder:
    """A folder of labels, whole or not yet; see :meth:`create` and :meth:`read`."""

    path: Path
    manifest: Manifest

    @classmethod
    def read(cls, path: Path) -> LabelFolder:
        """Open a folder that holds labels."""
        return cls(path, _read_manifest(path / "manifest.json"))

    @classmethod
    def create(cls, path: Path, batch: InstanceBatch, wanted: Manifest) -> LabelFolder:
        """
        Open a folder for a run, made if it is not there.

        Raises
        ------
        InputError
            If the folder holds anything that this run's labels must not mix with.
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
        # Last, so that a folder with a manifest has everything but its shards.
        write_text(
            path / "manifest.json", json.dumps(_to_json(wanted), indent=2) + "\n"
        )
        return cls(path, wanted)

    def shard_path(self, shard: int) -> Path:
        """Where a shard lies."""
        return self.path / f"shard-{shard:05d}.npz"

    def has_shard(self, shard: int) -> bool:
        """Whether a shard is there."""
        return self.shard_path(shard).exists()

    def write_shard(self, shard: int, labels: Labels) -> None:
        """Write a shard, whole or not at all, and never over another."""
        path = self.shard_path(shard)
        if path.exists():
            raise InputError(f"{path} is there already: another run labels into it")
        arrays: dict[str, Any] = {
            "routes": labels.routes,
            "labelled": labels.labelled,
            "status": labels.status,
            "seconds": labels.seconds,
            "first": np.int64(self.manifest.rows(shard).start),
        }
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)

    def read_shard(self, shard: int) -> Labels:
        """Read a shard back."""
        path, rows = self.shard_path(shard), self.manifest.rows(shard)
        try:
            archive = Archive(path)
            if archive.whole("first", 0) != rows.start:
                raise InputError(f"not rows {rows.start} to {rows.stop - 1}")
            labels = Labels(
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
        """Read the instances back, and make sure of them."""
        path = self.path / "instances.npz"
        batch = files.read_batch(path)
        expected = (self.manifest.count, self.manifest.instances)
        if (len(batch), fingerprint(batch)) != expected:
            raise InputError(f"{path} holds other instances than manifest.json says")
        return batch

    def jobs(self, batch: InstanceBatch) -> Iterator[Job]:
        """The shards that are not there yet, one after another."""
        for shard in range(self.manifest.num_shards):
            if not self.has_shard(shard):
                rows = self.manifest.rows(shard)
                part = batch.take(np.arange(rows.start, rows.stop))
                seeds = row_seeds(self.manifest.seed, rows)
                yield Job(shard, rows.start, part, seeds)

    def remove_leftovers(self) -> None:
        """Remove what a killed run was writing. Only under :func:`locked`."""
        for stem in ("shard-", "instances", "manifest"):
            for path in self.path.glob(f".{stem}*.tmp"):
                path.unlink()


def fingerprint(batch: InstanceBatch) -> str:
    """SHA-256 of a batch's numbers, the same on every machine."""
    digest = hashlib.sha256()
    for name in _FIELDS:
        array = getattr(batch, name)
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        digest.update(f"{name}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Make a folder and keep every other run out of it, until this process ends."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{path} is a file, not a folder for labels") from None
    with (path / ".lock").open("w") as file:
        # The system frees the lock of a killed process; a file alone would stay.
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"another run is labelling into {path}: wait for it, or choose "
                    "another folder"
                ) from None
        yield


def _refuse_strays(path: Path, batch: InstanceBatch) -> None:
    """A folder without a manifest may hold no labels, and no other instances."""
    if stray := next(path.glob("shard-*.npz"), None):
        raise InputError(
            f"{path} holds {stray.name} but no manifest.json to tell what it labels: "
            "choose another folder"
        )
    instances = path / "instances.npz"
    # A run killed in its first moment may have left them; they may be foreign, too.
    if not instances.exists():
        return
    if fingerprint(files.read_batch(instances)) != fingerprint(batch):
        raise InputError(f"{instances} is of other instances: choose another folder")


def _to_json(manifest: Manifest) -> dict[str, Any]:
    return {"made_with": f"fixedfleet {own_version()}", **asdict(manifest)}


def _read_manifest(path: Path) -> Manifest:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path.parent} holds no labels: no {path.name}") from None
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        raise InputError(f"{path} does not describe labels of format {FORMAT}")
    fields = Manifest.__dataclass_fields__
    if missing := [name for name in fields if name not in found]:
        raise InputError(f"{path} has no {missing[0]!r}")
    manifest = Manifest(**{name: found[name] for name in fields})
    for name in ("count", "shard_size"):
        if not isinstance(found[name], int) or found[name] < 1:
            raise InputError(f"{path}: {name} is {found[name]!r}, not a whole number")
    return manifest


def _show(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
