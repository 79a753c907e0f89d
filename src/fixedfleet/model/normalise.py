"""Normalisations turn scores of edges into log-probabilities, log Ŷ."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from fixedfleet.model.features import Features

__all__ = ["NORMALISATIONS", "Normalisation", "allowed_edges", "normalise"]

# Masked scores become −inf only at the end: a softmax over −inf alone gives NaN.
_MASKED = -1e9
_ITERATIONS = 10  # how often SoftAssign normalises both directions


class Normalisation(Protocol):
    """
    The interface of a function that turns scores of edges into log-probabilities.

    To add a normalisation, write a function with this signature and register it with
    ``@NORMALISATIONS.register("name")``.
    """

    def __call__(self, scores: Tensor, allowed: Tensor, features: Features) -> Tensor:
        """
        Return the log-probabilities of edges, shape (B, M, N', N').

        The values that are returned for edges that are not allowed are ignored.

        Parameters
        ----------
        scores
            Scores of edges for vehicles, shape (B, M, N', N'); a large negative number
            where an edge is not allowed.
        allowed
            Which edges may be used, shape (B, M, N', N').
        features
            The features of the instances.
        """
        ...


NORMALISATIONS: Registry[Normalisation] = Registry(
    "normalisation",
    {
        "vehicle": "fixedfleet.model.normalise:per_vehicle",
        "softassign": "fixedfleet.model.normalise:soft_assign",
    },
)


def normalise(
    normalisation: Normalisation, scores: Tensor, features: Features
) -> Tensor:
    """
    Return log Ŷ, the log-probabilities that a normalisation computes from scores.

    Scores and log Ŷ have shape (B, M, N', N'). log Ŷ is −inf where an edge is not
    allowed.
    """
    allowed = allowed_edges(features.nodes, features.vehicles)
    logs = scores.float().masked_fill(~allowed, _MASKED)
    logs = normalisation(logs, allowed, features)
    return logs.masked_fill(~allowed, -math.inf)


def allowed_edges(nodes: Tensor, vehicles: Tensor) -> Tensor:
    """
    Return a mask of the edges that each vehicle may use, shape (B, M, N', N').

    An edge from a location to itself is not allowed, except at the depot: the edge (0,
    0) means that the vehicle stays there. Edges of padding are not allowed.

    Parameters
    ----------
    nodes, vehicles
        Which locations and vehicles are not padding, shapes (B, N') and (B, M).
    """
    n = nodes.shape[1]
    loops = torch.eye(n, dtype=torch.bool, device=nodes.device)
    loops = loops & (torch.arange(n, device=nodes.device) > 0)
    edges = nodes[:, :, None] & nodes[:, None, :] & ~loops  # (B, N', N')
    return edges[:, None] & vehicles[:, :, None, None]


def per_vehicle(scores: Tensor, allowed: Tensor, features: Features) -> Tensor:
    """
    Return log-probabilities with which all edges of a vehicle sum to one.

    This is the normalisation of the paper. The arguments are those of
    :class:`Normalisation`.
    """
    return scores.flatten(2).log_softmax(-1).view_as(scores)


def soft_assign(scores: Tensor, allowed: Tensor, features: Features) -> Tensor:
    """
    Return log-probabilities with which the edges out of and into a customer sum to one.

    At a customer, each sum runs over the edges of all vehicles. At the depot, the edges
    of each vehicle sum to one. Both directions are normalised alternately; after the
    last pass, the sums out of each location are exact.
    """
    logs = _normalise_outgoing(scores)
    for _ in range(_ITERATIONS):
        # Normalising raises rows of padding, so they are masked again each time.
        logs = logs.masked_fill(~allowed, _MASKED).transpose(2, 3)
        logs = _normalise_outgoing(logs).transpose(2, 3).masked_fill(~allowed, _MASKED)
        logs = _normalise_outgoing(logs)
    return logs


def _normalise_outgoing(logs: Tensor) -> Tensor:
    """
    Return log-probabilities with which the edges out of each location sum to one.

    For a customer i, the sum runs over all vehicles k and ends j; for the depot, it
    runs over j, for each vehicle separately.
    """
    total = logs.logsumexp(3, keepdim=True)  # (B, M, N', 1)
    customers = total.logsumexp(1, keepdim=True).expand_as(total)
    depot = torch.arange(logs.shape[2], device=logs.device).view(1, 1, -1, 1) == 0
    return logs - torch.where(depot, total, customers)
