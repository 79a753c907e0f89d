"""Order the customers of each vehicle, for all tours of a batch at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.tours import Decoded

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["order_by_distance"]

_CHUNK = 2**24  # entries of small distance matrices held at a time
_GAIN = 1e-9  # a smaller gain, as a share of the largest distance, is a rounding error


def order_by_distance(prediction: Prediction, vehicle: Tensor) -> Decoded:
    """
    Order the customers of each vehicle by farthest insertion and 2-opt.

    Parameters
    ----------
    prediction
        The instances.
    vehicle
        The vehicle of each customer, shape (B, N'), M if it is unassigned.
    """
    batch, fleet = len(prediction), prediction.fleet
    number = torch.arange(fleet, device=vehicle.device)
    member = vehicle[:, None] == number[:, None]  # (B, M, N')
    longest = int(member.sum(2).max())
    # Members first, by number; the depot for the rest.
    first = (~member).byte().sort(dim=2, stable=True).indices[..., :longest]
    members = (first * member.gather(2, first)).view(batch * fleet, longest)
    owner = prediction.rows.repeat_interleave(fleet)
    chunk = max(1, _CHUNK // (longest + 2) ** 2)
    parts = zip(torch.split(owner, chunk), torch.split(members, chunk), strict=True)
    routes = torch.cat([_order(prediction.distances, *part) for part in parts])
    routes = routes.view(batch, fleet, longest)
    routes = pad(routes, (0, prediction.locations - 1 - longest))
    return Decoded.from_routes(routes, prediction.customers)


def _order(distances: Tensor, owner: Tensor, members: Tensor) -> Tensor:
    """Order members (T, L), zeros to the end, of the instances ``owner``, (T,)."""
    stops = pad(members, (1, 0))  # with the depot as stop 0: (T, L + 1)
    local = distances[owner[:, None, None], stops[:, :, None], stops[:, None]]
    counts = (members > 0).sum(1)
    tour = _two_opt(local, _farthest_insertion(local, counts), counts)
    return stops.gather(1, tour)


def _farthest_insertion(local: Tensor, counts: Tensor) -> Tensor:
    """Return tours of stops (T, L), zeros to the end; distances (T, L + 1, L + 1)."""
    tours, stops, _ = local.shape
    rows = torch.arange(tours, device=local.device)
    position = torch.arange(stops, device=local.device)
    outside = (position > 0) & (position <= counts[:, None])  # (T, L + 1)
    nearest = local[:, 0]  # the distance from the tour so far
    tour = torch.zeros((tours, stops), dtype=torch.int64, device=local.device)
    for placed in range(stops - 1):
        stop = nearest.masked_fill(~outside, -1.0).argmax(1)  # 0 where all are placed
        after = tour.roll(-1, 1)  # the last entry is always free, so it is the depot
        into = local[rows[:, None], tour, stop[:, None]]
        out = local[rows[:, None], stop[:, None], after]
        detour = into + out - local[rows[:, None], tour, after]
        place = detour[:, : placed + 1].argmin(1, keepdim=True) + 1  # (T, 1)
        moved = torch.where(position > place, tour.roll(1, 1), tour)
        moved = torch.where(position == place, stop[:, None], moved)
        tour = torch.where(stop[:, None] > 0, moved, tour)
        outside.scatter_(1, stop[:, None], False)
        nearest = torch.minimum(nearest, local[rows, stop])
    return tour[:, 1:]


def _two_opt(local: Tensor, tour: Tensor, counts: Tensor) -> Tensor:
    """Reverse the best segment of each tour until no reversal shortens it."""
    result = tour.clone()
    active = (counts > 2).nonzero()[:, 0]
    longest = tour.shape[1]
    position = torch.arange(longest, device=tour.device)
    for _ in range(10 * longest):
        if len(active) == 0:
            break
        local_now, tour_now = local[active], result[active]
        gain, begin, end = _best_reversal(local_now, tour_now, counts[active])
        inside = (position >= begin[:, None]) & (position <= end[:, None])
        mirrored = (begin + end)[:, None] - position
        turned = tour_now.gather(1, torch.where(inside, mirrored, position))
        better = gain > _GAIN * local_now.flatten(1).amax(1)
        active = active[better]
        result[active] = turned[better]
    return result


def _best_reversal(
    local: Tensor, tour: Tensor, counts: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what the best reversal saves, its first and its last position, (T,)."""
    longest = tour.shape[1]
    rows = torch.arange(len(tour), device=tour.device)[:, None]
    path = pad(tour, (1, 1))  # from the depot and back: (T, L + 2)
    before, after = path[:, :-2], path[:, 2:]
    forth = local[rows, path[:, :-1], path[:, 1:]]  # (T, L + 1)
    back = local[rows, path[:, 1:], path[:, :-1]]
    # The edges inside a segment are reversed, too: asymmetric distances change.
    extra = (back - forth).cumsum(1)  # (T, L + 1)
    inner = extra[:, None, :-1] - extra[:, :-1, None]  # (T, first, last)
    grid = rows[:, :, None]
    new = local[grid, before[:, :, None], tour[:, None]]
    new = new + local[grid, tour[:, :, None], after[:, None]]
    old = forth[:, :-1, None] + forth[:, None, 1:]
    position = torch.arange(longest, device=tour.device)
    possible = (position[:, None] < position) & (position < counts[:, None, None])
    saved = (old - new - inner).masked_fill(~possible, -torch.inf)
    gain, best = saved.flatten(1).max(1)
    return gain, best // longest, best % longest
