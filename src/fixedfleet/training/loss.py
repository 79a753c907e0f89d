"""The loss: the likelihood of a plan whatever its vehicles' order and directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.model.features import Features, sweep_order
from fixedfleet.model.normalise import NORMALISATIONS
from fixedfleet.training.assignment import assign
from fixedfleet.training.greedy import greedy_loads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Loads", "LossConfig", "LossParts", "Matching", "Target", "plan_loss"]

Matching = Literal["assignment", "sweep"]
Loads = Literal["hard", "soft", "none"]

_APART = 1e5  # cost of matching a vehicle with padding: above any plan's


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """
    What the loss is made of. The defaults are the paper's.

    Parameters
    ----------
    matching
        Which vehicle a label's tour is for: ``assignment``: the cheapest permutation;
        ``sweep``: the tours in their order around the depot.
    loads
        Loads of Ŷ: ``hard``: of the pseudo-greedy plan, without a gradient, so that
        they only steer the assignment; ``soft``: expected ones; ``none``: no terms.
    load_weight
        α_load, the weight of |load(Ŷ_k) − load(Y_π(k))|.
    overload_weight
        α_over, the weight of (1 + load − Q)² above the capacity.
    depot_share
        Weight of the depot's rows; the customers' rows have the rest.
    cluster_weight
        Weight of a cross-entropy on whether two customers share a tour, Σ_k of both
        being k's, which needs no matching; 0 for none.

    Raises
    ------
    InputError
        If a weight is negative or a choice is unknown.
    """

    matching: Matching = "assignment"
    loads: Loads = "hard"
    load_weight: float = 0.3
    overload_weight: float = 0.2
    depot_share: float = 0.5
    cluster_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("load_weight", "overload_weight", "depot_share", "cluster_weight"):
            value = getattr(self, name)
            number = type(value) in (int, float)
            if not number or not 0 <= value < float("inf"):
                raise InputError(
                    f"loss setting {name} is {value!r}, not a number of at least 0"
                )
        if self.depot_share > 1:
            raise InputError(
                f"loss setting depot_share is {self.depot_share:g}, above 1"
            )
        choices: dict[str, Any] = {"matching": Matching, "loads": Loads}
        for name, choice in choices.items():
            if getattr(self, name) not in get_args(choice):
                raise InputError(
                    f"loss setting {name} is {getattr(self, name)!r}: choose from "
                    f"{', '.join(get_args(choice))}"
                )

    def check(self, normalisation: str) -> None:
        """Raise InputError if the loss needs other sums than Ŷ's normalisation has."""
        needs = self.loads == "soft" or self.cluster_weight > 0
        if needs and NORMALISATIONS.get(normalisation).row_sum != "probability":
            raise InputError(
                "soft loads and the cluster term need a normalisation in which "
                "Σ_j Ŷ_kij is the probability that vehicle k serves customer i, such "
                f"as 'joint' or 'softassign', not {normalisation!r}"
            )


class Target(NamedTuple):
    """
    A label's N + M edges. A vehicle that stays has the edge (0, 0).

    Attributes
    ----------
    start, end, owner
        Where each edge begins and ends, and the tour it is of, shape (B, E).
    real
        Which edges are no padding, shape (B, E).
    """

    start: Tensor
    end: Tensor
    owner: Tensor
    real: Tensor

    @classmethod
    def from_routes(cls, routes: Tensor, features: Features) -> Target:
        """Read rows of customers with a 0 after each tour, shape (B, N + M)."""
        end = routes.long()
        start = torch.nn.functional.pad(end[:, :-1], (1, 0))
        home = (end == 0).long()
        owner = (home.cumsum(1) - home).clamp(max=features.vehicles.shape[1] - 1)
        size = features.nodes.sum(1) - 1 + features.vehicles.sum(1)
        real = torch.arange(end.shape[1], device=end.device) < size[:, None]
        return cls(start, end, owner, real)

    def members(self, tours: int) -> Tensor:
        """1 where an edge is of a tour, shape (B, E, tours)."""
        number = torch.arange(tours, device=self.owner.device)
        return ((self.owner[..., None] == number) & self.real[..., None]).float()


class LossParts(NamedTuple):
    """The loss and what it consists of, each a number: the batch's mean."""

    total: Tensor
    edges: Tensor
    load: Tensor
    overload: Tensor
    cluster: Tensor


def plan_loss(
    log_probs: Tensor,
    features: Features,
    routes: Tensor,
    units: Tensor,
    capacity: Tensor,
    config: LossConfig,
    *,
    solver: Callable[[Tensor], Tensor] = assign,
) -> LossParts:
    """
    The paper's equation 4.8, averaged over the batch.

    Loads count in shares of the capacity and as a mean over the vehicles; a plan's
    rows are averaged, the depot's and the customers' apart.

    Parameters
    ----------
    log_probs
        log Ŷ, shape (B, M, N', N').
    features
        The instances.
    routes
        The labels, customers with a 0 after each tour, shape (B, N + M).
    units, capacity
        Whole units of demand and capacity, shapes (B, N') and (B,).
    config
        What the loss is made of.
    solver
        Solves the linear assignments.
    """
    target = Target.from_routes(routes, features)
    edges = edge_costs(log_probs, features, target, config.depot_share)
    load, overload = _load_costs(log_probs, features, target, units, capacity, config)
    # The two load terms are the same in both directions of a tour.
    cost = edges + load + overload[..., None]
    chosen = _match(cost, features, target, config, solver)[..., None]  # (B, M, 1)
    real = features.vehicles
    parts = [
        (term.gather(2, chosen)[..., 0] * real).sum(1).mean() for term in (edges, load)
    ]
    parts.append((overload * real).sum(1).mean())
    cluster = log_probs.new_zeros(())
    if config.cluster_weight:
        cluster = config.cluster_weight * cluster_loss(log_probs, features, target)
    total = parts[0] + parts[1] + parts[2] + cluster
    return LossParts(total, parts[0], parts[1], parts[2], cluster)


