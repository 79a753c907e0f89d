"""
The paper's loss: how improbable the label's tours are in the prediction.

The paper is Thyssens, Falkner and Schmidt-Thieme, arXiv:2201.01529 (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import torch
from torch import Tensor

from fixedfleet.errors import at_least, between, check_settings
from fixedfleet.training.assignment import match_tours
from fixedfleet.training.greedy_loads import greedy_loads
from fixedfleet.training.losses import Loss

if TYPE_CHECKING:
    from fixedfleet.model.features import Features
    from fixedfleet.training.training_data import TrainingBatch

__all__ = ["PlanLoss", "Target"]


@dataclass(frozen=True, kw_only=True)
class PlanLoss(Loss):
    """
    The paper's loss, equation 4.8: an edge term and two load terms.

    A label does not say which vehicle drives which tour, nor in which direction. So
    each vehicle k is matched with a tour π(k) of the label, such that the loss is as
    small as possible, and each tour counts in its likelier direction.

    The edge term is the negative log-likelihood of the label's N + M edges, as a mean.
    The load terms are sums over the vehicles, with loads as shares of the capacity.
    load(Y_π(k)) is the load of the tour. load(Ŷ_k) is the load of vehicle k in the
    pseudo-greedy plan, which follows the likeliest edges and ignores the capacity.
    load(Ŷ_k) has no gradient, so the load terms only influence the matching. The paper
    gives no weights; the presets use those of its authors' code.

    Parameters
    ----------
    start_weight
        The weight w of the edges out of the depot. The edge term is then w times the
        mean over these edges, plus 1 − w times the mean over all other edges. None: all
        edges have the same weight.
    load_weight
        α_load, the weight of |load(Ŷ_k) − load(Y_π(k))|, summed over the vehicles.
    overload_weight
        α_over, the weight of load(Ŷ_k)², summed over the vehicles whose load exceeds
        the capacity.

    Raises
    ------
    InputError
        If a weight is negative.
    """

    terms: ClassVar = ("total", "edges", "load", "overload")

    start_weight: Annotated[float, between(0, 1)] | None = None
    load_weight: Annotated[float, at_least(0)] = 0.2
    overload_weight: Annotated[float, at_least(0)] = 0.1

    def __post_init__(self) -> None:
        check_settings(self, "loss.")

    def __call__(self, output: Tensor, batch: TrainingBatch) -> dict[str, Tensor]:
        """Return the loss of log Ŷ, shape (B, M, N', N'), and its terms by name."""
        features = batch.features
        target = Target.from_routes(batch.routes, features)
        real = features.vehicles

        def mean(terms: Tensor) -> Tensor:
            """
            Return the sum of terms (B, M) over the vehicles, averaged over the batch.
            """
            return (terms * real).sum(1).mean()

        edge_costs = _edge_costs(output, features, target, self.start_weight)
        load_costs, overloads = _load_costs(output, batch, target, self)
        # The direction of a tour does not change its load, so the minimum over both
        # directions in `edge_costs` is enough.
        costs = edge_costs + load_costs + overloads[..., None]  # (B, M, M)
        tours = match_tours(costs, real)
        edges = mean(edge_costs.gather(2, tours)[..., 0])
        load = mean(load_costs.gather(2, tours)[..., 0])
        overload = mean(overloads)
        total = edges + load + overload
        return {"total": total, "edges": edges, "load": load, "overload": overload}


class Target(NamedTuple):
    """
    The E = N + M edges of each label.

    An unused vehicle stays at the depot: its tour has one edge, (0, 0).

    Attributes
    ----------
    start, end, owner
        Both ends of each edge, and the number of its tour, each of shape (B, E).
    real
        Which edges are not padding, shape (B, E).
    """

    start: Tensor
    end: Tensor
    owner: Tensor
    real: Tensor

    @classmethod
    def from_routes(cls, routes: Tensor, features: Features) -> Target:
        """
        Return the edges of labels, given as routes of shape (B, N + M).

        A row of ``routes`` has the customers of a plan, with a 0 after each tour.
        ``features`` are those of the same instances.
        """
        end = routes.long()
        start = torch.nn.functional.pad(end[:, :-1], (1, 0))
        home = (end == 0).long()
        owner = (home.cumsum(1) - home).clamp(max=features.vehicles.shape[1] - 1)
        size = features.nodes.sum(1) - 1 + features.vehicles.sum(1)
        real = torch.arange(end.shape[1], device=end.device) < size[:, None]
        return cls(start, end, owner, real)

    def members(self, tours: int) -> Tensor:
        """Return which edges belong to which tour, as 1 or 0, shape (B, E, tours)."""
        number = torch.arange(tours, device=self.owner.device)
        return ((self.owner[..., None] == number) & self.real[..., None]).float()


def _edge_costs(
    log_probs: Tensor, features: Features, target: Target, start_weight: float | None
) -> Tensor:
    """
    Return the edge term of each vehicle with each tour of the label, (B, M, M).

    It is the weighted negative log-likelihood of the tour's edges for the vehicle, in
    the likelier of the tour's two directions. ``start_weight`` is as in
    :class:`PlanLoss`.
    """
    m, n = log_probs.shape[1:3]
    flat = log_probs.flatten(2)  # (B, M, N' · N')
    members = target.members(m)
    counts = features.vehicles[..., None] & target.real[:, None]
    fleet = features.vehicles.sum(1)[:, None, None]
    edges = target.real.sum(1)[:, None, None]  # N + M
    costs = []
    for start, end in ((target.start, target.end), (target.end, target.start)):
        index = (start * n + end)[:, None].expand(-1, m, -1)
        logs = flat.gather(2, index)  # (B, M, E)
        logs = torch.where(counts, logs, torch.zeros_like(logs))
        weight = 1 / edges
        if start_weight is not None:  # M edges leave the depot, N leave customers
            leaves = (start == 0)[:, None]
            others = (1 - start_weight) / (edges - fleet)
            weight = torch.where(leaves, start_weight / fleet, others)
        costs.append(-(logs * weight) @ members)
    return torch.minimum(*costs)


def _load_costs(
    log_probs: Tensor, batch: TrainingBatch, target: Target, config: PlanLoss
) -> tuple[Tensor, Tensor]:
    """
    Return the weighted load terms and the weighted overload terms of :class:`PlanLoss`.

    The load terms have shape (B, M, M): one for each pair of vehicle and tour of the
    label. The overload terms have shape (B, M): one for each vehicle.
    """
    features = batch.features
    size, m = log_probs.shape[:2]
    if not (config.load_weight or config.overload_weight):
        return log_probs.new_zeros((size, m, m)), log_probs.new_zeros((size, m))
    predicted = _hard_loads(log_probs, batch)
    amounts = features.demands.gather(1, target.end)
    labelled = (amounts[..., None] * target.members(m)).sum(1)  # (B, M)
    load = (predicted[:, :, None] - labelled[:, None]).abs()
    # A rounding error above a full load is not an overload.
    over = torch.where(predicted > 1 + 1e-5, predicted.square(), 0.0)
    return config.load_weight * load, config.overload_weight * over


@torch.no_grad()
def _hard_loads(log_probs: Tensor, batch: TrainingBatch) -> Tensor:
    """
    Return the loads of the vehicles in the pseudo-greedy plan, shape (B, M).

    They are shares of the capacity. The plan follows the likeliest edges and ignores
    the capacity.
    """
    nodes = batch.features.nodes
    customers = torch.nn.functional.pad(nodes[:, 1:], (1, 0))  # without the depot
    loads = greedy_loads(
        log_probs.detach(), batch.units, customers, batch.features.vehicles
    )
    return loads.to(log_probs.dtype) / batch.capacity[:, None]
