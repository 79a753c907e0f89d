"""Tours of a batch as one tensor (B, M, N), which every decoder returns."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.plan import PlanBatch

__all__ = ["make_plans", "split_walks", "tour_loads", "unserved_customers"]


def unserved_customers(tours: Tensor, customers: Tensor) -> Tensor:
    """
    Return a mask of the customers that no tour serves, shape (B, N').

    ``tours`` has shape (B, M, N), and ``customers`` masks all customers, (B, N').
    """
    served = torch.zeros_like(customers).scatter_(1, tours.flatten(1), True)
    return customers & ~served


def tour_loads(tours: Tensor, demands: Tensor) -> Tensor:
    """Return the load of each tour, (B, M), in the units of ``demands`` (B, N')."""
    return demands.gather(1, tours.flatten(1)).view_as(tours).sum(2)


def make_plans(tours: Tensor) -> PlanBatch:
    """Return tours (B, M, N) as plans on the CPU; empty tours are dropped."""
    stops = pad(tours, (1, 1)).flatten(1)  # a 0 before and after each tour
    kept = pad((stops[:, 1:] > 0) | (stops[:, :-1] > 0), (1, 0))
    place = kept.cumsum(1)  # from 1; what is dropped goes to place 0, removed below
    width = 1 + int(place.max()) if len(place) else 1
    routes = stops.new_zeros((len(stops), width))
    routes.scatter_(1, place * kept, stops)
    return PlanBatch(routes[:, 1:].cpu().numpy())


def split_walks(walks: Tensor, fleet: int) -> Tensor:
    """
    Split walks (B, N + M) into tours (B, M, N).

    A walk lists the locations that all vehicles visit, one vehicle after the other.
    Each 0 ends the tour of a vehicle.
    """
    batch, steps = walks.shape
    longest = steps - fleet
    home = walks == 0
    vehicle = home.cumsum(1) - home.long()  # (B, N + M)
    clock = torch.arange(steps, device=walks.device)
    begin = torch.where(home, clock + 1, 0).cummax(1).values
    place = vehicle * longest + clock - begin
    nowhere = fleet * longest
    tours = walks.new_zeros((batch, nowhere + 1))
    tours.scatter_(1, place.masked_fill(home, nowhere), walks)
    return tours[:, :nowhere].view(batch, fleet, longest)
