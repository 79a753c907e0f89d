"""The paper's layer: leave-one-out max pooling, weighted by the priming."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from fixedfleet.model.network import ModelConfig

__all__ = [
    "MaxPoolingLayer",
    "Pairs",
    "Priming",
    "leave_one_out_max",
]

# Numbers that the largest temporary tensor holds outside the kernels.
_CHUNK = 2**24


class Priming(nn.Module):
    """
    Weights of the messages between locations, one per channel.

    w_ij = γ_d · exp(−τ_d · d_ij / mean d) + γ_q · τ_q · (q_i + q_j) + β

    Parameters
    ----------
    width
        The number of channels, d.
    alike
        Whether all channels begin with the same weights.
    """

    def __init__(self, width: int, *, alike: bool = False) -> None:
        super().__init__()
        slowest, fastest, demand = (1.0, 1.0, 1.0) if alike else (0.25, 4.0, 0.1)
        self.gain_distance = nn.Parameter(torch.ones(width))
        self.rate_distance = nn.Parameter(torch.linspace(slowest, fastest, width))
        self.gain_demand = nn.Parameter(torch.full((width,), demand))
        self.rate_demand = nn.Parameter(torch.ones(width))
        self.offset = nn.Parameter(torch.zeros(width))

    def forward(self, distances: Tensor, demands: Tensor) -> Tensor:
        """Return the weights of pairs, from d_ij / mean d and q_i + q_j."""
        gain, rate, demand, offset = self.values()
        return gain * torch.exp(-rate * distances) + demand * demands + offset

    def values(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """γ_d, τ_d, γ_q · τ_q and β, each of shape (d,)."""
        demand = self.gain_demand * self.rate_demand
        return self.gain_distance, self.rate_distance, demand, self.offset


@torch.no_grad()
def _winners(
    messages: Tensor,
    distances: Tensor,
    demands: Tensor,
    allowed: Tensor,
    priming: Priming,
) -> Tensor:
    """Which j has the largest h_j ⊙ w_ij in each channel of i, shape (B, I, d)."""
    rows = max(1, _CHUNK // max(1, messages.numel()))  # a few i at a time
    winners = []
    for start in range(0, distances.shape[1], rows):
        some = slice(start, start + rows)
        weights = priming(distances[:, some, :, None], demands[:, some, :, None])
        weighted = messages[:, None] * weights  # (B, I, J, d)
        weighted = weighted.masked_fill(~allowed[:, some, :, None], -math.inf)
        winners.append(weighted.argmax(2))
    return torch.cat(winners, dim=1)


def leave_one_out_max(
    messages: Tensor,
    distances: Tensor,
    demands: Tensor,
    allowed: Tensor,
    priming: Priming,
) -> Tensor:
    """
    Return max_j h_j ⊙ w_ij over the allowed j, per channel, shape (B, I, d).

    Only the winning j of a channel has a gradient. So the winners are found first,
    without gradients, and then only their weights are computed again. No tensor of
    shape (B, I, J, d) is kept.

    Parameters
    ----------
    messages
        h_j, shape (B, J, d).
    distances
        d_ij / mean d, shape (B, I, J).
    demands
        q_i + q_j, shape (B, I, J).
    allowed
        From which j each i takes messages, shape (B, I, J); an i without any gets
        zeros.
    priming
        Computes the weights w_ij.
    """
    winners = _winners(messages, distances, demands, allowed, priming)  # (B, I, d)
    weights = priming(distances.gather(2, winners), demands.gather(2, winners))
    pooled = messages.gather(1, winners) * weights
    return torch.where(allowed.any(2, keepdim=True), pooled, torch.zeros_like(pooled))


def _others_max(messages: Tensor, real: Tensor) -> Tensor:
    """
    Return the maximum over the other elements of a group, unweighted, (B, K, d).

    It is the largest element of the group, or the second largest for the largest
    itself. Each is a sum of one element and zeros, so that only it has a gradient.
    """
    place = torch.arange(messages.shape[1], device=messages.device).view(1, -1, 1)
    rest = messages.masked_fill(~real[..., None], -math.inf)
    first = place == rest.argmax(1, keepdim=True)  # (B, K, d)
    largest = rest.where(first, 0.0).sum(1, keepdim=True)
    rest = rest.masked_fill(first, -math.inf)
    second = place == rest.argmax(1, keepdim=True)
    pooled = torch.where(first, rest.where(second, 0.0).sum(1, keepdim=True), largest)
    return torch.where(torch.isfinite(pooled), pooled, torch.zeros_like(pooled))


class Pairs(NamedTuple):
    """
    What max pooling needs to know about the instances.

    Attributes
    ----------
    distances, demands
        d_ij / mean d and q_i + q_j, shape (B, N', N').
    nodes, vehicles
        Which locations and vehicles are not padding, shapes (B, N') and (B, M).
    """

    distances: Tensor
    demands: Tensor
    nodes: Tensor
    vehicles: Tensor


class MaxPoolingLayer(nn.Module):
    """
    The paper's layer: max pooling over the three groups, then fully connected layers.

    With one sublayer, f([h; c]) has one hidden layer. With two, a linear map of [h; c]
    comes first, with a residual and a norm, and f is given its result.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, hidden = config.width, config.hidden
        groups = range(3 if config.own_weights else 1)
        two = config.sublayers == 2
        self.priming = None if config.one_priming else Priming(width)
        self.mix = nn.ModuleList(nn.Linear(4 * width, width) for _ in groups if two)
        self.mix_norm = nn.ModuleList(nn.LayerNorm(width) for _ in groups if two)
        self.feed = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width if two else 4 * width, hidden),
                nn.ReLU(),
                nn.Linear(hidden, width),
            )
            for _ in groups
        )
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in groups)
        self.fused = False

    def forward(
        self,
        nodes: Tensor,
        vehicles: Tensor,
        pairs: Pairs,
        shared: Priming | None = None,
    ) -> tuple[Tensor, Tensor]:
        """
        Return the next embeddings (B, N', d) and (B, M, d).

        ``shared`` is the priming of all layers, if this one has none of its own.
        """
        contexts = self.contexts(nodes, vehicles, pairs, shared)
        sizes = [1, nodes.shape[1] - 1, vehicles.shape[1]]
        if len(self.feed) == 1:
            sizes = [sum(sizes)]
        joined = torch.cat((nodes, vehicles), dim=1)  # (B, N' + M, d)
        inputs = torch.cat((joined, *contexts), dim=2)  # (B, N' + M, 4d)
        pieces = (torch.split(whole, sizes, 1) for whole in (joined, inputs))
        found = []
        for group, (h, x) in enumerate(zip(*pieces, strict=True)):
            if self.mix:
                h = x = self.mix_norm[group](h + self.mix[group](x))
            found.append(self.norm[group](h + self.feed[group](x)))
        joined = torch.cat(found, dim=1)
        return joined[:, : nodes.shape[1]], joined[:, nodes.shape[1] :]

    def contexts(
        self,
        nodes: Tensor,
        vehicles: Tensor,
        pairs: Pairs,
        shared: Priming | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the contexts c_dep, c_cus, c_veh, each (B, N' + M, d)."""
        n, m = nodes.shape[1], vehicles.shape[1]
        priming = shared or self.priming
        assert priming is not None
        depot = nodes[:, :1]
        weights = priming(pairs.distances[:, 1:, :1], pairs.demands[:, 1:, :1])
        pooled = self._pool_customers(nodes, pairs, priming)
        alone = torch.zeros_like(depot)
        if shared is not None:  # the own element takes part, with the weight β
            alone = depot * shared.offset
            own = torch.maximum(pooled[:, 1:], nodes[:, 1:] * shared.offset)
            pooled = torch.cat((pooled[:, :1], own), dim=1)
        c_dep = torch.cat((alone, depot * weights, depot.expand(-1, m, -1)), dim=1)

        customers = nodes[:, 1:].masked_fill(~pairs.nodes[:, 1:, None], -math.inf)
        c_cus = torch.cat(
            (pooled, customers.amax(1, keepdim=True).expand(-1, m, -1)), dim=1
        )

        fleet = vehicles.masked_fill(~pairs.vehicles[..., None], -math.inf)
        c_veh = torch.cat(
            (
                fleet.amax(1, keepdim=True).expand(-1, n, -1),
                _others_max(vehicles, pairs.vehicles),
            ),
            dim=1,
        )
        return c_dep, c_cus, c_veh

    def _pool_customers(self, nodes: Tensor, pairs: Pairs, priming: Priming) -> Tensor:
        """Return the weighted maximum over the other customers, shape (B, N', d)."""
        distances, demands, real, _ = pairs
        if self.fused and nodes.is_cuda:
            pool = torch.ops.fixedfleet.pool_primed
            values = priming.values()
            return cast("Tensor", pool(nodes, distances, demands, real, *values)[0])
        own = torch.eye(nodes.shape[1], dtype=torch.bool, device=nodes.device)[:, 1:]
        return leave_one_out_max(
            nodes[:, 1:],
            distances[:, :, 1:],
            demands[:, :, 1:],
            real[:, None, 1:] & ~own,  # (B, N', N)
            priming,
        )
