"""Serve all customers: move them between vehicles until no vehicle is overloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.planning.assigning import assign
from fixedfleet.planning.membership import member_arrays, membership_scores
from fixedfleet.planning.ordering import order_tours

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from fixedfleet.planning.prediction import Prediction

__all__ = ["settle", "settle_tours"]

_STEPS = 4000  # the largest number of moves, from each of the two starts
_TABU = 5  # a customer may not move back for this many steps, or up to twice as many
# The penalty of an overload by the mean demand in the first step, in units of `value`.
_FIRST_WEIGHT = 2.5 * 2**20
_GROWTH = 1.002  # the factor by which the penalty grows per step


def settle_tours(prediction: Prediction, tours: Tensor) -> Tensor:
    """
    Return tours that serve all customers, by moving customers between vehicles.

    First, a tabu search finds a vehicle for every customer within the capacity. Then
    chains of moves improve the assignment, and the tours are ordered, as in decoding by
    membership. If the tabu search fails for an instance, its tours are not changed. The
    tours are on the CPU, shape (B, M, N).
    """
    arrays = member_arrays(prediction, membership_scores(prediction))
    inputs = (array.cpu().contiguous().numpy() for array in arrays)
    settled = tours.clone()
    for *members, distances, found in zip(*inputs, settled.numpy(), strict=True):
        fleet = len(found)
        vehicle = np.full(len(distances), fleet)
        vehicle[found] = np.arange(fleet)[:, None]
        vehicle[0] = fleet
        if settle(vehicle, *members):
            assign(vehicle, *members)
            order_tours(distances, vehicle, found)
    return settled


@compiled()
def settle(
    vehicle: NDArray[np.int64],
    value: NDArray[np.int32],
    order: NDArray[np.int16],
    demands: NDArray[np.int64],
    customers: NDArray[np.bool_],
    room: NDArray[np.int64],
) -> bool:
    """
    Assign all customers of one instance within the capacity; return whether it worked.

    Each customer without a vehicle gets its best vehicle, even if this overloads the
    vehicle. A tabu search removes the overload, and loses as little value as it can. If
    the search fails, it starts again from an assignment in which the customers with the
    largest demands were assigned first.

    Parameters
    ----------
    vehicle
        The vehicle of each location, shape (N',); M for a location without a vehicle.
        The array is changed in place, even if the result is False.
    value, order, demands, customers, room
        As in :func:`fixedfleet.planning.assigning.assign`.
    """
    total = demands[customers].sum()
    if demands.max() > room.max() or total > room[room > 0].sum():
        return False
    weight = _FIRST_WEIGHT * customers.sum() / total
    left = _assign_rest(order, demands, customers, room, vehicle)
    if _remove_overload(value, demands, room, vehicle, left, weight):
        return True
    _assign_large_first(order, demands, customers, room, vehicle)
    left = _assign_rest(order, demands, customers, room, vehicle)
    return bool(_remove_overload(value, demands, room, vehicle, left, weight))


@compiled()
def _assign_rest(
    order: Any, demands: Any, customers: Any, room: Any, vehicle: Any
) -> Any:
    """
    Assign each customer without a vehicle to its best vehicle; return the room left.

    The room left in each vehicle has shape (M,). It is negative if the vehicle is
    overloaded.
    """
    left = np.maximum(room, 0)
    for customer in np.flatnonzero(customers):
        if vehicle[customer] == len(room):
            rank = 0
            while room[order[customer, rank]] < 0:  # padding
                rank += 1
            vehicle[customer] = order[customer, rank]
        left[vehicle[customer]] -= demands[customer]
    return left


@compiled()
def _assign_large_first(
    order: Any, demands: Any, customers: Any, room: Any, vehicle: Any
) -> None:
    """
    Assign all customers anew, the largest demand first.

    Each customer gets its best vehicle that has room. If no vehicle has room, the
    customer stays without a vehicle.
    """
    left = room.copy()
    for customer in np.argsort(-demands, kind="mergesort"):
        if not customers[customer]:
            continue
        vehicle[customer] = len(room)
        for k in order[customer]:
            if left[k] >= demands[customer]:
                vehicle[customer] = k
                left[k] -= demands[customer]
                break


@compiled()
def _remove_overload(
    value: Any, demands: Any, room: Any, vehicle: Any, left: Any, weight: float
) -> bool:
    """
    Move customers until no vehicle is overloaded; return False after too many steps.

    Each step moves a customer out of an overloaded vehicle, or exchanges it for a
    customer with a smaller demand. The move with the least cost is made. Its cost is
    the value that is lost, plus ``weight`` times the overload that is added. The weight
    grows from step to step. ``left`` is the room left in each vehicle, shape (M,);
    ``left`` and ``vehicle`` are changed in place.
    """
    # The step until which a customer may not return to a vehicle, shape (N', M).
    tabu = np.zeros(value.shape, np.int64)
    k = 0
    for step in range(_STEPS):
        if left.min() >= 0:
            return True
        k = (k + 1) % len(left)
        while left[k] >= 0:
            k = (k + 1) % len(left)
        best = _best_move(value, demands, room, vehicle, left, weight, tabu, k, step)
        moved, returned, target = best
        if target >= 0:
            until = step + _TABU + step % _TABU
            vehicle[moved], tabu[moved, k] = target, until
            shift = demands[moved]
            if returned:
                vehicle[returned], tabu[returned, target] = k, until
                shift -= demands[returned]
            left[k] += shift
            left[target] -= shift
        weight *= _GROWTH
    return False


@compiled(_nrt=False)
def _best_move(
    value: Any,
    demands: Any,
    room: Any,
    vehicle: Any,
    left: Any,
    weight: float,
    tabu: Any,
    k: int,
    step: int,
) -> tuple[int, int, int]:
    """
    Return the best move out of the overloaded vehicle k, as (i, j, h).

    Customer i moves from vehicle k to vehicle h, and customer j from h to k. If j is 0,
    no customer moves to k. If h is −1, no move is possible. ``step`` is the number of
    the present step of the search, and ``tabu`` the step until which a customer may not
    return to a vehicle, (N', M). The other arguments are those of
    :func:`_remove_overload`.
    """
    n, m = value.shape
    least, best = np.inf, (0, 0, -1)
    for i in range(1, n):
        if vehicle[i] != k or demands[i] == 0:
            continue
        for h in range(m):
            if h == k or room[h] < 0 or tabu[i, h] > step:
                continue
            cost = value[i, k] - value[i, h]
            cost += weight * _added_overload(left, k, h, demands[i])
            if cost < least:
                least, best = cost, (i, 0, h)
        for j in range(1, n):
            h, shift = vehicle[j], demands[i] - demands[j]
            if h in (m, k) or shift <= 0 or tabu[i, h] > step or tabu[j, k] > step:
                continue
            cost = value[i, k] - value[i, h] + value[j, h] - value[j, k]
            cost += weight * _added_overload(left, k, h, shift)
            if cost < least:
                least, best = cost, (i, j, h)
    return best


@compiled(_nrt=False)
def _added_overload(left: Any, k: int, h: int, shift: int) -> Any:
    """
    Return how much the total overload grows if a load moves from vehicle k to h.

    ``shift`` is this load, and ``left`` is the room left in each vehicle, shape (M,).
    """
    before = min(0, left[k]) + min(0, left[h])
    return before - min(0, left[k] + shift) - min(0, left[h] - shift)