def edge_costs(
    log_probs: Tensor, features: Features, target: Target, depot_share: float
) -> Tensor:
    """
    −log-likelihood of tour p for vehicle k in its cheaper direction, (B, M, M).

    Parameters
    ----------
    log_probs, features, target
        Ŷ, the instances and their labels.
    depot_share
        Weight of the depot's rows.
    """
    m, n = log_probs.shape[1:3]
    flat = log_probs.flatten(2)  # (B, M, N' · N')
    members = target.members(m)
    vehicles = features.vehicles.sum(1, keepdim=True)
    customers = features.nodes.sum(1, keepdim=True) - 1
    costs = []
    for start, end in ((target.start, target.end), (target.end, target.start)):
        at_depot = depot_share / vehicles
        weight = torch.where(start == 0, at_depot, (1 - depot_share) / customers)
        index = (start * n + end)[:, None].expand(-1, m, -1)
        logs = flat.gather(2, index)  # (B, M, E)
        counts = features.vehicles[..., None] & target.real[:, None]
        logs = torch.where(counts, logs, torch.zeros_like(logs))
        costs.append(-(logs * weight[:, None]) @ members)
    return torch.minimum(*costs)


def _load_costs(
    log_probs: Tensor,
    features: Features,
    target: Target,
    units: Tensor,
    capacity: Tensor,
    config: LossConfig,
) -> tuple[Tensor, Tensor]:
    """Load terms of pairs (B, M, M), and overload terms of vehicles (B, M)."""
    m = log_probs.shape[1]
    if config.loads == "none" or not (config.load_weight or config.overload_weight):
        return log_probs.new_zeros((len(log_probs), m, m)), log_probs.new_zeros(
            (len(log_probs), m)
        )
    if config.loads == "soft":
        served = log_probs.exp().sum(3)  # (B, M, N')
        predicted = (served * features.demands[:, None]).sum(2)
    else:
        predicted = _greedy_loads(log_probs, features, units, capacity)
    amounts = features.demands.gather(1, target.end)
    labelled = (amounts[..., None] * target.members(m)).sum(1)  # (B, M)
    fleet = features.vehicles.sum(1, keepdim=True)
    load = (predicted[:, :, None] - labelled[:, None]).abs() / fleet[..., None]
    # A load of exactly the capacity is no overload, in floats either.
    over = torch.where(predicted > 1 + 1e-5, predicted.square(), 0.0) / fleet
    return config.load_weight * load, config.overload_weight * over


@torch.no_grad()
def _greedy_loads(
    log_probs: Tensor, features: Features, units: Tensor, capacity: Tensor
) -> Tensor:
    """Loads of the pseudo-greedy plan as shares of the capacity, shape (B, M)."""
    customers = features.nodes.clone()
    customers[:, 0] = False
    loads = greedy_loads(log_probs.detach(), units, customers, features.vehicles)
    return loads.to(log_probs.dtype) / capacity[:, None]


@torch.no_grad()
def _match(
    cost: Tensor,
    features: Features,
    target: Target,
    config: LossConfig,
    solver: Callable[[Tensor], Tensor],
) -> Tensor:
    """The tour of each vehicle, shape (B, M)."""
    if config.matching == "sweep":
        members = target.members(cost.shape[1]) * (target.end > 0)[..., None]
        index = target.end[..., None].expand(-1, -1, 2)
        points = features.coordinates.gather(1, index)  # (B, E, 2)
        count = members.sum(1)[..., None]
        centres = members.mT @ points / count.clamp_min(1)
        return sweep_order(features, centres, count[..., 0] == 0)
    # As many tours as vehicles are real: padding takes padding.
    apart = features.vehicles[:, :, None] != features.vehicles[:, None, :]
    return solver(cost.detach().masked_fill(apart, _APART))


def cluster_loss(log_probs: Tensor, features: Features, target: Target) -> Tensor:
    """Cross-entropy of "i and j share a tour", its probability being Σ_k m_ki m_kj."""
    served = log_probs.exp().sum(3)[:, :, 1:]  # m_ki, (B, M, N)
    together = (served.mT @ served).clamp(1e-6, 1 - 1e-6)  # (B, N, N)
    tour = torch.zeros_like(features.nodes, dtype=torch.long)
    tour = tour.scatter(1, target.end, target.owner)[:, 1:]
    same = tour[:, :, None] == tour[:, None, :]
    real = features.nodes[:, 1:]
    own = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
    pairs = real[:, :, None] & real[:, None, :] & ~own
    entropy = -torch.where(same, together.log(), (1 - together).log())
    count = pairs.sum((1, 2)).clamp_min(1)
    return ((entropy * pairs).sum((1, 2)) / count).mean()
