"""Scores to log-probabilities, in four ways that differ in what sums to one."""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
from torch import Tensor

from fixedfleet.errors import InputError

__all__ = ["Normalisation", "allowed_edges", "normalise"]

Normalisation = Literal["vehicle", "row", "joint", "softassign"]

# Masked scores are finite until the end: a row of −inf alone would become NaN.
_MASKED = -1e9


def allowed_edges(nodes: Tensor, vehicles: Tensor) -> Tensor:
    """
    Return which edges may be driven, shape (B, M, N', N').

    No location follows itself, except the depot: (0, 0) means that the vehicle stays.

    Parameters
    ----------
    nodes, vehicles
        What is no padding, shapes (B, N') and (B, M).
    """
    n = nodes.shape[1]
    loops = torch.eye(n, dtype=torch.bool, device=nodes.device)
    loops = loops & (torch.arange(n, device=nodes.device) > 0)
    edges = nodes[:, :, None] & nodes[:, None, :] & ~loops  # (B, N', N')
    return edges[:, None] & vehicles[:, :, None, None]


def normalise(
    scores: Tensor,
    nodes: Tensor,
    vehicles: Tensor,
    how: Normalisation,
    *,
    iterations: int = 10,
) -> Tensor:
    """
    Turn scores into log-probabilities log Ŷ, −inf where an edge is not allowed.

    Parameters
    ----------
    scores
        Compatibilities of vehicles and edges, shape (B, M, N', N').
    nodes, vehicles
        What is no padding, shapes (B, N') and (B, M).
    how
        What sums to one: ``vehicle``: all edges of a vehicle; ``row``: the edges of a
        vehicle out of a location; ``joint``: the edges of all vehicles out of a
        customer, and of each vehicle out of the depot; ``softassign``: as ``joint``,
        and the same into each location.
    iterations
        Rounds of ``softassign``, each ending with what leaves a location.
    """
    allowed = allowed_edges(nodes, vehicles)
    logs = scores.float().masked_fill(~allowed, _MASKED)
    if how == "vehicle":
        logs = logs.flatten(2).log_softmax(-1).view_as(logs)
    elif how == "row":
        logs = logs.log_softmax(-1)
    elif how == "joint":
        logs = _out_of_each(logs)
    elif how == "softassign":
        logs = _out_of_each(logs)
        for _ in range(iterations):
            # A padded row normalises to something: it is masked again each time.
            logs = logs.masked_fill(~allowed, _MASKED).transpose(2, 3)
            logs = _out_of_each(logs).transpose(2, 3).masked_fill(~allowed, _MASKED)
            logs = _out_of_each(logs)
    else:
        raise InputError(
            f"unknown normalisation {how!r}: choose from "
            f"{', '.join(get_args(Normalisation))}"
        )
    return logs.masked_fill(~allowed, -math.inf)


def _out_of_each(logs: Tensor) -> Tensor:
    """Normalise over (k, j) for each customer i, over j for the depot of each k."""
    total = logs.logsumexp(3, keepdim=True)  # (B, M, N', 1)
    customers = total.logsumexp(1, keepdim=True).expand_as(total)
    depot = torch.arange(logs.shape[2], device=logs.device).view(1, 1, -1, 1) == 0
    return logs - torch.where(depot, total, customers)
