"""Strictly greedy decoding: take the likeliest edge of all vehicles, edge by edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from torch import Tensor

    from fixedfleet.planning.prediction import Prediction

__all__ = ["edge_tours"]


def edge_tours(prediction: Prediction) -> Tensor:
    """
    Return tours (B, M, N), built from single edges, the likeliest edge first.

    Each step takes the likeliest edge that is still possible. An edge assigns its
    customers to its vehicle. The edges of a vehicle form paths, which are joined to one
    tour at the end. A customer is left unserved only if all vehicles that Ŷ allows for
    it are full.
    """
    scores = prediction.edges.flatten(1)  # (B, M · N' · N')
    order = scores.sort(dim=1, descending=True, stable=True).indices
    allowed = (scores > -torch.inf).sum(1)
    shape = len(prediction), prediction.fleet, prediction.locations - 1
    tours = torch.zeros(shape, dtype=torch.int64)
    inputs = order, allowed, prediction.demands, prediction.customers, prediction.room
    arrays = (x.cpu().contiguous().numpy() for x in (*inputs, tours))
    for edges, count, *instance in zip(*arrays, strict=True):
        _join(edges[:count], *instance)
    return tours.to(prediction.demands.device)


@compiled()
def _join(edges: Any, demands: Any, customers: Any, left: Any, tours: Any) -> None:
    """
    Build the tours of one instance from its edges, and write them to ``tours``.

    ``edges`` holds the indices of the edges in the flattened Ŷ, the likeliest first.
    Each edge is considered once, because an edge that is not possible stays impossible.
    ``left`` is the room left in each vehicle. Inside this function, each vehicle has a
    depot of its own: the depot of vehicle k is location N' + k.
    """
    n, m = len(demands), len(left)
    vehicle = np.full(n, m)
    after, before = np.zeros(n + m, np.int64), np.zeros(n + m, np.int64)
    for edge in edges:
        k, i, j = edge // n**2, edge // n % n, edge % n
        if (i and not customers[i]) or (j and not customers[j]):
            continue
        start, end = i or n + k, j or n + k
        if start == end or after[start] or before[end]:
            continue
        load = 0
        for customer in (i, j):
            if customer and vehicle[customer] == m:
                load += demands[customer]
            elif customer and vehicle[customer] != k:
                load = left[k] + 1
        if load > left[k] or _closes(after, before, start, end, n):
            continue
        left[k] -= load
        after[start], before[end] = end, start
        for customer in (i, j):
            vehicle[customer] = k
    for k in range(m):
        _write(after, before, n + k, tours[k])


@compiled()
def _closes(after: Any, before: Any, start: int, end: int, n: int) -> bool:
    """
    Return whether the edge from start to end closes a cycle of customers or a tour.

    Edges that close a tour are not taken, because then no other customer could join the
    tour. ``after`` and ``before`` hold the successor and the predecessor of each
    location, and 0 where there is none. Locations from ``n`` on are depots.
    """
    last = end
    while last < n and after[last]:
        last = after[last]
    first = start
    while first < n and before[first]:
        first = before[first]
    return last == start or (first >= n and last >= n)


@compiled()
def _write(after: Any, before: Any, depot: int, tour: Any) -> None:
    """
    Write one tour: the path that leaves the depot, then the path that returns to it.

    ``after`` and ``before`` hold the successor and the predecessor of each location,
    and 0 where there is none. ``tour`` receives the customers.
    """
    returning = before[depot]
    while before[returning]:
        returning = before[returning]
    count = 0
    for first in (after[depot], returning):
        customer = first
        while 0 < customer < depot and count < len(tour):
            tour[count] = customer
            count += 1
            customer = after[customer]
