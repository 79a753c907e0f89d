"""
The layer of the paper's network: max pooling over all other locations and vehicles.

Before the maximum is taken, the messages between locations are multiplied by learned
weights, which the paper calls "priming".
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

__all__ = [
    "MaxPoolingLayer",
    "Pairs",
    "Priming",
    "leave_one_out_max",
]

# Elements of the largest temporary tensor, if the Triton kernels are not used.
_CHUNK = 2**24


class Priming(nn.Module):
    """
    The paper's "priming": learned weights of the messages between locations.

    w_ij = γ_d · exp(−τ_d · d_ij / mean d) + γ_q · τ_q · (q_i + q_j) + β. Here d_ij is
    the distance between two locations, q_i is a demand as a share of the capacity, and
    each Greek letter is a vector with one number per channel.

    Parameters
    ----------
    width
        The number of channels, d.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain_distance = nn.Parameter(torch.ones(width))
        self.rate_distance = nn.Parameter(torch.ones(width))
        self.gain_demand = nn.Parameter(torch.ones(width))
        self.rate_demand = nn.Parameter(torch.ones(width))
        self.offset = nn.Parameter(torch.zeros(width))

    def forward(self, distances: Tensor, demands: Tensor) -> Tensor:
        """
        Return the weights w_ij of pairs, shape (…, d).

        ``distances`` are d_ij / mean d, and ``demands`` are q_i + q_j. Their last axis
        has length 1 or d.
        """
        gain, rate, demand, offset = self.values()
        return gain * torch.exp(-rate * distances) + demand * demands + offset

    def values(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return γ_d, τ_d, γ_q · τ_q and β, each of shape (d,)."""
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
    """
    Return the j with the largest h_j ⊙ w_ij, for each i and channel, shape (B, I, d).

    The arguments are those of :func:`leave_one_out_max`.
    """
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

    I elements i receive the messages h_j of J elements j, each multiplied by a weight
    w_ij. Only the j with the maximum receives a gradient. So these j are found first,
    without gradients, and then only their weights are computed again. No tensor of
    shape (B, I, J, d) is stored.

    Parameters
    ----------
    messages
        h_j, shape (B, J, d).
    distances
        d_ij / mean d, shape (B, I, J).
    demands
        q_i + q_j, shape (B, I, J).
    allowed
        Which j count for each i, shape (B, I, J). If no j counts for an i, the result
        is 0.
    priming
        Computes the weights w_ij.
    """
    winners = _winners(messages, distances, demands, allowed, priming)  # (B, I, d)
    weights = priming(distances.gather(2, winners), demands.gather(2, winners))
    pooled = messages.gather(1, winners) * weights
    return torch.where(allowed.any(2, keepdim=True), pooled, torch.zeros_like(pooled))


def _others_max(messages: Tensor, real: Tensor) -> Tensor:
    """
    Return, for each of K elements, the maximum over all other elements, per channel.

    The result has shape (B, K, d). It is the largest message, except for the element
    that has the largest message: this element gets the second largest. Each maximum is
    computed as a sum in which all other messages are replaced by 0, so that only the
    largest message receives a gradient. ``real`` is false for padding, shape (B, K). If
    there is no other element, the result is 0.
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
    The features of pairs of locations for max pooling, and the masks of padding.

    Attributes
    ----------
    distances
        The distance between locations i and j, divided by the mean distance of the
        instance, shape (B, N', N').
    demands
        The sum of the demands of i and j as shares of the capacity, shape (B, N', N').
    nodes, vehicles
        Which locations and vehicles are not padding, shapes (B, N') and (B, M).
    """

    distances: Tensor
    demands: Tensor
    nodes: Tensor
    vehicles: Tensor


class MaxPoolingLayer(nn.Module):
    """
    The paper's layer: max pooling over depot, customers and vehicles; two sublayers.

    The first sublayer is a linear map of the embedding h and the three pooled contexts,
    [h; c_dep; c_cus; c_veh]. The second sublayer is a network with one hidden layer of
    ``hidden`` channels. Each sublayer is followed by a residual connection and a layer
    norm.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.mix = nn.Linear(4 * width, width)
        self.mix_norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width)
        )
        self.norm = nn.LayerNorm(width)
        self.fused = False

    def forward(
        self, nodes: Tensor, vehicles: Tensor, pairs: Pairs, priming: Priming
    ) -> tuple[Tensor, Tensor]:
        """
        Return the next embeddings of locations, (B, N', d), and vehicles, (B, M, d).

        ``nodes`` and ``vehicles`` are the present embeddings, of the same shapes.
        """
        contexts = self.contexts(nodes, vehicles, pairs, priming)
        h = torch.cat((nodes, vehicles), dim=1)  # (B, N' + M, d)
        h = self.mix_norm(h + self.mix(torch.cat((h, *contexts), dim=2)))
        h = self.norm(h + self.feed(h))
        return h[:, : nodes.shape[1]], h[:, nodes.shape[1] :]

    def contexts(
        self, nodes: Tensor, vehicles: Tensor, pairs: Pairs, priming: Priming
    ) -> tuple[Tensor, Tensor, Tensor]:
        """
        Return the contexts c_dep, c_cus and c_veh, each of shape (B, N' + M, d).

        They are the maxima over the depot, over the customers and over the vehicles,
        which each location and each vehicle receives. The maximum over the vehicles
        that a vehicle receives leaves out itself. The maximum that a location receives
        over its own group includes itself, with the weight β.
        """
        n, m = nodes.shape[1], vehicles.shape[1]
        depot = nodes[:, :1]
        weights = priming(pairs.distances[:, 1:, :1], pairs.demands[:, 1:, :1])
        pooled = self._pool_customers(nodes, pairs, priming)
        own = torch.maximum(pooled[:, 1:], nodes[:, 1:] * priming.offset)
        pooled = torch.cat((pooled[:, :1], own), dim=1)
        alone = depot * priming.offset
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
        """
        Return the weighted maximum over all other customers, for each location.

        The result has shape (B, N', d).
        """
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
