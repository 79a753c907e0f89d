"""Greedy decoding: follow the likeliest edges, vehicle after vehicle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.likely_places import insert_likeliest
from fixedfleet.planning.tours import split_walks, tour_loads, unserved_customers

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = [
    "ALWAYS",
    "NEVER",
    "authors_tours",
    "capacity_violation",
    "follow_edges",
    "greedy_tours",
    "pseudo_greedy",
    "unlimited_room",
]

# Values of "the room that a location needs". A customer that was served needs more room
# than any vehicle has. The depot needs less than any has, even the −1 of padding.
NEVER = torch.iinfo(torch.int64).max
ALWAYS = -2
_UNLIMITED = 2**62


def greedy_tours(prediction: Prediction) -> Tensor:
    """
    Return tours (B, M, N) that follow the likeliest edges within the capacity.

    The vehicles drive one after the other. At each location, a vehicle can go to the
    depot or to any unserved customer that it has room for. It follows the likeliest of
    these edges. The tour ends when this edge leads to the depot.
    """
    return follow_edges(
        prediction.edges, prediction.demands, prediction.customers, prediction.room
    )


def authors_tours(prediction: Prediction, seed: int = 0) -> Tensor:
    """
    Return tours (B, M, N) as the code of the paper's authors makes them, with repair.

    Greedy decoding takes the vehicles in a random order. Then the repair ``likeliest``
    inserts the unserved customers. If some are still unserved, decoding and repair are
    done once more from the start, with tours that follow the edges backwards.

    Parameters
    ----------
    prediction
        The prediction.
    seed
        Seed of the random order of the vehicles. An instance gets the same order alone
        and in any batch.
    """
    order = _random_order(prediction, seed)
    rest = prediction.demands, prediction.customers, prediction.room, order
    tours = follow_edges(prediction.edges, *rest)
    tours = insert_likeliest(prediction, tours)
    stuck = unserved_customers(tours, prediction.customers).any(1)
    if stuck.any():
        some = prediction[stuck]
        again = follow_edges(some.edges.mT, *(part[stuck] for part in rest))
        tours[stuck] = insert_likeliest(some, again)
    return tours


def _random_order(prediction: Prediction, seed: int) -> Tensor:
    """
    Return the vehicles in a random order, padding last, shape (B, M).

    The order is computed from the seed and the demands of the instance.
    """
    place = torch.arange(prediction.locations, device=prediction.demands.device)
    mark = (prediction.demands * (2 * place + 1) ** 3).sum(1, keepdim=True) + seed
    number = torch.arange(1, prediction.fleet + 1, device=mark.device)
    # The finaliser of MurmurHash3 spreads a small difference over all bits.
    key = mark * 2654435761 + number * 40503
    for factor in (0xFF51AFD7ED558CCD - 2**64, 0xC4CEB9FE1A85EC53 - 2**64):
        key = (key ^ (key >> 33)) * factor
    key = (key ^ (key >> 33)).masked_fill(~prediction.vehicles, NEVER)
    return key.argsort(dim=1, stable=True)


def pseudo_greedy(prediction: Prediction) -> Tensor:
    """
    Return tours as :func:`greedy_tours` does, but ignore the capacity.

    This is the paper's Algorithm 2. The tours may exceed the capacity, and they may
    leave customers unserved.
    """
    room = unlimited_room(prediction.vehicles)
    return follow_edges(
        prediction.edges, prediction.demands, prediction.customers, room
    )


def capacity_violation(prediction: Prediction) -> Tensor:
    """
    Return by how much the tours of :func:`pseudo_greedy` exceed the capacity.

    The result is the mean overload of the vehicles of each instance, as a share of the
    capacity, shape (B,).
    """
    loads = tour_loads(pseudo_greedy(prediction), prediction.demands)
    excess = (loads - prediction.capacity[:, None]).clamp_min(0).double().sum(1)
    return excess / prediction.vehicles.sum(1) / prediction.capacity


def unlimited_room(vehicles: Tensor) -> Tensor:
    """Return unlimited room for each vehicle, and −1 for padding, shape (B, M)."""
    return torch.where(vehicles, _UNLIMITED, -1)


def follow_edges(
    log_probs: Tensor,
    demands: Tensor,
    customers: Tensor,
    room: Tensor,
    order: Tensor | None = None,
) -> Tensor:
    """
    Return tours (B, M, N) that follow the likeliest edges, for all instances at once.

    Every step either serves a customer or ends a tour, so N + M steps are enough for
    every instance.

    Parameters
    ----------
    log_probs
        log Ŷ, shape (B, M, N', N').
    demands, customers
        As in a :class:`Prediction`, both of shape (B, N').
    room
        What each vehicle may carry, shape (B, M); −1 if it must not be used.
    order
        The numbers of the vehicles in the order in which they drive, shape (B, M).
        Default: 0, 1, 2, …
    """
    batch, fleet, size, _ = log_probs.shape
    edges = log_probs.reshape(-1, size)  # (B · M · N', N')
    base = torch.arange(batch, device=log_probs.device) * (fleet * size)
    if order is not None:
        room = room.gather(1, order)
    room = pad(room, (0, 1), value=-1)
    need = torch.where(customers, demands, NEVER)
    need[:, 0] = ALWAYS
    vehicle, here = torch.zeros_like(base), torch.zeros_like(base)
    left = room[:, 0]
    walk = []
    for _ in range(size - 1 + fleet):
        # After the last vehicle has returned, it stays at the depot, without room.
        current = vehicle.clamp(max=fleet - 1)
        if order is not None:
            current = order.gather(1, current[:, None])[:, 0]
        scores = edges.index_select(0, base + current * size + here)  # (B, N')
        # If no location is possible, argmax returns index 0, which is the depot.
        here = scores.masked_fill(need > left[:, None], -torch.inf).argmax(1)
        walk.append(here)
        home = here == 0
        step = here[:, None]
        need.scatter_(1, step, torch.where(home, ALWAYS, NEVER)[:, None])
        vehicle = (vehicle + home).clamp(max=fleet)
        rest = left - demands.gather(1, step)[:, 0]
        left = torch.where(home, room.gather(1, vehicle[:, None])[:, 0], rest)
    tours = split_walks(torch.stack(walk, 1), fleet)
    if order is not None:
        back = order.argsort(1)[..., None].expand_as(tours)
        tours = tours.gather(1, back)
    return tours
