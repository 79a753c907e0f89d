"""Decoding node by node: where a vehicle may go next, and where it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from experiments.attention_model.attention_network import AttentionNetwork, Prepared
    from fixedfleet.model.features import Batch

__all__ = ["decode", "shortest"]


def decode(
    network: AttentionNetwork,
    prepared: Prepared,
    batch: Batch,
    *,
    samples: int = 1,
    generator: torch.Generator | None = None,
) -> Tensor:
    """
    Make plans for instances of equal size.

    Parameters
    ----------
    network, prepared
        The network, and what it made of the instances.
    batch
        The instances; no customer may demand more than the capacity.
    samples
        Plans of each instance, S.
    generator
        Draws the nodes at random; None takes the most likely node.

    Returns
    -------
    Tensor
        Routes as in :class:`PlanBatch`, shape (B, S, 2 N).
    """
    customers = batch.units.shape[1] - 1
    fleet = _Fleet(batch, samples)
    steps = []
    # The longest plan returns to the depot after each customer.
    for step in range(2 * customers):
        if step >= customers and fleet.done():
            break
        scores = network.scores(prepared, fleet.at, fleet.room(), fleet.open())
        fleet.move(_choose(scores, generator))
        steps.append(fleet.at)
    routes = torch.stack(steps, dim=2)  # (B, S, L)
    return F.pad(routes, (0, 2 * customers - len(steps)))


def _choose(scores: Tensor, generator: torch.Generator | None) -> Tensor:
    """Take the most likely node, or draw one: (B, S, N') to (B, S)."""
    if generator is None:
        return scores.argmax(2)
    chances = scores.softmax(2).flatten(0, 1)
    return torch.multinomial(chances, 1, generator=generator).view(scores.shape[:2])


class _Fleet:
    """
    S vehicles for each of B instances, each on its way.

    The published code adds up shares of the capacity in single precision, where ten
    times 1/10 comes out above 1. Its figures depend on that, so both counts are kept:
    the shares decide as they did there, and whole units make sure that no vehicle is
    overloaded.
    """

    def __init__(self, batch: Batch, samples: int) -> None:
        size, nodes = batch.units.shape
        self.demands, self.units = batch.features.demands, batch.units
        self.capacity = batch.capacity[:, None]  # (B, 1)
        self.at = self.units.new_zeros(size, samples)
        self.load = torch.zeros_like(self.at)
        self.share = self.demands.new_zeros(size, samples)
        self.visited = torch.zeros(
            (size, samples, nodes), dtype=torch.bool, device=self.units.device
        )

    def done(self) -> bool:
        """Whether every customer is served."""
        return bool(self.visited[..., 1:].all())

    def room(self) -> Tensor:
        """Share of the capacity that is left, shape (B, S)."""
        return 1 - self.share

    def open(self) -> Tensor:
        """Nodes each vehicle may go to, shape (B, S, N')."""
        left = (self.capacity - self.load)[..., None]
        nodes = ~self.visited & (self.units[:, None] <= left)
        nodes &= self.demands[:, None] + self.share[..., None] <= 1
        # A vehicle leaves the depot while it can serve a customer, and else stays.
        nodes[..., 0] = (self.at != 0) | ~nodes[..., 1:].any(2)
        return nodes

    def move(self, to: Tensor) -> None:
        """Send each vehicle to a node, shape (B, S); the depot empties it."""
        away = to != 0
        self.load = (self.load + self.units.gather(1, to)) * away
        self.share = (self.share + self.demands.gather(1, to)) * away
        self.visited.scatter_(2, to[..., None], True)
        self.at = to


def shortest(distances: Tensor, routes: Tensor) -> Tensor:
    """
    Keep the shortest plan of each instance.

    Parameters
    ----------
    distances
        Shape (B, N', N').
    routes
        Shape (B, S, L).

    Returns
    -------
    Tensor
        Routes of shape (B, 1, L).
    """
    path = F.pad(routes, (1, 1))
    legs = path[..., :-1] * distances.shape[2] + path[..., 1:]  # (B, S, L + 1)
    lengths = distances.flatten(1).gather(1, legs.flatten(1)).view_as(legs).sum(2)
    best = lengths.argmin(1)[:, None, None]
    return routes.take_along_dim(best, dim=1)
