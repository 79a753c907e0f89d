"""
Beam search for the multiple TSP, with which the paper compares its decoding.

Kaempfer and Wolf (2018) decode plans for salesmen without capacities. Neither they nor
the paper say how the beam search deals with capacities. Here, it ignores them: then the
share of solved instances is the same as in the paper.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fixedfleet.planning.tours import split_walks, tour_loads, unserved_customers

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["beam20", "beam200", "mtsp_beam_tours"]

# The log-probability of returning to the depot where the prediction has −inf: a vehicle
# must always be able to return.
_UNLIKELY = -1e4


def mtsp_beam_tours(prediction: Prediction, width: int) -> Tensor:
    """
    Return the tours (B, M, N) of the likeliest plan within the capacity.

    A beam search builds the plans. Vehicles leave the depot one after the other and go
    to any unserved customer, whatever the capacity. The last vehicle serves all
    customers that are left. At each step, the ``width`` likeliest partial plans are
    kept. If no plan is within the capacity at the end, all tours are empty. The
    instances must be of one size.
    """
    batch, size, fleet = len(prediction), prediction.locations, prediction.fleet
    edges = prediction.edges.double()  # (B, M, N', N')
    edges[..., 0].clamp_(min=_UNLIKELY)
    row = torch.arange(batch)[:, None]
    score = torch.full((batch, width), -torch.inf, dtype=torch.float64)
    score[:, 0] = 0.0
    vehicle = torch.zeros((batch, width), dtype=torch.long)
    here = torch.zeros_like(vehicle)
    free = torch.ones((batch, width, size), dtype=torch.bool)
    walks = torch.zeros((batch, width, 0), dtype=torch.long)
    for _ in range(size - 1 + fleet):
        onward = edges[row, vehicle.clamp(max=fleet - 1), here]  # (B, width, N')
        last = vehicle == fleet - 1
        allowed = free & (vehicle < fleet)[..., None]
        allowed[..., 0] = ~(last & free[..., 1:].any(-1))
        onward[..., 0][vehicle == fleet] = 0.0  # all vehicles are back
        total = score[..., None] + onward.masked_fill(~allowed, -torch.inf)
        # A stable sort breaks ties in the same way in every batch.
        best = total.flatten(1).sort(dim=1, descending=True, stable=True)
        score, choice = best.values[:, :width], best.indices[:, :width]
        parent, here = choice // size, choice % size
        home = here == 0
        vehicle = (vehicle.gather(1, parent) + home).clamp(max=fleet)
        free = free[row, parent].scatter(2, here[..., None], home[..., None])
        walks = torch.cat((walks[row, parent], here[..., None]), dim=2)
    walks[score == -torch.inf] = 0  # there are fewer plans than the beam is wide
    tours = split_walks(walks.flatten(0, 1), fleet)  # (B · width, M, N)
    demands = prediction.demands.repeat_interleave(width, 0)
    customers = prediction.customers.repeat_interleave(width, 0)
    room = prediction.room.repeat_interleave(width, 0)
    served = ~unserved_customers(tours, customers).any(1)
    within = (tour_loads(tours, demands) <= room).all(1)
    valid = (served & within).view(batch, width) & (score > -torch.inf)
    likeliest = score.masked_fill(~valid, -torch.inf).argmax(1)
    chosen = tours.view(batch, width, fleet, size - 1)[row[:, 0], likeliest]
    return torch.where(valid.any(1)[:, None, None], chosen, 0)


beam20 = partial(mtsp_beam_tours, width=20)
beam200 = partial(mtsp_beam_tours, width=200)
