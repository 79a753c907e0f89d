"""Instances as tensors for networks: scaled into the unit square, and padded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch

__all__ = [
    "MASKED",
    "Batch",
    "Features",
    "centrality",
    "collate",
    "pairwise_distances",
    "rotation",
    "scale_to_unit_square",
    "sweep_anchors",
    "symmetry",
]

MASKED = -1e4
"""The score of what is not allowed: far below others, but finite even in float16."""


class Features(NamedTuple):
    """
    The features of a batch of instances, padded. Index 0 is the depot.

    Attributes
    ----------
    coordinates
        Coordinates inside the unit square, shape (B, N', 2).
    demands
        Demands as shares of the capacity, q/Q, shape (B, N'); 0 for the depot.
    nodes
        Which locations are not padding, shape (B, N').
    vehicles
        Which vehicles are not padding, shape (B, M).
    """

    coordinates: Tensor
    demands: Tensor
    nodes: Tensor
    vehicles: Tensor


class Batch(NamedTuple):
    """
    The input of a network, with exact demands and capacities for decoding.

    Attributes
    ----------
    features
        The input of the network.
    units
        Demands as whole numbers, shape (B, N'); 0 for the depot and for padding.
    capacity
        Capacities in the same units, shape (B,).
    """

    features: Features
    units: Tensor
    capacity: Tensor


def collate(
    instances: InstanceBatch,
    device: torch.device | str = "cpu",
    *,
    shape: tuple[int, int] | None = None,
) -> Batch:
    """
    Return instances as tensors: the input of a network, and demands for decoding.

    Parameters
    ----------
    instances
        The instances.
    device
        The device of the returned tensors.
    shape
        The numbers of customers and vehicles after padding. Default: the largest ones
        among the instances.

    Raises
    ------
    InputError
        If there is no instance, or one has a distance matrix and no coordinates.
    """
    if not len(instances):
        raise InputError("no instances given: the network needs at least one")
    customers, fleet = shape or (instances.num_customers, int(instances.vehicles.max()))
    padding = (0, customers - instances.num_customers)
    coordinates = np.pad(instances.coordinates, ((0, 0), padding, (0, 0)))
    for row in np.flatnonzero(~instances.euclidean):
        coordinates[row, : instances.sizes[row] + 1] = _plane(instances[row])
    demands = np.pad(instances.demands, ((0, 0), (1, padding[1])))
    units = torch.from_numpy(demands).to(device)
    capacity = torch.from_numpy(np.array(instances.capacity)).to(device)
    nodes = _first(instances.sizes + 1, customers + 1).to(device)
    points = scale_to_unit_square(torch.from_numpy(coordinates).to(device), nodes)
    features = Features(
        coordinates=points.float(),
        demands=(units.double() / capacity[:, None]).float(),
        nodes=nodes,
        vehicles=_first(instances.vehicles, fleet).to(device),
    )
    return Batch(features, units, capacity)


def _first(counts: NDArray[np.int64], width: int) -> Tensor:
    """
    Return a mask, shape (B, width), true in the first ``counts[b]`` columns of row b.
    """
    return torch.arange(width) < torch.from_numpy(np.array(counts))[:, None]


def _plane(instance: Instance) -> NDArray[np.float64]:
    """
    Return the coordinates of the locations in a plane, shape (N', 2).

    Latitudes and longitudes are projected onto a plane. InputError is raised if the
    instance has no coordinates.
    """
    if not instance.has_coordinates:
        raise InputError(
            f"instance {instance.name!r} has a distance matrix and no coordinates, "
            "which a network needs: plan it with start='packing'"
        )
    points = instance.coordinates
    if not instance.geographic:
        return points
    latitude, longitude = points[:, 0], points[:, 1]
    # A degree of longitude is shorter towards the poles. One factor, that of the mean
    # latitude, is accurate enough for a plan.
    return np.stack((longitude * np.cos(np.radians(latitude.mean())), latitude), axis=1)


def scale_to_unit_square(coordinates: Tensor, nodes: Tensor) -> Tensor:
    """
    Return the coordinates, with each instance scaled into the unit square and centred.

    Both axes are scaled by the same factor. So the shorter of two plans stays the
    shorter one. Because the instance is centred, it may be mirrored before or after
    scaling, with the same result.

    Parameters
    ----------
    coordinates
        Shape (B, N', 2).
    nodes
        Which locations are not padding, shape (B, N').
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
    Return the coordinates, with one symmetry of the square applied to each instance.

    Parameters
    ----------
    coordinates
        Coordinates inside the unit square, shape (B, N', 2).
    code
        The number of the symmetry, from 0 (identity) to 7, shape (B,). Its three bits
        mirror x, mirror y and exchange the axes; higher bits are ignored.
    """
    bits = code[:, None, None]
    x, y = coordinates[..., :1], coordinates[..., 1:]
    x = torch.where((bits & 1) > 0, 1 - x, x)
    y = torch.where((bits & 2) > 0, 1 - y, y)
    swap = (bits & 4) > 0
    return torch.cat((torch.where(swap, y, x), torch.where(swap, x, y)), dim=2)


def rotation(coordinates: Tensor, code: Tensor) -> Tensor:
    """
    Return the coordinates, with each instance rotated around the origin.

    An instance with an odd code is also mirrored.

    Parameters
    ----------
    coordinates
        Shape (B, N', 2).
    code
        The angle in units of 2π/65,536, a whole number, shape (B,).
    """
    angle = code * (2 * math.pi / 2**16)
    cosine, sine = angle.cos()[:, None], angle.sin()[:, None]
    x, y = coordinates.unbind(2)
    x = torch.where((code & 1)[:, None] > 0, -x, x)
    return torch.stack((cosine * x - sine * y, sine * x + cosine * y), dim=2)


def pairwise_distances(points: Tensor) -> Tensor:
    """Return Euclidean distances between points (B, T, 2), shape (B, T, T)."""
    steps = points[:, :, None, :] - points[:, None, :, :]
    # `hypot` avoids squares, which would underflow for points close to each other.
    return torch.hypot(steps[..., 0], steps[..., 1])


def centrality(distances: Tensor, nodes: Tensor) -> Tensor:
    """
    Return 1 / the mean distance between depot and customers, shape (B,).

    ``distances`` has shape (B, N', N'), and ``nodes`` is false for padding, (B, N').
    """
    customers = nodes[:, 1:]
    total = (distances[:, 0, 1:] * customers).sum(1)
    return customers.sum(1) / total.clamp_min(1e-6)


def sweep_anchors(features: Features) -> tuple[Tensor, Tensor]:
    """
    Return a first position for each vehicle, from a sweep around the depot.

    Customers are sorted by their angle around the depot, beginning after the widest
    gap. They are split into parts of about equal demand; the number of parts is the
    total demand divided by the capacity, rounded up. Each part is given to one vehicle,
    whose position is the centre of these customers. All other vehicles are placed at
    the depot.

    Returns
    -------
    tuple
        The positions, shape (B, M, 2), and a mask of the vehicles that have a part,
        shape (B, M).
    """
    coordinates, demands, nodes, vehicles = features
    real = nodes[:, 1:]
    order = _sweep_order(coordinates, real)
    shares = (demands[:, 1:] * real).gather(1, order)
    total = shares.sum(1, keepdim=True)
    # Three exactly full loads must need three vehicles, despite rounding errors.
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


def _sweep_order(coordinates: Tensor, real: Tensor) -> Tensor:
    """
    Return the customers of each instance, sorted by their angle around the depot.

    The result has shape (B, N). The order begins after the widest gap between two
    angles, and padding comes last. ``real`` is false for padding.
    """
    steps = coordinates[:, 1:] - coordinates[:, :1]
    angle = torch.atan2(steps[..., 1], steps[..., 0])
    angle = angle.masked_fill(~real, math.inf)
    ordered, _ = angle.sort(1)
    last = (real.sum(1, keepdim=True) - 1).clamp_min(0)
    before = torch.cat((ordered.gather(1, last) - 2 * math.pi, ordered[:, :-1]), dim=1)
    gap = (ordered - before).nan_to_num(nan=-1.0, posinf=-1.0)
    start = ordered.gather(1, gap.argmax(1, keepdim=True))
    turned = torch.where(angle < start, angle + 2 * math.pi, angle)
    return turned.argsort(dim=1, stable=True)
