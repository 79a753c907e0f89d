"""Tours of a batch that change in place: customers are inserted and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.decoded import Decoded

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["Tours"]


class Tours:
    """
    Tours that change in place.

    Parameters
    ----------
    prediction
        The prediction and its instances.
    decoded
        The first tours, at least M per instance, none overloaded.
    extra
        The largest number of tours that may be added per instance.

    Attributes
    ----------
    routes
        Shape (B, K, N), as in :class:`Decoded`.
    counts
        The number of customers of each tour, shape (B, K).
    left
        The room left in each tour, shape (B, K); −1 for a tour without a vehicle.
    opened
        The number of tours that were added, shape (B,).
    """

    def __init__(self, prediction: Prediction, decoded: Decoded, extra: int) -> None:
        self.prediction = prediction
        self.everyone = prediction.everyone
        self.base = decoded.routes.shape[1]
        self.routes = pad(decoded.routes, (0, 0, 0, extra)).clone()
        self.counts = (self.routes > 0).sum(2)
        room = pad(prediction.room, (0, self.base - prediction.fleet), value=-1)
        # A tour beyond the fleet that has customers already has a vehicle, too.
        used = (self.counts[:, : self.base] > 0) & (room < 0)
        room = torch.where(used, prediction.capacity[:, None], room)
        loads = decoded.loads(prediction.demands)
        self.left = pad(room - loads, (0, extra), value=-1)
        self.opened = torch.zeros_like(prediction.capacity)

    def decoded(self) -> Decoded:
        """Return the tours as they are now."""
        most = self.base + int(self.opened.max())
        return Decoded.from_routes(self.routes[:, :most], self.prediction.customers)

    def open(self, rows: Tensor) -> None:
        """Add an empty tour beyond the fleet in the rows of a mask, shape (B,)."""
        number = (self.base + self.opened)[:, None].clamp(max=self.left.shape[1] - 1)
        fresh = torch.where(
            rows, self.prediction.capacity, self.left.gather(1, number)[:, 0]
        )
        self.left.scatter_(1, number, fresh[:, None])
        self.opened += rows

    def insert(
        self, customer: Tensor, vehicle: Tensor, place: Tensor, where: Tensor
    ) -> None:
        """Insert customers into tours at places, all (B,), in the rows ``where``."""
        row = self.routes[self.everyone, vehicle]  # (B, N)
        position = torch.arange(row.shape[1], device=row.device)
        before, at = position < place[:, None], position == place[:, None]
        moved = pad(row[:, :-1], (1, 0))
        moved = torch.where(at, customer[:, None], torch.where(before, row, moved))
        self.routes[self.everyone, vehicle] = torch.where(where[:, None], moved, row)
        self.counts[self.everyone, vehicle] += where
        demand = self.prediction.demands[self.everyone, customer]
        self.left[self.everyone, vehicle] -= demand * where

    def remove(self, leaving: Tensor) -> None:
        """Remove the customers of a mask, shape (B, N'), from their tours."""
        flat = self.routes.flatten(1)
        stays = (~leaving.gather(1, flat)).view_as(self.routes) & (self.routes > 0)
        # A stable sort closes the gaps and keeps the order of the others.
        order = (~stays).byte().sort(dim=2, stable=True).indices
        self.routes = (self.routes * stays).gather(2, order)
        self.counts = stays.sum(2)
        freed = self.prediction.demands * leaving
        freed = freed.gather(1, flat).view_as(stays).sum(2)
        self.left = self.left + freed

    def predicted_place(self, customer: Tensor, vehicle: Tensor) -> Tensor:
        """Return the place after the likeliest predecessor in a tour, shape (B,)."""
        log_probs, fleet = self.prediction.log_probs, self.prediction.fleet
        known = vehicle.clamp(max=fleet - 1)
        into = log_probs[self.everyone, known, :, customer]  # (B, N')
        if self.routes.shape[1] > fleet:
            # Tours beyond the fleet have no prediction: edges of any vehicle count.
            any_into = log_probs[self.everyone, :, :, customer]  # (B, M, N')
            absent = ~self.prediction.vehicles[..., None]
            any_into = any_into.masked_fill(absent, -torch.inf).amax(1)
            into = torch.where((vehicle >= fleet)[:, None], any_into, into)
        before = pad(self.routes[self.everyone, vehicle], (1, 0))  # (B, N + 1)
        position = torch.arange(before.shape[1], device=before.device)
        exists = position <= self.counts[self.everyone, vehicle][:, None]
        return into.gather(1, before).masked_fill(~exists, -torch.inf).argmax(1)

    def detours(self, customer: Tensor) -> Tensor:
        """Return the length a customer adds at each place, shape (B, K, N + 1)."""
        before = pad(self.routes, (1, 0))  # (B, K, N + 1)
        after = pad(self.routes, (0, 1))
        between, single = self.prediction.between, customer[:, None, None]
        detour = between(before, single) + between(single, after)
        detour = detour - between(before, after)
        position = torch.arange(before.shape[2], device=before.device)
        return detour.masked_fill(position > self.counts[..., None], torch.inf)
