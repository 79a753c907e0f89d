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
from fixedfleet.labels import fingerprint, load_labels
from fixedfleet.model.features import Features, scale_to_unit_square, symmetry
from fixedfleet.plan import PlanBatch, pad_routes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Dataset",
    "TrainingBatch",
    "join_labels",
    "labelled_rows",
    "load_dataset",
    "make_dataset",
    "to_device",
]

_TENSORS = ("coordinates", "units", "capacity", "routes", "sizes", "fleets")


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
    Labelled instances as tensors on one device, padded to the same shape.

    Attributes
    ----------
    coordinates
        Inside the unit square, shape (S, N', 2).
    units, capacity
        Whole units of demand and capacity, shapes (S, N') and (S,).
    routes
        Labels, shape (S, N + M).
    sizes, fleets
        The customers and the vehicles of each instance, shape (S,).
    vehicles
        The largest fleet, M.
    fingerprint
        A hash of instances and labels: equal data has equal fingerprints.
    instances
        The instances themselves, for validation; None where they are not kept.
    """

    coordinates: Tensor
    units: Tensor
    capacity: Tensor
    routes: Tensor
    sizes: Tensor
    fleets: Tensor
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
        """The largest number of customers, N."""
        return self.units.shape[1] - 1

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.units.device

    def batch(
        self,
        rows: Tensor,
        codes: Tensor | None = None,
        turn: Callable[[Tensor, Tensor], Tensor] = symmetry,
    ) -> TrainingBatch:
        """
        Return some rows, each turned in its own way.

        Parameters
        ----------
        rows
            Numbers of the rows, shape (B,).
        codes
            Which way each is turned, shape (B,); None leaves the coordinates as they
            are.
        turn
            Turns coordinates as the codes say.
        """
        coordinates = self.coordinates[rows]
        if codes is not None:
            coordinates = turn(coordinates, codes)
        units = self.units[rows].long()
        capacity = self.capacity[rows].long()
        place = torch.arange(units.shape[1], device=self.device)
        number = torch.arange(self.vehicles, device=self.device)
        features = Features(
            coordinates=coordinates,
            demands=units.float() / capacity[:, None],
            nodes=place <= self.sizes[rows][:, None],
            vehicles=number < self.fleets[rows][:, None],
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
            name: getattr(self, name)[start:stop] for name in _TENSORS
        }
        return replace(self, instances=instances, **tensors)


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
    parts = [labelled_rows(path) for path in paths]
    shapes = {
        str(path): (batch.num_customers, int(batch.capacity[0]), int(batch.vehicles[0]))
        for path, (batch, _) in zip(paths, parts, strict=True)
    }
    if len(set(shapes.values())) > 1:
        listed = "; ".join(
            f"{path}: N={n}, Q={q}, M={m}" for path, (n, q, m) in shapes.items()
        )
        raise InputError(f"labels of different sizes in one training: {listed}")
    return to_device(*join_labels(parts), device)


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
    if (instances.vehicles != instances.vehicles[0]).any():
        raise InputError("the instances' fleets differ: train on one fleet at a time")
    return to_device(instances, plans, device)


def labelled_rows(
    path: str | os.PathLike[str],
) -> tuple[InstanceBatch, PlanBatch]:
    """Read the rows of a file or a folder that have a label."""
    batch, plans, labelled = load_labels(path)
    batch.require_plain("training")  # joining the arrays loses everything else
    rows = np.flatnonzero(labelled)
    if not len(rows):
        raise InputError(f"{path} holds no label")
    return batch[rows], PlanBatch(plans.routes[rows])


def join_labels(
    parts: Sequence[tuple[InstanceBatch, PlanBatch]],
) -> tuple[InstanceBatch, PlanBatch]:
    """Put labelled instances together, in the given order."""
    width = max(plans.routes.shape[1] for _, plans in parts)
    routes = [pad_routes(plans.routes, width) for _, plans in parts]
    instances = InstanceBatch.concatenate([batch for batch, _ in parts])
    return instances, PlanBatch(np.concatenate(routes))


def to_device(
    instances: InstanceBatch,
    plans: PlanBatch,
    device: torch.device | str,
    shape: tuple[int, int] | None = None,
) -> Dataset:
    """
    Put labels that have been checked on a device.

    Parameters
    ----------
    instances, plans
        The instances and their labels.
    device
        The device.
    shape
        The customers and vehicles to pad to. Default: those of the largest instance.
    """
    most = instances.num_customers, int(instances.vehicles.max())
    customers, vehicles = shape or most
    routes = _fit(plans.routes, customers + vehicles)
    behind = customers - instances.num_customers
    points = np.pad(instances.coordinates, ((0, 0), (0, behind), (0, 0)))
    nodes = np.arange(customers + 1) <= instances.sizes[:, None]
    scaled = scale_to_unit_square(torch.from_numpy(points), torch.from_numpy(nodes))

    def whole(numbers: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(np.array(numbers)).to(device, torch.int32)

    return Dataset(
        coordinates=scaled.to(device, torch.float32),
        units=whole(np.pad(instances.demands, ((0, 0), (1, behind)))),
        capacity=whole(instances.capacity),
        routes=whole(routes),
        sizes=whole(instances.sizes),
        fleets=whole(instances.vehicles),
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
    digest = hashlib.sha256(fingerprint(instances).encode())
    digest.update(routes.tobytes())
    return digest.hexdigest()[:16]
