"""Greedy decoding: follow the likeliest edges, vehicle after vehicle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.tours import split_walks, tour_loads

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = [
    "ALWAYS",
    "NEVER",
    "capacity_violation",
    "follow_edges",
    "greedy_tours",
    "pseudo_greedy",
    "unlimited_room",
]

# The room that a location needs. A customer that was served needs more than any vehicle
# has. The depot needs less than any has; a vehicle that does not exist has −1.
NEVER = torch.iinfo(torch.int64).max
ALWAYS = -2
_UNLIMITED = 2**62


def greedy_tours(prediction: Prediction) -> Tensor:
    """
    Follow the likeliest edges to customers that still fit into the vehicle.

    Each vehicle begins with its likeliest free customer and continues with the
    likeliest free location. Its tour ends when that is the depot.
    """
    return follow_edges(
        prediction.edges, prediction.demands, prediction.customers, prediction.room
    )


def pseudo_greedy(prediction: Prediction) -> Tensor:
    """
    Return tours as :func:`greedy_tours` does, but ignore the capacity (Algorithm 2).

    The tours may exceed the capacity, and they may leave customers out.
    """
    room = unlimited_room(prediction.vehicles)
    return follow_edges(
        prediction.edges, prediction.demands, prediction.customers, room
    )


def capacity_violation(prediction: Prediction) -> Tensor:
    """
    Return by how much pseudo-greedy tours exceed the capacity, shape (B,).

    It is a share of the capacity, and a mean over all vehicles.
    """
    loads = tour_loads(pseudo_greedy(prediction), prediction.demands)
    excess = (loads - prediction.capacity[:, None]).clamp_min(0).double().sum(1)
    return excess / prediction.vehicles.sum(1) / prediction.capacity


def unlimited_room(vehicles: Tensor) -> Tensor:
    """Return a room without limit for each vehicle, −1 for padding, (B, M)."""
    return torch.where(vehicles, _UNLIMITED, -1)


def follow_edges(
    log_probs: Tensor, demands: Tensor, customers: Tensor, room: Tensor
) -> Tensor:
    """
    Follow the likeliest edges, for all instances at once.

    Every step either serves a customer or ends a tour, so N + M steps are enough for
    every instance. The tensors are those of a :class:`Prediction`; ``room`` (B, M) is
    what each vehicle may carry, −1 for one that must not be used.
    """
    batch, fleet, size, _ = log_probs.shape
    edges = log_probs.reshape(-1, size)  # (B · M · N', N')
    base = torch.arange(batch, device=log_probs.device) * (fleet * size)
    room = pad(room, (0, 1), value=-1)
    need = torch.where(customers, demands, NEVER)
    need[:, 0] = ALWAYS
    vehicle, here = torch.zeros_like(base), torch.zeros_like(base)
    left = room[:, 0]
    walk = []
    for _ in range(size - 1 + fleet):
        # A walk that has ended stays with the last vehicle, which then has no room.
        current = vehicle.clamp(max=fleet - 1)
        scores = edges.index_select(0, base + current * size + here)  # (B, N')
        # If nothing is possible, argmax returns the first index: back to the depot.
        here = scores.masked_fill(need > left[:, None], -torch.inf).argmax(1)
        walk.append(here)
        home = here == 0
        step = here[:, None]
        need.scatter_(1, step, torch.where(home, ALWAYS, NEVER)[:, None])
        vehicle = (vehicle + home).clamp(max=fleet)
        rest = left - demands.gather(1, step)[:, 0]
        left = torch.where(home, room.gather(1, vehicle[:, None])[:, 0], rest)
    return split_walks(torch.stack(walk, 1), fleet)
