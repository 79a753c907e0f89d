"""
The loss of the universal network.

It compares the predicted vehicle and neighbours of each customer with the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import torch
from torch import Tensor

from fixedfleet.errors import at_least, check_settings
from fixedfleet.training.assignment import match_tours
from fixedfleet.training.losses import Loss
from fixedfleet.training.plan_loss import Target

if TYPE_CHECKING:
    from fixedfleet.model.universal import Rounds
    from fixedfleet.training.training_data import TrainingBatch

__all__ = ["MembershipLoss"]

_LEAST = -30.0  # log-probabilities below this have no gradient


@dataclass(frozen=True, kw_only=True)
class MembershipLoss(Loss):
    """
    The cross-entropy between the predicted vehicles of customers and the label's tours.

    The numbers of vehicles are arbitrary. So each tour of the label is first matched
    with a vehicle, such that the loss is as small as possible. The same matching is
    used for all rounds of the universal network. The membership term is the average of
    two numbers: the mean cross-entropy of all rounds, and the cross-entropy of the last
    round. A cluster term and a neighbour term are added to it.

    Parameters
    ----------
    cluster_weight
        Weight of the cluster term: the cross-entropy of "these two customers share a
        tour".
    neighbour_weight
        Weight of the neighbour term: the cross-entropy of the two neighbours of a
        customer in its tour.

    Raises
    ------
    InputError
        If a weight is negative.
    """

    terms: ClassVar = ("total", "edges", "cluster", "membership")

    cluster_weight: Annotated[float, at_least(0)] = 0.2
    neighbour_weight: Annotated[float, at_least(0)] = 0.3

    def __post_init__(self) -> None:
        check_settings(self, "loss.")

    def __call__(self, output: Rounds, batch: TrainingBatch) -> dict[str, Tensor]:
        """
        Return the loss of the predictions of all rounds, and its terms by name.

        The arguments are those of :meth:`Loss.__call__`.
        """
        features = batch.features
        real, vehicles = features.nodes[:, 1:], features.vehicles
        target = Target.from_routes(batch.routes, features)
        tour = _of_customers(target.end, target.owner, real)
        size = real.sum(1).clamp_min(1)
        number = torch.arange(vehicles.shape[1], device=tour.device)
        member = ((tour[..., None] == number) & real[..., None]).float()  # (B, N, M)
        costs = [
            -(logs.clamp_min(_LEAST).mT @ member) / size[:, None, None]
            for logs in output.membership
        ]  # the cost of giving tour p to vehicle k, (B, M, M)
        total = torch.stack([cost.detach() for cost in (*costs, costs[-1])]).sum(0)
        tours = match_tours(total, vehicles)
        entropies = [
            (cost.gather(2, tours)[..., 0] * vehicles).sum(1).mean() for cost in costs
        ]
        membership = (torch.stack(entropies).mean() + entropies[-1]) / 2
        same = (tour[:, :, None] == tour[:, None]) & (real[:, :, None] & real[:, None])
        clusters = [_cluster(logs, same, real) for logs in output.membership]
        cluster = self.cluster_weight * torch.stack(clusters).mean()
        ends = [
            _of_customers(one, other, real)
            for one, other in ((target.start, target.end), (target.end, target.start))
        ]
        logs = sum(output.neighbours.gather(2, end[..., None])[..., 0] for end in ends)
        edges = -self.neighbour_weight * ((logs / 2 * real).sum(1) / size).mean()
        return {
            "total": membership + cluster + edges,
            "edges": edges,
            "cluster": cluster,
            "membership": membership,
        }


def _of_customers(places: Tensor, values: Tensor, real: Tensor) -> Tensor:
    """
    Return the value of each customer's edge, shape (B, N).

    Each of the E edges of a label has a value in ``values``, and in ``places`` the
    customer at one of its ends, both (B, E). A customer gets the value of its edge.
    ``real`` masks the customers that are not padding, (B, N).
    """
    found = values.new_zeros((len(real), real.shape[1] + 1))
    return found.scatter(1, places, values)[:, 1:]


def _cluster(logs: Tensor, same: Tensor, real: Tensor) -> Tensor:
    """
    Return the cross-entropy of "customers i and j share a tour", a mean over the batch.

    The cross-entropy of an instance is the sum over all ordered pairs (i, j), divided
    by four times the number of customers. ``logs`` are the log-probabilities that
    vehicle k serves customer i, (B, N, M). ``same`` says which customers share a tour
    in the label, (B, N, N). ``real`` masks the customers that are not padding, (B, N).
    """
    served = logs.exp() * real[..., None]
    together = (served @ served.mT).clamp(1e-5, 1 - 1e-5)
    entropy = -torch.where(same, together.log(), (1 - together).log())
    place = torch.arange(real.shape[1], device=real.device)
    pairs = real[:, :, None] & real[:, None] & (place[:, None] != place)
    return ((entropy * pairs).sum((1, 2)) / real.sum(1).clamp_min(1)).mean() / 4
