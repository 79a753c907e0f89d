"""Tours of a batch as tensors: as decoders return them, and as a repair needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["ChangingTours", "Decoded"]


@dataclass(frozen=True, eq=False, repr=False)
class Decoded:
    """
    Plans of a batch of instances as tensors.

    Attributes
    ----------
    routes
        Shape (B, K, N): the customers of each tour in visiting order, then zeros. The
        number of tours K exceeds the fleet only if a repair has added tours.
    unserved
        Which customers no tour serves, shape (B, N').
    """

    routes: Tensor
    unserved: Tensor

    @classmethod
    def from_routes(cls, routes: Tensor, customers: Tensor) -> Decoded:
        """Return tours (B, K, N) with those of ``customers`` (B, N') they leave out."""
        served = torch.zeros_like(customers)
        served.scatter_(1, routes.flatten(1), True)
        return cls(routes, customers & ~served)

    @classmethod
    def from_walk(cls, walk: Tensor, fleet: int, customers: Tensor) -> Decoded:
        """
        Split walks into tours.

        Parameters
        ----------
        walk
            Shape (B, N + M): the locations in visiting order. Each 0 ends the tour of a
            vehicle, and the next vehicle begins.
        fleet
            The number of vehicles, M.
        customers
            Which locations are customers, shape (B, N').
        """
        batch, steps = walk.shape
        longest = customers.shape[1] - 1
        home = walk == 0
        vehicle = home.cumsum(1) - home.long()  # (B, N + M)
        clock = torch.arange(steps, device=walk.device)
        begin = torch.where(home, clock + 1, 0).cummax(1).values
        place = vehicle * longest + clock - begin
        nowhere = fleet * longest
        routes = walk.new_zeros((batch, nowhere + 1))
        routes.scatter_(1, place.masked_fill(home, nowhere), walk)
        routes = routes[:, :nowhere].view(batch, fleet, longest)
        return cls.from_routes(routes, customers)

    def __repr__(self) -> str:
        left = int(self.unserved.sum())
        return f"Decoded({len(self.routes)} plans, {left} customers left out)"

    def loads(self, demands: Tensor) -> Tensor:
        """Return the load of each tour, (B, K), in the units of ``demands`` (B, N')."""
        amounts = demands.gather(1, self.routes.flatten(1))
        return amounts.view_as(self.routes).sum(2)

    def vehicles(self, fleet: int) -> Tensor:
        """Return the tour of each location, (B, N'); ``fleet`` for all without one."""
        count, tours, longest = self.routes.shape
        number = torch.arange(tours, device=self.routes.device).clamp(max=fleet)
        found = torch.full_like(self.unserved, fleet, dtype=torch.int64)
        numbers = number.repeat_interleave(longest).expand(count, -1)
        found.scatter_(1, self.routes.flatten(1), numbers)
        found[:, 0] = fleet
        return found

    def plans(self) -> PlanBatch:
        """Return the plans without empty tours, on the CPU."""
        stops = pad(self.routes, (1, 1)).flatten(1)  # a 0 before and after each tour
        kept = pad((stops[:, 1:] > 0) | (stops[:, :-1] > 0), (1, 0))
        place = kept.cumsum(1)  # from 1 on; all that is not kept goes to place 0
        width = 1 + int(place.max()) if len(place) else 1
        routes = stops.new_zeros((len(stops), width))
        routes.scatter_(1, place * kept, stops)
        return PlanBatch(routes[:, 1:].cpu().numpy())


class ChangingTours:
    """
    Tours into which a repair inserts customers, in place.

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
    rows
        The row numbers, shape (B,).
    base
        The number of tours per instance before any is added.
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
        self.rows = prediction.rows
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

    def open(self, where: Tensor) -> None:
        """Add an empty tour beyond the fleet in the rows ``where``, a mask (B,)."""
        number = (self.base + self.opened)[:, None].clamp(max=self.left.shape[1] - 1)
        fresh = torch.where(
            where, self.prediction.capacity, self.left.gather(1, number)[:, 0]
        )
        self.left.scatter_(1, number, fresh[:, None])
        self.opened += where

    def insert(
        self, customer: Tensor, vehicle: Tensor, place: Tensor, where: Tensor
    ) -> None:
        """Insert customers into tours at places, in the rows ``where``; all (B,)."""
        row = self.routes[self.rows, vehicle]  # (B, N)
        position = torch.arange(row.shape[1], device=row.device)
        before, at = position < place[:, None], position == place[:, None]
        moved = pad(row[:, :-1], (1, 0))
        moved = torch.where(at, customer[:, None], torch.where(before, row, moved))
        self.routes[self.rows, vehicle] = torch.where(where[:, None], moved, row)
        self.counts[self.rows, vehicle] += where
        demand = self.prediction.demands[self.rows, customer]
        self.left[self.rows, vehicle] -= demand * where

    def predicted_place(self, customer: Tensor, vehicle: Tensor) -> Tensor:
        """Return the place after the likeliest predecessor in a tour, shape (B,)."""
        log_probs, fleet = self.prediction.edges, self.prediction.fleet
        known = vehicle.clamp(max=fleet - 1)
        into = log_probs[self.rows, known, :, customer]  # (B, N')
        if self.routes.shape[1] > fleet:
            # Tours beyond the fleet have no prediction: edges of any vehicle count.
            any_into = log_probs[self.rows, :, :, customer]  # (B, M, N')
            absent = ~self.prediction.vehicles[..., None]
            any_into = any_into.masked_fill(absent, -torch.inf).amax(1)
            into = torch.where((vehicle >= fleet)[:, None], any_into, into)
        before = pad(self.routes[self.rows, vehicle], (1, 0))  # (B, N + 1)
        position = torch.arange(before.shape[1], device=before.device)
        exists = position <= self.counts[self.rows, vehicle][:, None]
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
