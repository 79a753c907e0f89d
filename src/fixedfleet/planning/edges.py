"""Strictly greedy decoding: take the likeliest edge of all vehicles, edge by edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["edge_tours"]


def edge_tours(prediction: Prediction) -> Tensor:
    """
    Take the likeliest of all edges that still fit, until none fits.

    The edges of a vehicle join to paths, and the paths to one tour. A customer belongs
    to the vehicle of its first edge. Only customers that fit into no vehicle that may
    still take them are left out.
    """
    paths = _Paths(prediction)
    # Each step takes one edge; a plan has at most N + M.
    for _ in range(prediction.locations - 1 + prediction.fleet):
        if not paths.take_likeliest():
            break
    return paths.tours()


class _Paths:
    """
    Paths of customers that edges have joined so far, for a batch of instances.

    Parameters
    ----------
    prediction
        The prediction and its instances.
    """

    def __init__(self, prediction: Prediction) -> None:
        self.prediction, self.rows = prediction, prediction.rows
        places = prediction.customers.clone()
        places[:, 0] = True
        own = torch.eye(prediction.locations, dtype=torch.bool, device=places.device)
        edges = places[:, :, None] & places[:, None, :] & ~own  # (B, N', N')
        # −inf where no edge may be taken
        self.scores = prediction.edges.masked_fill(~edges[:, None], -torch.inf)
        self.left = prediction.room.clone()  # (B, M)
        # What a location adds to the load of the vehicle that takes it, (B, N').
        self.adds = prediction.demands.clone()
        customers = torch.arange(prediction.locations, device=self.left.device)
        # The other end of the path that begins or ends at a customer, (B, N'); 0 if
        # that is the depot.
        self.other_end = customers.expand_as(self.adds).clone()
        self.after = torch.zeros_like(self.adds)  # the successor of a customer, (B, N')
        # First and last customer of the path that leaves the depot, and first customer
        # of the path that returns to it, (B, M); 0 if there is no such path.
        self.first = torch.zeros_like(self.left)
        self.last, self.returning = self.first.clone(), self.first.clone()

    def take_likeliest(self) -> bool:
        """Take an edge in every instance that has one left; False if none has."""
        size = self.prediction.locations
        load = self.adds[:, None, :, None] + self.adds[:, None, None, :]
        full = load > self.left[:, :, None, None]
        best = self.scores.masked_fill(full, -torch.inf).flatten(1).max(1)
        rows = (best.values > -torch.inf).nonzero()[:, 0]
        vehicle, edge = best.indices[rows] // size**2, best.indices[rows] % size**2
        start, end = edge // size, edge % size
        load = load[rows, 0, start, end]
        self.left[rows, vehicle] -= load
        self._join(rows, vehicle, start, end)
        for place in (start, end):
            self._settle(rows, vehicle, place)
        return len(rows) > 0

    def _join(self, rows: Tensor, vehicle: Tensor, start: Tensor, end: Tensor) -> None:
        """Join two paths, and forbid all edges that the new path rules out."""
        head = torch.where(start > 0, self.other_end[rows, start], 0)
        tail = torch.where(end > 0, self.other_end[rows, end], 0)
        self.after[rows, start] = torch.where(start > 0, end, 0)
        self.other_end[rows, head] = tail
        self.other_end[rows, tail] = head
        at = rows, vehicle
        self.first[at] = torch.where(start == 0, end, self.first[at])
        self.last[at] = torch.where(head == 0, tail, self.last[at])
        self.returning[at] = torch.where(tail == 0, head, self.returning[at])
        # A location has one edge in and one out; the depot, one of each per vehicle.
        self.scores[rows, vehicle, start] = -torch.inf
        self.scores[rows, vehicle, :, end] = -torch.inf
        # A path must not be closed, and the tour must stay open for further paths.
        self.scores[rows, vehicle, tail, head] = -torch.inf
        self.scores[rows, vehicle, self.last[at], self.returning[at]] = -torch.inf

    def _settle(self, rows: Tensor, vehicle: Tensor, place: Tensor) -> None:
        """Forbid the edges of other vehicles at customers that now have a vehicle."""
        rows, vehicle, place = (x[place > 0] for x in (rows, vehicle, place))
        self.adds[rows, place] = 0
        mine_out = self.scores[rows, vehicle, place]
        mine_in = self.scores[rows, vehicle, :, place]
        self.scores[rows, :, place] = -torch.inf
        self.scores[rows, :, :, place] = -torch.inf
        self.scores[rows, vehicle, place] = mine_out
        self.scores[rows, vehicle, :, place] = mine_in

    def tours(self) -> Tensor:
        """Return the tours, shape (B, M, N): the path that leaves, then the other."""
        after = self.after.scatter(1, self.last, self.returning)
        after[:, 0] = 0
        here = torch.where(self.first > 0, self.first, self.returning)
        stops = []
        for _ in range(self.prediction.locations - 1):
            stops.append(here)
            here = after.gather(1, here)
        return torch.stack(stops, 2)
