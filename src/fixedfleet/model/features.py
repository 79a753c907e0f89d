"""Instances to tensors: scaled coordinates, shares of the capacity, padding masks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.instance import Instance, InstanceBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "SYMMETRIES",
    "Batch",
    "Features",
    "centrality",
    "collate",
    "pairwise_distances",
    "scale_to_unit_square",
    "sweep_anchors",
    "sweep_order",
    "symmetry",
]

SYMMETRIES = 8
"""The symmetries of the square: two mirrorings and the exchange of the axes."""


class Features(NamedTuple):
    """
    What the network sees of a batch of instances. Index 0 is the depot.

    Attributes
    ----------
    coordinates
        Inside the unit square, shape (B, N', 2).
    demands
        As shares of the capacity, q/Q, shape (B, N'); the depot's is 0.
    nodes
        Which locations are real and not padding, shape (B, N').
    vehicles
        Which vehicles are real and not padding, shape (B, M).
    """

    coordinates: Tensor
    demands: Tensor
    nodes: Tensor
    vehicles: Tensor


class Batch(NamedTuple):
    """
    Features, and what decoding needs besides: whole units of demand and capacity.

    Attributes
    ----------
    features
        The features the network takes.
    units
        Demands in whole units, shape (B, N'); the depot's is 0.
    capacity
        Capacities in the same units, shape (B,).
    """

    features: Features
    units: Tensor
    capacity: Tensor


def collate(
    instances: Instance | InstanceBatch | Sequence[Instance],
    device: torch.device | str = "cpu",
) -> Batch:
    """
    Turn one instance, a batch, or instances of mixed sizes into padded tensors.

    Raises
    ------
    InputError
        If there is no instance, or one has a distance matrix and no coordinates.
    """
    given = [instances] if isinstance(instances, Instance) else instances
    batch = InstanceBatch.of(given)
    coordinates = np.array(batch.coordinates)
    for row in np.flatnonzero(~batch.euclidean):
        coordinates[row, : batch.sizes[row] + 1] = _plane(batch[row])
    units = np.pad(batch.demands, ((0, 0), (1, 0)))
    capacity, fleets = np.array(batch.capacity), np.array(batch.vehicles)
    sizes = batch.sizes + 1
    if not len(sizes):
        raise InputError("no instances given: the network needs one at least")
    nodes = torch.arange(int(sizes.max())) < torch.from_numpy(sizes)[:, None]
    points = scale_to_unit_square(torch.from_numpy(coordinates), nodes)
    shares = torch.from_numpy(units / capacity[:, None])
    features = Features(
        coordinates=points.to(device, torch.float32),
        demands=shares.to(device, torch.float32),
        nodes=nodes.to(device),
        vehicles=(
            torch.arange(int(fleets.max())) < torch.from_numpy(fleets)[:, None]
        ).to(device),
    )
    return Batch(
        features=features,
        units=torch.from_numpy(units).to(device),
        capacity=torch.from_numpy(capacity).to(device),
    )


def _plane(instance: Instance) -> NDArray[np.float64]:
    """Coordinates in a plane, shape (N', 2); degrees are projected at their mean."""
    if not instance.has_coordinates:
        raise InputError(
            f"instance {instance.name!r} has a distance matrix and no coordinates, "
            "which the network needs: plan it with start='packing'"
        )
    points = instance.coordinates
    if instance.metric not in ("great_circle", "geo"):
        return points
    latitude, longitude = points[:, 0], points[:, 1]
    # Degrees of longitude shrink towards the poles; one factor is enough for a plan.
    return np.stack((longitude * np.cos(np.radians(latitude.mean())), latitude), axis=1)


def scale_to_unit_square(coordinates: Tensor, nodes: Tensor) -> Tensor:
    """
    Scale each instance into the unit square by one factor, in the middle of it.

    Both axes shrink alike, so a plan that is shorter stays shorter, and the middle
    keeps the symmetries of the square symmetries of the result.

    Parameters
    ----------
    coordinates
        Shape (B, N', 2).
    nodes
        Which are real, shape (B, N').
    """
    real = nodes[..., None]
    low = coordinates.masked_fill(~real, math.inf).amin(1, keepdim=True)  # (B, 1, 2)
    high = coordinates.masked_fill(~real, -math.inf).amax(1, keepdim=True)
    extent = (high - low).amax(2, keepdim=True)  # (B, 1, 1)
    extent = torch.where(extent > 0, extent, torch.ones_like(extent))
    scaled = (coordinates - (low + high) / 2) / extent + 0.5
    return torch.where(real, scaled, torch.zeros_like(scaled))


def symmetry(coordinates: Tensor, code: Tensor) -> Tensor:
    """
    Apply one of the square's eight symmetries to each instance.

    Parameters
    ----------
    coordinates
        Inside the unit square, shape (B, N', 2).
    code
        Which symmetry, 0 (none) to 7, shape (B,).
    """
    bits = code[:, None, None]
    x, y = coordinates[..., :1], coordinates[..., 1:]
    x = torch.where((bits & 1) > 0, 1 - x, x)
    y = torch.where((bits & 2) > 0, 1 - y, y)
    swap = (bits & 4) > 0
    return torch.cat((torch.where(swap, y, x), torch.where(swap, x, y)), dim=2)


def pairwise_distances(points: Tensor) -> Tensor:
    """Euclidean distances between points (B, T, 2), shape (B, T, T)."""
    steps = points[:, :, None, :] - points[:, None, :, :]
    # hypot's gradient is not needed here, and squares underflow for close points.
    return torch.hypot(steps[..., 0], steps[..., 1])


def centrality(distances: Tensor, nodes: Tensor) -> Tensor:
    """N / Σ_i d(0, i): large for a depot amid its customers, shape (B,)."""
    customers = nodes[:, 1:]
    total = (distances[:, 0, 1:] * customers).sum(1)
    return customers.sum(1) / total.clamp_min(1e-6)


def sweep_anchors(features: Features) -> tuple[Tensor, Tensor]:
    """
    Give each vehicle a place: the centre of its share of a sweep around the depot.

    Customers sorted by angle, from behind the widest gap, are cut into as many parts
    of equal demand as vehicles are needed at least. Vehicles above that number are
    spare and stand at the depot.

    Returns
    -------
    tuple
        The places, shape (B, M, 2), and which vehicles are needed, shape (B, M).
    """
    coordinates, demands, nodes, vehicles = features
    real = nodes[:, 1:]
    order, _ = _sweep_order(coordinates, real)
    shares = (demands[:, 1:] * real).gather(1, order)
    total = shares.sum(1, keepdim=True)
    # Without the slack, a total of exactly three loads could ask for four vehicles.
    needed = torch.ceil(total - 1e-4).clamp(min=1)
    needed = torch.minimum(needed, vehicles.sum(1, keepdim=True))
    middle = (shares.cumsum(1) - shares / 2) / total.clamp_min(1e-9)
    part = (middle * needed).long().clamp(min=0)
    part = torch.minimum(part, needed.long() - 1)  # (B, N)
    real = real.gather(1, order)
    points = coordinates[:, 1:].gather(1, order[..., None].expand(-1, -1, 2))
    member = part[:, None] == torch.arange(vehicles.shape[1], device=part.device).view(
        1, -1, 1
    )
    member = (member & real[:, None]).to(points.dtype)  # (B, M, N)
    count = member.sum(2, keepdim=True)
    centres = member @ points / count.clamp_min(1)
    anchors = torch.where(count > 0, centres, coordinates[:, :1])
    return anchors, (count[..., 0] > 0) & vehicles


def _sweep_order(coordinates: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Customers by angle from behind the widest gap (B, N), and where it starts."""
    angle = _angles(coordinates[:, 1:], coordinates[:, :1])
    angle = angle.masked_fill(~real, math.inf)
    ordered, _ = angle.sort(1)
    last = (real.sum(1, keepdim=True) - 1).clamp_min(0)
    before = torch.cat((ordered.gather(1, last) - 2 * math.pi, ordered[:, :-1]), dim=1)
    gap = (ordered - before).nan_to_num(nan=-1.0, posinf=-1.0)
    start = ordered.gather(1, gap.argmax(1, keepdim=True))
    turned = torch.where(angle < start, angle + 2 * math.pi, angle)
    return turned.argsort(dim=1, stable=True), start


def _angles(points: Tensor, centre: Tensor) -> Tensor:
    steps = points - centre
    return torch.atan2(steps[..., 1], steps[..., 0])


def sweep_order(features: Features, points: Tensor, empty: Tensor) -> Tensor:
    """
    Order points around the depot as :func:`sweep_anchors` orders vehicles, empty last.

    Parameters
    ----------
    features
        The instances.
    points
        Such as the centres of tours, shape (B, M, 2).
    empty
        Which points stand for nothing, shape (B, M).

    Returns
    -------
    Tensor
        Which point comes first, second, …, shape (B, M).
    """
    _, start = _sweep_order(features.coordinates, features.nodes[:, 1:])
    angle = _angles(points, features.coordinates[:, :1])
    # A tour's centre may lie a little before the first customer's angle.
    turned = torch.remainder(angle - start + 0.3, 2 * math.pi)
    return turned.masked_fill(empty, math.inf).argsort(dim=1, stable=True)
