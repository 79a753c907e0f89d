"""
Compute the loads of pseudo-greedy plans; on a GPU by a single kernel.

A pseudo-greedy plan follows the likeliest edges and ignores the capacity.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fixedfleet.errors import require
from fixedfleet.planning.greedy import follow_edges, unlimited_room
from fixedfleet.planning.tours import tour_loads

__all__ = ["greedy_loads"]


@torch.no_grad()
def greedy_loads(
    log_probs: Tensor, units: Tensor, customers: Tensor, vehicles: Tensor
) -> Tensor:
    """
    Return the loads of the vehicles in the pseudo-greedy plan, shape (B, M).

    The plan is that of :func:`fixedfleet.planning.pseudo_greedy`. The loads are whole
    numbers, in the units of the demands. The arguments are not checked for NaN, because
    a check would wait for the GPU. On a GPU, a Triton kernel computes the loads, with
    one program per instance.

    Parameters
    ----------
    log_probs
        log Ŷ, shape (B, M, N', N'), −inf where an edge is not allowed.
    units
        Demands as whole numbers, shape (B, N'), 0 for the depot.
    customers, vehicles
        Which locations are customers, (B, N'), and which vehicles exist, (B, M).
    """
    if log_probs.is_cuda:
        return _walk_on_gpu(log_probs, units, customers, vehicles)
    room = unlimited_room(vehicles)
    return tour_loads(follow_edges(log_probs, units, customers, room), units)


def _walk_on_gpu(
    log_probs: Tensor, units: Tensor, customers: Tensor, vehicles: Tensor
) -> Tensor:
    require("triton", "network", "training on a GPU")
    from fixedfleet.training.greedy_loads_kernel import walk_greedily

    size, m, n, _ = log_probs.shape
    loads = units.new_empty((size, m))
    if loads.numel():
        block = max(2, 1 << (n - 1).bit_length())
        walk_greedily[(size,)](
            log_probs.contiguous(),
            units.contiguous(),
            customers.contiguous().view(torch.uint8),
            vehicles.contiguous().view(torch.uint8),
            loads,
            n=n,
            m=m,
            BLOCK=block,
            num_warps=1 if block <= 256 else 4,
        )
    return loads
