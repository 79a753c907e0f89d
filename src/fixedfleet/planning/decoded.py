"""What every decoder returns: tours as a tensor, and whom they leave out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fixedfleet.plan import PlanBatch

__all__ = ["Decoded", "to_plans"]


@dataclass(frozen=True, eq=False)
class Decoded:
    """
    Plans of a batch as tensors.

    Attributes
    ----------
    routes
        Shape (B, M', N): the customers of each tour in visiting order, then zeros. M'
        is above the fleet only where a guarantee asked for more tours.
    unserved
        Which customers no tour serves, shape (B, N').
    """

    routes: Tensor
    unserved: Tensor

    @classmethod
    def from_routes(cls, routes: Tensor, customers: Tensor) -> Decoded:
        """Find out whom the tours leave out of ``customers``, shape (B, N')."""
        served = torch.zeros_like(customers)
        served.scatter_(1, routes.flatten(1), True)
        return cls(routes, customers & ~served)

    @classmethod
    def from_walk(cls, walk: Tensor, fleet: int, customers: Tensor) -> Decoded:
        """
        Cut walks into tours.

        Parameters
        ----------
        walk
            Shape (B, N + M): the locations visited one after another, a 0 each time a
            vehicle comes home (or stays there) and the next one sets out.
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
        """Load of each tour in whole units, (B, M'); ``demands`` is (B, N')."""
        rows, tours, longest = self.routes.shape
        amounts = demands.gather(1, self.routes.flatten(1))
        return amounts.view(rows, tours, longest).sum(2)


def concatenate(parts: list[Decoded]) -> Decoded:
    """Join the plans of several batches, padding to the most tours."""
    if len(parts) == 1:
        return parts[0]
    tours = max(part.routes.shape[1] for part in parts)
    routes = [
        torch.nn.functional.pad(part.routes, (0, 0, 0, tours - part.routes.shape[1]))
        for part in parts
    ]
    return Decoded(torch.cat(routes), torch.cat([part.unserved for part in parts]))


def to_plans(decoded: Decoded) -> PlanBatch:
    """Return the plans as a :class:`PlanBatch`; empty tours drop out."""
    return PlanBatch.from_tours(decoded.routes.cpu().numpy())
