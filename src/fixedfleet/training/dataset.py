"""Labelled instances as tensors that stay on the device."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.instance import InstanceBatch
from fixedfleet.labels import load_labels
from fixedfleet.model.features import Features, scale_to_unit_square, symmetry
from fixedfleet.plan import PlanBatch, pad_routes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Dataset", "TrainingBatch", "load_dataset", "make_dataset"]

_TENSORS = ("coordinates", "units", "capacity", "routes")


class TrainingBatch(NamedTuple):
    """
    Instances and labels of one step.

    Attributes
    ----------
    features
        The input of the network.
    routes
        Labels: customers with a 0 after each tour, shape (B, N + M).
    units, capacity
        Whole units of demand and capacity, shapes (B, N') and (B,).
    """

    features: Features
    routes: Tensor
    units: Tensor
    capacity: Tensor


@dataclass(frozen=True, eq=False, repr=False)
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
        A hash of instances and labels: equal data has equal fingerprints.
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

    def __repr__(self) -> str:
        return (
            f"Dataset({len(self)} labels, {self.num_customers} customers, "
            f"{self.vehicles} vehicles, on {self.device})"
        )

    @property
    def num_customers(self) -> int:
        """Customers of each instance, N."""
        return self.units.shape[1] - 1

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.units.device

    def batch(self, rows: Tensor, codes: Tensor | None = None) -> TrainingBatch:
        """
        Return some rows, each under one of the symmetries of the square.

        Parameters
        ----------
        rows
            Numbers of the rows, shape (B,).
        codes
            Symmetries 0 to 7, shape (B,); None leaves the coordinates as they are.
        """
        coordinates = self.coordinates[rows]
        if codes is not None:
            coordinates = symmetry(coordinates, codes)
        units = self.units[rows].long()
        capacity = self.capacity[rows].long()
        size, device = len(coordinates), self.device
        features = Features(
            coordinates=coordinates,
            demands=units.float() / capacity[:, None],
            nodes=torch.ones((size, units.shape[1]), dtype=torch.bool, device=device),
            vehicles=torch.ones((size, self.vehicles), dtype=torch.bool, device=device),
        )
        return TrainingBatch(features, self.routes[rows].long(), units, capacity)

    def split(self, count: int) -> tuple[Dataset, Dataset]:
        """Return the rows to train on, and the last ``count`` rows, held out."""
        if not 0 < count < len(self):
            raise InputError(
                f"{count} of {len(self)} labels are to be held out for validation: "
                "leave at least one to train on"
            )
        return self.rows(0, len(self) - count), self.rows(len(self) - count, len(self))

    def rows(self, start: int, stop: int) -> Dataset:
        """Return the rows from ``start`` to ``stop`` as views of these tensors."""
        instances = self.instances
        if instances is not None:
            instances = instances[start:stop]
        tensors: dict[str, Any] = {
            name: tensor[start:stop] for name, tensor in self.tensors().items()
        }
        return replace(self, instances=instances, **tensors)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors that have one row per instance, by name."""
        return {name: getattr(self, name) for name in _TENSORS}

    def with_room(self, count: int) -> Dataset:
        """Return these rows and ``count`` empty ones; the instances are not kept."""
        tensors: dict[str, Any] = {
            name: torch.cat((tensor, tensor.new_zeros((count, *tensor.shape[1:]))))
            for name, tensor in self.tensors().items()
        }
        return replace(self, instances=None, **tensors)

    def write(self, start: int, rows: Dataset) -> None:
        """Copy rows in place from ``start`` on, where a captured CUDA graph reads."""
        own, new = self.rows(start, start + len(rows)).tensors(), rows.tensors()
        for name, tensor in own.items():
            tensor.copy_(new[name])


def load_dataset(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    device: torch.device | str = "cpu",
) -> Dataset:
    """
    Read label files or folders of one size into one dataset.

    Parameters
    ----------
    paths
        Label files or folders, as :func:`fixedfleet.labels.load_labels` reads them.
    device
        Where the tensors are to stay.

    Raises
    ------
    InputError
        If a file cannot be read, a label is infeasible, or the sizes, capacities or
        fleets of the files differ.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    parts = [_labelled_rows(path) for path in paths]
    shapes = {
        str(path): (batch.num_customers, int(batch.capacity[0]), int(batch.vehicles[0]))
        for path, (batch, _) in zip(paths, parts, strict=True)
    }
    if len(set(shapes.values())) > 1:
        listed = "; ".join(
            f"{path}: N={n}, Q={q}, M={m}" for path, (n, q, m) in shapes.items()
        )
        raise InputError(f"labels of different sizes in one training: {listed}")
    batches = [batch for batch, _ in parts]
    whole = InstanceBatch(
        depots=np.concatenate([batch.depots for batch in batches]),
        customers=np.concatenate([batch.customers for batch in batches]),
        demands=np.concatenate([batch.demands for batch in batches]),
        capacity=np.concatenate([batch.capacity for batch in batches]),
        vehicles=np.concatenate([batch.vehicles for batch in batches]),
    )
    width = whole.num_customers + int(whole.vehicles[0])
    routes = np.concatenate([_fit(plans.routes, width) for _, plans in parts])
    return _to_device(whole, PlanBatch(routes), device)


def make_dataset(
    instances: InstanceBatch, plans: PlanBatch, device: torch.device | str = "cpu"
) -> Dataset:
    """
    Check labelled instances of one fleet, and put them on a device.

    Raises
    ------
    InputError
        If there are none, a label is infeasible, or the fleets differ.
    """
    if len(instances) != len(plans) or not len(plans):
        raise InputError(f"{len(plans)} labels for {len(instances)} instances")
    instances.require_plain("training")
    feasible = plans.feasible(instances)
    if not feasible.all():
        row = int(np.argmin(feasible))
        fault = plans[row].check(instances[row])[0]
        raise InputError(
            f"the label of row {row} is infeasible: {fault} "
            f"({int((~feasible).sum())} such labels)"
        )
    return _to_device(instances, plans, device)


def _labelled_rows(
    path: str | os.PathLike[str],
) -> tuple[InstanceBatch, PlanBatch]:
    batch, plans, labelled = load_labels(path)
    batch.require_plain("training")  # joining the arrays loses everything else
    rows = np.flatnonzero(labelled)
    if not len(rows):
        raise InputError(f"{path} holds no label")
    return batch[rows], PlanBatch(plans.routes[rows])


def _to_device(
    instances: InstanceBatch, plans: PlanBatch, device: torch.device | str
) -> Dataset:
    """Put labels that have been checked on a device."""
    vehicles = int(instances.vehicles[0])
    if (instances.vehicles != vehicles).any():
        raise InputError("the instances' fleets differ: train on one fleet at a time")
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
    padded = pad_routes(routes, width)
    if padded[:, width:].any():  # possible with empty tours between others
        row = int(np.argmax(padded[:, width:].any(axis=1)))
        raise InputError(f"the label of row {row} has more than {width} entries")
    return np.ascontiguousarray(padded[:, :width], dtype=np.int64)


def _fingerprint(instances: InstanceBatch, routes: NDArray[np.int64]) -> str:
    digest = hashlib.sha256()
    for array in (instances.coordinates, instances.demands, instances.capacity, routes):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
