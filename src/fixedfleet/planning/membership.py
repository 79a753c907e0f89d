"""Decoding by membership: first a vehicle for each customer, then the tours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.planning import membership_kernel
from fixedfleet.planning.assigning import assign
from fixedfleet.planning.membership_scores import membership_scores
from fixedfleet.planning.ordering import order_tours
from fixedfleet.planning.tours import Decoded

if TYPE_CHECKING:
    from torch import Tensor

    from fixedfleet.planning.prediction import Prediction

__all__ = [
    "member_arrays",
    "membership_tours",
    "plan_members",
    "plan_on_cpu",
]


def membership_tours(prediction: Prediction) -> Decoded:
    """
    Assign customers to vehicles by Σ_j Ŷ_kij within the capacity, then order tours.

    The assignment has nearly the largest likelihood of all within the capacity. Tours
    are ordered by distance alone.
    """
    return plan_members(prediction, membership_scores(prediction))


def plan_members(prediction: Prediction, value: Tensor) -> Decoded:
    """
    Return tours whose customers have a large sum of values, within the capacity.

    On a GPU, one kernel does all if CuPy is installed. Otherwise the CPU does the same,
    with the same result.

    Parameters
    ----------
    prediction
        The instances.
    value
        The value of each customer in each vehicle, whole numbers, shape (B, N', M).
    """
    arrays = member_arrays(prediction, value)
    shape = len(prediction), prediction.fleet, prediction.locations - 1
    routes = prediction.demands.new_zeros(shape)
    if not (routes.is_cuda and membership_kernel.launch(*arrays, routes)):
        found = routes.cpu()
        plan_on_cpu(arrays, found)
        routes = found.to(routes.device)
    return Decoded.from_routes(routes, prediction.customers)


class MemberArrays(NamedTuple):
    """The inputs of decoding, on a CPU and by the kernel."""

    value: Tensor  # int32, (B, N', M)
    order: Tensor  # the vehicles of each location, best value first, int16, (B, N', M)
    demands: Tensor
    customers: Tensor
    room: Tensor
    distances: Tensor


def member_arrays(prediction: Prediction, value: Tensor) -> MemberArrays:
    """Return the inputs of decoding; for ``value`` see :func:`plan_members`."""
    return MemberArrays(
        value.int(),
        value.sort(dim=2, descending=True, stable=True).indices.short(),
        prediction.demands,
        prediction.customers,
        prediction.room,
        prediction.distances,
    )


def plan_on_cpu(arrays: MemberArrays, routes: Tensor) -> None:
    """Write the tours of all instances to ``routes``, shape (B, M, N)."""
    inputs = (array.cpu().contiguous().numpy() for array in arrays)
    for *members, distances, tours in zip(*inputs, routes.numpy(), strict=True):
        vehicle = np.full(len(distances), len(tours))
        assign(vehicle, *members)
        order_tours(distances, vehicle, tours)
