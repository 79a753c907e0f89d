"""
Solve the linear assignment problems of a whole batch exactly; on a GPU by a kernel.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fixedfleet.errors import require

__all__ = ["assign", "match_tours"]

_APART = 1e5  # cost of matching a vehicle with padding: more than any plan costs


def match_tours(costs: Tensor, vehicles: Tensor) -> Tensor:
    """
    Return the tour of the label that each vehicle is matched with, shape (B, M, 1).

    The matching has the least total cost. There are as many tours as vehicles, so
    padding is matched with padding.

    Parameters
    ----------
    costs
        The cost of each tour for each vehicle, shape (B, M, M).
    vehicles
        Which vehicles are not padding, shape (B, M).
    """
    apart = vehicles[:, :, None] != vehicles[:, None]
    return assign(costs.masked_fill(apart, _APART))[..., None]


def assign(cost: Tensor) -> Tensor:
    """
    Return the column that each row is matched with at the least total cost, (B, M).

    ``cost`` has shape (B, M, M), and the matching is exact. On a GPU, a kernel solves
    all instances side by side; on a CPU, SciPy solves one after the other.
    """
    # NaN and infinite costs could break the kernel, so they are replaced. The trainer
    # still notices them, because the loss is not finite either.
    cost = cost.detach().float().nan_to_num(nan=1e6, posinf=1e6, neginf=-1e6)
    if cost.is_cuda:
        return _assign_on_gpu(cost)
    return _assign_with_scipy(cost)


def _assign_with_scipy(cost: Tensor) -> Tensor:
    optimize = require("scipy.optimize", "network", "training")
    costs = cost.cpu().numpy()
    columns = [optimize.linear_sum_assignment(matrix)[1] for matrix in costs]
    found = np.array(columns, dtype=np.int64).reshape(cost.shape[:2])
    return torch.from_numpy(found).to(cost.device)


def _assign_on_gpu(cost: Tensor) -> Tensor:
    require("triton", "network", "training on a GPU")
    from fixedfleet.training.assignment_kernel import solve_assignments

    size, m, _ = cost.shape
    column = torch.empty((size, m), dtype=torch.int64, device=cost.device)
    if size:
        block = max(2, 1 << (m - 1).bit_length())
        solve_assignments[(size,)](
            cost.contiguous(), column, m=m, BLOCK=block, num_warps=1
        )
    return column
