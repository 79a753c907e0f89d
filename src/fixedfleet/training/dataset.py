"""Labels as tensors that stay on the device, checked before any training begins."""

from __future__ import annotations

import hashlib
import os
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.generate import labelled_stream
from fixedfleet.instance import InstanceBatch
from fixedfleet.model.features import Features, scale_to_unit_square, symmetry
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "Dataset",
    "FixedData",
    "TrainingBatch",
    "TrainingData",
    "load_dataset",
    "make_dataset",
]

_TENSORS = ("coordinates", "units", "capacity", "routes")
_NUMBERS = ("n", "capacity", "fleet", "seed", "count")


class TrainingBatch(NamedTuple):
    """
    Instances and labels of one step.

    Attributes
    ----------
    features
        What the network sees.
    routes
        Labels, customers with a 0 after each tour, shape (B, N + M).
    units, capacity
        Whole units of demand and capacity, shapes (B, N') and (B,).
    """

    features: Features
    routes: Tensor
    units: Tensor
    capacity: Tensor


@dataclass(frozen=True, eq=False)
class Dataset:
    """
    Labelled instances of one size and fleet, as tensors on one device.

    Attributes
    ----------
    coordinates
        Inside the unit square, shape (S, N', 2).
    units, capacity
        Whole units of demand and capacity, shapes (S, N') and (S,).
    routes
        Labels, shape (S, N + M).
    vehicles
        The fleet, M.
    fingerprint
        A hash of instances and labels: the same data has the same.
    instances
        The instances themselves, for validation; None where they are not kept.
    """

    coordinates: Tensor
    units: Tensor
    capacity: Tensor
    routes: Tensor
    vehicles: int
    fingerprint: str
    instances: InstanceBatch | None

    def __len__(self) -> int:
        return len(self.units)

    @property
    def num_customers(self) -> int:
        """Customers of each instance, N."""
        return self.units.shape[1] - 1

    def batch(self, rows: Tensor, codes: Tensor | None = None) -> TrainingBatch:
        """
        Return rows, each under one of the square's symmetries.

        Parameters
        ----------
        rows
            Which rows, shape (B,).
        codes
            Symmetries 0 to 7, shape (B,); none if left out.
        """
        coordinates = self.coordinates[rows]
        if codes is not None:
            coordinates = symmetry(coordinates, codes)
        units = self.units[rows].long()
        capacity = self.capacity[rows].long()
        device, size = coordinates.device, len(coordinates)
        features = Features(
            coordinates=coordinates,
            demands=units.float() / capacity[:, None],
            nodes=torch.ones((size, units.shape[1]), dtype=torch.bool, device=device),
            vehicles=torch.ones((size, self.vehicles), dtype=torch.bool, device=device),
        )
        return TrainingBatch(features, self.routes[rows].long(), units, capacity)

    def split(self, count: int) -> tuple[Dataset, Dataset]:
        """Return the rows to train on and, from the end, ``count`` rows held out."""
        if not 0 < count < len(self):
            raise InputError(
                f"{count} labels to be held out for validation of {len(self)}: leave "
                "one at least for each side"
            )
        return self.rows(0, len(self) - count), self.rows(len(self) - count, len(self))

    def rows(self, start: int, stop: int) -> Dataset:
        """Return some rows, as views of these."""
        instances = self.instances
        if instances is not None:
            instances = instances.take(slice(start, stop))
        tensors: dict[str, Any] = {
            name: tensor[start:stop] for name, tensor in self.tensors().items()
        }
        return replace(self, instances=instances, **tensors)

    def tensors(self) -> dict[str, Tensor]:
        """Return what lies on the device, by name."""
        return {name: getattr(self, name) for name in _TENSORS}

    def with_room(self, count: int, fingerprint: str) -> Dataset:
        """Return these rows and room for ``count`` more, on the same device."""
        tensors: dict[str, Any] = {
            name: torch.cat((tensor, tensor.new_zeros((count, *tensor.shape[1:]))))
            for name, tensor in self.tensors().items()
        }
        return replace(self, instances=None, fingerprint=fingerprint, **tensors)

    def write(self, start: int, rows: Dataset) -> None:
        """Copy rows over these from ``start`` on, where a captured graph sees them."""
        own, new = self.rows(start, start + len(rows)).tensors(), rows.tensors()
        for name, tensor in own.items():
            tensor.copy_(new[name])


class TrainingData(Protocol):
    """
    What a training learns from and is validated by.

    Attributes
    ----------
    train, held_out
        The rows to train on, whose tensors stay where they are, and those held out.
    fingerprint
        The same data has the same, in every epoch.
    """

    @property
    def train(self) -> Dataset: ...

    @property
    def held_out(self) -> Dataset: ...

    @property
    def fingerprint(self) -> str: ...

    def renew(self, epoch: int) -> dict[str, float] | None:
        """Put an epoch's rows in place; return facts about them if they are new."""


@dataclass(frozen=True)
class FixedData:
    """Labels that stay the same through all epochs, the last of them held out."""

    train: Dataset
    held_out: Dataset
    fingerprint: str

    @classmethod
    def from_dataset(cls, dataset: Dataset, validation: int) -> FixedData:
        """Hold out so many of a dataset's rows."""
        return cls(*dataset.split(validation), dataset.fingerprint)

    def renew(self, epoch: int) -> None:
        """Leave everything as it is."""


