"""Decoding by membership: first a vehicle for each customer, then the tours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.model import Factors
from fixedfleet.planning import membership_kernel
from fixedfleet.planning.assigning import assign
from fixedfleet.planning.ordering import order_tours

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = [
    "member_arrays",
    "membership_scores",
    "membership_tours",
    "plan_members",
    "plan_on_cpu",
]

# A sum of floats depends on the order of its terms, and so on padding. Sums of whole
# numbers do not. So probabilities and logarithms are multiplied by these and rounded.
_UNITS_PER_ONE = 2.0**40
_LOG_UNITS_PER_ONE = 2.0**20


def membership_tours(prediction: Prediction) -> Tensor:
    """
    Return tours (B, M, N): assign customers to vehicles by Ŷ, then order each tour.

    Σ_j Ŷ_kij is the probability that vehicle k serves customer i. Among the assignments
    within the capacity, one with nearly the largest likelihood is chosen. Tours are
    ordered by distance alone.
    """
    return plan_members(prediction, membership_scores(prediction))


def membership_scores(prediction: Prediction) -> Tensor:
    """
    Return log-probabilities that vehicle k serves location i, shape (B, N', M).

    They are multiplied by 2²⁰ and rounded to whole numbers. A constant is added to all,
    so that none is negative.
    """
    if isinstance(prediction.log_probs, Factors):
        log = pad(prediction.log_probs.membership, (0, 0, 1, 0)).double()
        log = (log + math.log(_UNITS_PER_ONE)).clamp(min=0.0)
        return (log * _LOG_UNITS_PER_ONE).round().long()
    totals = []
    padding = ~prediction.customers
    padding[:, 0] = False
    for vehicle in range(prediction.fleet):  # one at a time, to limit the memory
        part = prediction.log_probs[:, vehicle].double()  # (B, N', N')
        shares = (part.clamp(max=0.0).exp_() * _UNITS_PER_ONE).round_().long()
        shares = shares.masked_fill_(padding[:, None], 0)
        totals.append(shares.sum(2))
    log = torch.stack(totals, 2).clamp(min=1).double().log()
    return (log * _LOG_UNITS_PER_ONE).round().long()


def plan_members(prediction: Prediction, value: Tensor) -> Tensor:
    """
    Return tours (B, M, N) that give customers to vehicles of high value.

    ``value`` has a whole number for each location in each vehicle, shape (B, N', M).
    The sum of the values of all customers in their vehicles is maximised approximately,
    within the capacity. On a GPU, a CUDA kernel is used if CuPy is installed; otherwise
    the CPU computes the same result.
    """
    arrays = member_arrays(prediction, value)
    shape = len(prediction), prediction.fleet, prediction.locations - 1
    tours = prediction.demands.new_zeros(shape)
    if tours.is_cuda and membership_kernel.launch(*arrays, tours):
        return tours
    return plan_on_cpu(arrays).to(tours.device)


class MemberArrays(NamedTuple):
    """
    The inputs of membership decoding, the same on a CPU and on a GPU.

    Fields without a comment are as in :class:`Prediction`.
    """

    value: Tensor  # int32, (B, N', M)
    order: Tensor  # the vehicles of each location, best value first, int16, (B, N', M)
    demands: Tensor
    customers: Tensor
    room: Tensor
    distances: Tensor


def member_arrays(prediction: Prediction, value: Tensor) -> MemberArrays:
    """Return the inputs of membership decoding; see :func:`plan_members`."""
    return MemberArrays(
        value.int(),
        value.sort(dim=2, descending=True, stable=True).indices.short(),
        prediction.demands,
        prediction.customers,
        prediction.room,
        prediction.distances,
    )


def plan_on_cpu(arrays: MemberArrays) -> Tensor:
    """Return the tours (B, M, N) of all instances, computed on the CPU."""
    count, locations, fleet = arrays.value.shape
    tours = torch.zeros((count, fleet, locations - 1), dtype=torch.int64)
    inputs = (array.cpu().contiguous().numpy() for array in arrays)
    for *members, distances, found in zip(*inputs, tours.numpy(), strict=True):
        vehicle = np.full(locations, fleet)
        assign(vehicle, *members)
        order_tours(distances, vehicle, found)
    return tours
