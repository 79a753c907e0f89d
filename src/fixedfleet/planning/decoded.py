"""The result of a decoder: tours as a tensor, and the customers they leave out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fixedfleet.plan import PlanBatch

__all__ = ["Decoded"]


@dataclass(frozen=True, eq=False)
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
        rows, steps = walk.shape
        longest = customers.shape[1] - 1
        home = walk == 0
        vehicle = home.cumsum(1) - home.long()  # (B, N + M)
        clock = torch.arange(steps, device=walk.device)
        begin = torch.where(home, clock + 1, 0).cummax(1).values
        place = vehicle * longest + clock - begin
        nowhere = fleet * longest
        routes = walk.new_zeros((rows, nowhere + 1))
        routes.scatter_(1, place.masked_fill(home, nowhere), walk)
        routes = routes[:, :nowhere].view(rows, fleet, longest)
        return cls.from_routes(routes, customers)

    def loads(self, demands: Tensor) -> Tensor:
        """Return the load of each tour, (B, K), in the units of ``demands`` (B, N')."""
        amounts = demands.gather(1, self.routes.flatten(1))
        return amounts.view_as(self.routes).sum(2)

    def plans(self) -> PlanBatch:
        """Return the plans without empty tours, on the CPU."""
        return PlanBatch.from_tours(self.routes.cpu().numpy())