def load_dataset(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    device: torch.device | str = "cpu",
    *,
    limit: int | None = None,
) -> Dataset:
    """
    Read label files or folders of one size into one dataset.

    Parameters
    ----------
    paths
        Files whose instances come back from a seed, or folders of labels.
    device
        Where the tensors are to stay.
    limit
        Take only so many labels of each file.

    Raises
    ------
    InputError
        If a file cannot be read, a label is no plan for its instance, or the files'
        sizes, capacities or fleets differ.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    parts = [_read(Path(path), limit) for path in paths]
    shapes = {
        str(path): (batch.num_customers, int(batch.capacity[0]), int(batch.vehicles[0]))
        for path, (batch, _) in zip(paths, parts, strict=True)
    }
    if len(set(shapes.values())) > 1:
        listed = "; ".join(
            f"{path}: N={n}, Q={q}, M={m}" for path, (n, q, m) in shapes.items()
        )
        raise InputError(f"labels of different sizes in one training: {listed}")
    fields = ("depots", "customers", "demands", "capacity", "vehicles")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(batch, name) for batch, _ in parts])
        for name in fields
    }
    whole = InstanceBatch(**arrays)
    width = whole.num_customers + int(whole.vehicles[0])
    routes = np.concatenate([_fit(routes, width) for _, routes in parts])
    return make_dataset(whole, PlanBatch(routes), device)


def make_dataset(
    instances: InstanceBatch, plans: PlanBatch, device: torch.device | str = "cpu"
) -> Dataset:
    """
    Put labelled instances of one fleet on a device.

    Raises
    ------
    InputError
        If there are none, a label is infeasible, or the fleets differ.
    """
    if len(instances) != len(plans) or not len(plans):
        raise InputError(f"{len(plans)} labels for {len(instances)} instances")
    vehicles = int(instances.vehicles[0])
    if (instances.vehicles != vehicles).any():
        raise InputError("the instances' fleets differ: train on one fleet at a time")
    feasible = plans.feasible(instances)
    if not feasible.all():
        row = int(np.argmin(feasible))
        fault = plans[row].check(instances[row])[0]
        raise InputError(
            f"the label of row {row} is no plan for its instance: {fault} "
            f"({int((~feasible).sum())} such labels)"
        )
    routes = _fit(plans.routes, instances.num_customers + vehicles)
    coordinates = torch.from_numpy(np.array(instances.coordinates))
    nodes = torch.ones(coordinates.shape[:2], dtype=torch.bool)
    return Dataset(
        coordinates=scale_to_unit_square(coordinates, nodes).to(device, torch.float32),
        units=torch.from_numpy(np.pad(instances.demands, ((0, 0), (1, 0)))).to(
            device, torch.int32
        ),
        capacity=torch.from_numpy(np.array(instances.capacity)).to(device, torch.int32),
        routes=torch.from_numpy(routes).to(device, torch.int32),
        vehicles=vehicles,
        fingerprint=_fingerprint(instances, routes),
        instances=instances,
    )


def _fit(routes: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Bring rows to N + M entries, so that unused vehicles are zeros at the end."""
    if routes.shape[1] < width:
        return np.pad(routes, ((0, 0), (0, width - routes.shape[1])))
    if routes[:, width:].any():
        row = int(np.argmax(routes[:, width:].any(axis=1)))
        raise InputError(f"the label of row {row} has more than {width} entries")
    return np.ascontiguousarray(routes[:, :width])


def _fingerprint(instances: InstanceBatch, routes: NDArray[np.int64]) -> str:
    digest = hashlib.sha256()
    for array in (instances.coordinates, instances.demands, instances.capacity, routes):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _read(path: Path, limit: int | None) -> tuple[InstanceBatch, NDArray[np.int64]]:
    """Read the labelled rows of one file or folder."""
    if path.is_dir():
        from fixedfleet.labels.load import load_labels

        batch, plans, labelled = load_labels(path)
        rows = np.flatnonzero(labelled)[:limit]
        return batch.take(rows), plans.routes[rows]
    arrays = _read_arrays(path)
    n, capacity, fleet, seed, count = (int(arrays[name]) for name in _NUMBERS)
    routes, labelled = arrays["routes"], arrays["labelled"]
    if routes.ndim != 2 or len(routes) != count or labelled.shape != (count,):
        raise InputError(
            f"{path}: routes of shape {routes.shape} and labelled of shape "
            f"{labelled.shape} for {count} instances"
        )
    batch = labelled_stream(n, count, seed, capacity, fleet)
    rows = np.flatnonzero(labelled)[:limit]
    if not len(rows):
        raise InputError(f"{path} holds no label")
    return batch.take(rows), routes[rows].astype(np.int64)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    wanted = ("routes", "labelled", *_NUMBERS)
    if not path.is_file():
        raise InputError(f"no labels at {path}")
    try:
        with np.load(path, allow_pickle=False) as file:
            if missing := [name for name in wanted if name not in file.files]:
                raise InputError(f"{path} is no label file: it has no {missing[0]!r}")
            return {name: file[name] for name in wanted}
    except (OSError, zipfile.BadZipFile, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is corrupt or no npz file: {error}") from None
