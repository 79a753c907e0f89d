"""Which of several plans for one instance is best, while they are still tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.decoded import Decoded

if TYPE_CHECKING:
    from fixedfleet.planning.problem import Problem

__all__ = ["best_of", "first_least"]


def first_least(*keys: Tensor) -> Tensor:
    """Column of the least entry by the first key, ties by the next; keys (B, S)."""
    tied = torch.ones_like(keys[0], dtype=torch.bool)
    for key in keys:
        most = torch.inf if key.is_floating_point() else torch.iinfo(key.dtype).max
        masked = key.masked_fill(~tied, most)
        tied = tied & (masked == masked.amin(1, keepdim=True))
    return tied.byte().argmax(1)


def best_of(problem: Problem, decoded: Decoded, plans: int) -> Decoded:
    """
    Keep the best of ``plans`` consecutive rows for each instance.

    Least demand left out first, then fewest left out, then fewest tours beyond the
    fleet, then the shortest, or the likeliest where no distances are known.
    """
    missing = problem.demands * decoded.unserved
    used = (decoded.routes > 0).any(2)
    keys = (
        missing.sum(1),
        decoded.unserved.sum(1),
        used[:, problem.fleet :].sum(1),
        _length(problem, decoded.routes, used),
    )
    best = first_least(*(key.view(-1, plans) for key in keys))
    rows = torch.arange(len(best), device=best.device) * plans + best
    return Decoded(decoded.routes[rows], decoded.unserved[rows])


def _length(problem: Problem, routes: Tensor, used: Tensor) -> Tensor:
    """Length of each plan, (B,), to rank it; or how unlikely its arcs are."""
    start, end = pad(routes, (1, 0)), pad(routes, (0, 1))  # (B, K, N + 1)
    travelled = ((start > 0) | (end > 0)) & used[..., None]
    if problem.has_distances:
        steps = problem.between(start, end)
    else:
        number = torch.arange(routes.shape[1], device=routes.device)
        # The prediction says nothing of tours beyond the fleet.
        travelled = travelled & (number < problem.fleet)[:, None]
        number = number.clamp(max=problem.fleet - 1)[:, None]
        owner = problem.owner[:, None, None]
        steps = -problem.log_probs[owner, number, start, end].double().clamp(min=-1e4)
    # Sums of floats depend on their grouping, and so on padding; single precision
    # rounds that away.
    return steps.masked_fill(~travelled, 0.0).sum((1, 2)).float()
