"""Follow the prediction arc by arc: the greedy decodings of training and inference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.decoded import Decoded
from fixedfleet.planning.problem import Problem, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["boundless", "follow", "pseudo_greedy", "strict_greedy"]

# What a customer needs once it is served, and what the way home needs: no vehicle has
# room for the first (not even a boundless one), every vehicle has room for the second.
_NEVER = torch.iinfo(torch.int64).max
_ALWAYS = -2
_BOUNDLESS = 2**62


def pseudo_greedy(
    log_probs: Tensor,
    demands: Tensor,
    *,
    customers: Tensor | None = None,
    vehicles: Tensor | None = None,
) -> tuple[Decoded, Tensor]:
    """
    Follow the likeliest arcs without regard to capacity (the paper's Algorithm 2).

    Each vehicle in turn starts with its likeliest free customer and goes on to the
    likeliest free location until that is the depot. No customer is served twice, but
    vehicles may be overloaded and customers left out.

    Parameters
    ----------
    log_probs
        log Ŷ, shape (B, M, N', N'), −inf where masked.
    demands
        Whole units, shape (B, N').
    customers
        Which locations are customers, shape (B, N'), in a padded batch.
    vehicles
        Which vehicles there are, shape (B, M), in a padded batch.

    Returns
    -------
    The tours, and the load of each vehicle in whole units, shape (B, M).
    """
    capacity = demands.new_ones(len(demands))  # plays no part
    problem = prepare(
        log_probs, demands, capacity, customers=customers, vehicles=vehicles
    )
    decoded = follow(problem, boundless(problem))
    return decoded, decoded.loads(problem.demands)


def boundless(problem: Problem) -> Tensor:
    """Room without a bound for vehicles that are real, none for padding, (B, M)."""
    return torch.where(problem.vehicles, _BOUNDLESS, -1)


def strict_greedy(
    log_probs: Tensor,
    demands: Tensor,
    capacity: Tensor,
    *,
    customers: Tensor | None = None,
    vehicles: Tensor | None = None,
) -> Decoded:
    """
    Follow the likeliest arcs to customers that still fit the vehicle.

    As :func:`pseudo_greedy`, but a customer that no longer fits is masked, so that no
    vehicle is overloaded. Parameters as there, ``capacity`` being of shape (B,).
    """
    problem = prepare(
        log_probs, demands, capacity, customers=customers, vehicles=vehicles
    )
    return follow(problem, problem.room)


def follow(
    problem: Problem,
    room: Tensor,
    disturb: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
) -> Decoded:
    """
    Walk along the likeliest arcs, all instances at once.

    Every step either serves a customer or ends a tour, so N + M steps do for every
    instance, whatever the shape of its tours.

    Parameters
    ----------
    problem
        The prediction and its instances.
    room
        What each vehicle may carry, shape (B, M); −1 for one that must stay at home.
    disturb
        Changes the scores (B, N') of the next location, given the vehicles and the
        locations they are at, both (B,).
    """
    fleet, size = problem.fleet, problem.size
    arcs = problem.log_probs.reshape(-1, size)  # (O · M · N', N')
    base = problem.owner * (fleet * size)
    demands, room = problem.demands, pad(room, (0, 1), value=-1)
    need = torch.where(problem.customers, demands, _NEVER)
    need[:, 0] = _ALWAYS
    vehicle, here = torch.zeros_like(base), torch.zeros_like(base)
    left = room[:, 0]
    walk = []
    for _ in range(size - 1 + fleet):
        # A walk that has ended waits at the last vehicle, where nothing fits.
        current = vehicle.clamp(max=fleet - 1)
        scores = arcs.index_select(0, base + current * size + here)  # (B, N')
        if disturb is not None:
            scores = disturb(scores, current, here)
        # With nothing possible argmax says 0, the first index: the way home.
        here = scores.masked_fill(need > left[:, None], -torch.inf).argmax(1)
        walk.append(here)
        home = here == 0
        step = here[:, None]
        need.scatter_(1, step, torch.where(home, _ALWAYS, _NEVER)[:, None])
        vehicle = (vehicle + home).clamp(max=fleet)
        rest = left - demands.gather(1, step)[:, 0]
        left = torch.where(home, room.gather(1, vehicle[:, None])[:, 0], rest)
    return Decoded.from_walk(torch.stack(walk, 1), fleet, problem.customers)
