"""Tours under construction: customers put in and taken out, a whole batch at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.decoded import Decoded

if TYPE_CHECKING:
    from fixedfleet.planning.problem import Problem

__all__ = ["Tours"]


class Tours:
    """
    Tours that change in place.

    Parameters
    ----------
    problem
        The prediction and its instances.
    decoded
        The tours to begin with, at least M of them a row; none overloaded.
    extra
        How many more tours may be opened.

    Attributes
    ----------
    routes
        Shape (B, K, N), as in :class:`Decoded`.
    counts
        Customers of each tour, shape (B, K).
    left
        Room left in each tour, shape (B, K); −1 where there is no vehicle.
    """

    def __init__(self, problem: Problem, decoded: Decoded, extra: int = 0) -> None:
        self.problem = problem
        self.base = decoded.routes.shape[1]
        self.routes = pad(decoded.routes, (0, 0, 0, extra)).clone()
        self.counts = (self.routes > 0).sum(2)
        room = pad(problem.room, (0, self.base - problem.fleet), value=-1)
        loads = decoded.loads(problem.demands)
        # Tours beyond the fleet are vehicles too, where they are in use already.
        used = (self.counts[:, : self.base] > 0) & (room < 0)
        room = torch.where(used, problem.capacity[:, None], room)
        self.left = pad(room - loads, (0, extra), value=-1)
        self.opened = torch.zeros_like(problem.capacity)
        self.everyone = torch.arange(problem.rows, device=problem.device)

    def decoded(self) -> Decoded:
        """Return the tours as they are now, without tours nobody opened."""
        most = self.base + int(self.opened.max()) if len(self.opened) else self.base
        return Decoded.from_routes(self.routes[:, :most], self.problem.customers)

    def open(self, rows: Tensor) -> None:
        """Add an empty tour beyond the fleet in the given rows, (B,) bool."""
        number = (self.base + self.opened)[:, None].clamp(max=self.left.shape[1] - 1)
        fresh = torch.where(
            rows, self.problem.capacity, self.left.gather(1, number)[:, 0]
        )
        self.left.scatter_(1, number, fresh[:, None])
        self.opened += rows

    def insert(
        self, customer: Tensor, vehicle: Tensor, place: Tensor, where: Tensor
    ) -> None:
        """Put customers at places of tours, all (B,), in the rows of ``where``."""
        row = self.routes[self.everyone, vehicle]  # (B, N)
        position = torch.arange(row.shape[1], device=row.device)
        before, at = position < place[:, None], position == place[:, None]
        moved = pad(row[:, :-1], (1, 0))
        moved = torch.where(at, customer[:, None], torch.where(before, row, moved))
        self.routes[self.everyone, vehicle] = torch.where(where[:, None], moved, row)
        self.counts[self.everyone, vehicle] += where
        demand = self.problem.demands[self.everyone, customer]
        self.left[self.everyone, vehicle] -= demand * where

    def remove(self, leaving: Tensor) -> None:
        """Take customers, shape (B, N') bool, out of their tours."""
        flat = self.routes.flatten(1)
        stays = (~leaving.gather(1, flat)).view_as(self.routes) & (self.routes > 0)
        # A stable sort closes the gaps and keeps the order of those who stay.
        order = (~stays).byte().sort(dim=2, stable=True).indices
        self.routes = (self.routes * stays).gather(2, order)
        self.counts = stays.sum(2)
        freed = self.problem.demands * leaving
        freed = freed.gather(1, flat).view_as(stays).sum(2)
        self.left = self.left + freed

    def predicted_place(self, customer: Tensor, vehicle: Tensor) -> Tensor:
        """Where in the tour its likeliest predecessor stands, (B,)."""
        problem = self.problem
        inside = vehicle.clamp(max=problem.fleet - 1)
        into = problem.log_probs[problem.owner, inside, :, customer]  # (B, N')
        if self.routes.shape[1] > problem.fleet:
            # The prediction knows no tour beyond the fleet: any vehicle's word counts.
            any_into = problem.log_probs[problem.owner, :, :, customer]  # (B, M, N')
            absent = ~problem.vehicles[..., None]
            any_into = any_into.masked_fill(absent, -torch.inf).amax(1)
            into = torch.where((vehicle >= problem.fleet)[:, None], any_into, into)
        before = pad(self.routes[self.everyone, vehicle], (1, 0))  # (B, N + 1)
        position = torch.arange(before.shape[1], device=before.device)
        exists = position <= self.counts[self.everyone, vehicle][:, None]
        return into.gather(1, before).masked_fill(~exists, -torch.inf).argmax(1)

    def detours(self, customer: Tensor) -> Tensor:
        """What putting a customer at each place of each tour adds, (B, K, N + 1)."""
        before = pad(self.routes, (1, 0))  # (B, K, N + 1)
        after = pad(self.routes, (0, 1))
        between, single = self.problem.between, customer[:, None, None]
        detour = between(before, single) + between(single, after)
        detour = detour - between(before, after)
        position = torch.arange(before.shape[2], device=before.device)
        return detour.masked_fill(position > self.counts[..., None], torch.inf)

    def nearest_place(self, customer: Tensor, vehicle: Tensor) -> Tensor:
        """Where in the given tour the customer adds least, (B,)."""
        return self.detours(customer)[self.everyone, vehicle].argmin(1)
