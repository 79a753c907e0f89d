"""Beam search over the edges of a prediction, after Kaempfer and Wolf (2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.greedy import ALWAYS, NEVER
from fixedfleet.planning.tours import split_walks

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["beam_tours"]

# The log-probability of returning to the depot where the prediction has −inf: a vehicle
# must always be able to return.
_UNLIKELY = -1e4
_CHUNK = 2**28  # bytes of the largest temporary tensor, to limit the memory


def beam_tours(prediction: Prediction, width: int = 20) -> Tensor:
    """
    Return tours (B, M, N), found by a beam search for the likeliest plan.

    Plans are built edge by edge, and after each step the ``width`` likeliest partial
    plans are kept. One vehicle after the other leaves the depot, serves customers that
    fit and returns, so every plan is complete after N + M steps. The plan with the
    least unserved demand is returned; of several such plans the shortest, then the
    likeliest. The paper uses widths of 20 and 200.
    """
    chunk = max(1, _CHUNK // (4 * prediction.locations * width))
    walks = [
        _search(prediction[begin : begin + chunk], width)
        for begin in range(0, len(prediction), chunk)
    ]
    return split_walks(torch.cat(walks), prediction.fleet)


class _Plans(NamedTuple):
    """
    The partial plans of the beam, one per row: ``width`` rows for each instance.

    W = B · width is the number of rows. Fields without a shape have shape (W,).
    """

    owner: Tensor  # the instance of the plan
    room: Tensor  # the capacity of each vehicle, (W, M + 1); −1 for padding and M
    need: Tensor  # the room that a vehicle must have to visit a location, (W, N')
    score: Tensor  # the sum of log-probabilities; −inf for an unused row
    length: Tensor  # of the tours so far
    vehicle: Tensor  # the vehicle that is driving; M after the last one
    here: Tensor  # the location of this vehicle
    left: Tensor  # the room left in this vehicle
    walk: Tensor  # all locations visited so far, (W, steps)


def _search(prediction: Prediction, width: int) -> Tensor:
    """
    Return the best plan of each instance as a walk, shape (B, N + M).

    A walk lists the locations of all tours, with a 0 after each tour.
    """
    plans = _first_plans(prediction, width)
    for _ in range(prediction.locations - 1 + prediction.fleet):
        score, parent, target = _likeliest(prediction, plans, width)
        plans = _extend(prediction, plans, score, parent, target)
    missing = prediction.demands[plans.owner] * (plans.need != NEVER)
    absent = (plans.score == -torch.inf).long()
    best = torch.arange(width, device=absent.device).repeat(len(prediction), 1)
    for key in (-plans.score, plans.length, missing[:, 1:].sum(1), absent):
        ranked = key.view(-1, width).gather(1, best).argsort(dim=1, stable=True)
        # Sorting is stable: plans with equal keys stay sorted by the keys before.
        best = best.gather(1, ranked)
    return plans.walk[prediction.rows * width + best[:, 0]]


def _first_plans(prediction: Prediction, width: int) -> _Plans:
    """
    Return the first beam: for each instance, an empty plan and width − 1 unused rows.

    Unused rows have the score −inf.
    """
    owner = prediction.rows.repeat_interleave(width)
    room = pad(prediction.room, (0, 1), value=-1)[owner]
    need = torch.where(prediction.customers, prediction.demands, NEVER)[owner]
    need[:, 0] = ALWAYS
    length = torch.zeros_like(owner, dtype=torch.float64)
    score = length.view(-1, width).clone()
    score[:, 1:] = -torch.inf
    zeros, left = torch.zeros_like(owner), room[:, 0]
    walk = owner.new_empty((len(owner), 0))
    score = score.flatten()
    return _Plans(owner, room, need, score, length, zeros, zeros, left, walk)


def _likeliest(
    prediction: Prediction, plans: _Plans, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """
    Return the ``width`` likeliest extensions of the partial plans of each instance.

    An extension adds one location to a partial plan.

    Returns
    -------
    tuple
        For each extension its score, the row of the partial plan that it extends, and
        the location that it adds, each of shape (W,).
    """
    size = prediction.locations
    current = plans.vehicle.clamp(max=prediction.fleet - 1)
    edges = prediction.edges[plans.owner, current, plans.here].double()  # (W, N')
    edges[:, 0].clamp_(min=_UNLIKELY)
    # After the last vehicle, and for a vehicle that is padding, staying costs nothing.
    absent = plans.room.gather(1, plans.vehicle[:, None])[:, 0] < 0
    edges[:, 0].masked_fill_(absent, 0.0)
    edges = edges.masked_fill(plans.need > plans.left[:, None], -torch.inf)
    total = (plans.score[:, None] + edges).view(-1, width * size)
    # A stable sort breaks ties in the same way in every batch; topk does not.
    kept = total.sort(dim=1, descending=True, stable=True)
    choice = kept.indices[:, :width]  # (B, width)
    parent = prediction.rows[:, None] * width + choice // size
    score = kept.values[:, :width].flatten()
    return score, parent.flatten(), (choice % size).flatten()


def _extend(
    prediction: Prediction, plans: _Plans, score: Tensor, parent: Tensor, target: Tensor
) -> _Plans:
    """
    Return the extended plans: row i is plan ``parent[i]`` with ``target[i]`` visited.

    ``score`` holds the scores of the extended plans. ``score``, ``parent`` and
    ``target`` have shape (W,).
    """
    home = target == 0
    mark = torch.where(home, ALWAYS, NEVER)[:, None]
    vehicle = (plans.vehicle[parent] + home).clamp(max=prediction.fleet)
    rest = plans.left[parent] - prediction.demands[plans.owner, target]
    way = prediction.distances[plans.owner, plans.here[parent], target]
    fresh = plans.room.gather(1, vehicle[:, None])[:, 0]
    return plans._replace(
        need=plans.need[parent].scatter(1, target[:, None], mark),
        score=score,
        length=plans.length[parent] + way,
        vehicle=vehicle,
        here=target,
        left=torch.where(home, fresh, rest),
        walk=torch.cat((plans.walk[parent], target[:, None]), 1),
    )
