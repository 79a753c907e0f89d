"""Insert customers into tours where they add the least length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SPARE", "insert_all"]

SPARE = -2  # stands for the room of a tour beyond the fleet that is not used yet


@compiled()
def insert_all(
    tours: NDArray[np.int64],
    left: NDArray[np.int64],
    rows: NDArray[np.int64],
    customers: NDArray[np.int64],
    demands: NDArray[np.int64],
    capacity: NDArray[np.int64],
    distances: NDArray[np.float64],
) -> None:
    """
    Insert each customer where it adds the least length; change the tours in place.

    A customer for which no tour has room stays unserved. K is the number of tours.

    Parameters
    ----------
    tours
        The tours, shape (B, K, N).
    left
        The room left in each tour, shape (B, K). It is −1 for padding, and ``SPARE``
        for a tour beyond the fleet, which is used only if a customer fits into no other
        tour.
    rows, customers
        The customers to insert, in the order of insertion: the row of the instance, and
        the number of the customer in it.
    demands, capacity
        Demands and capacities as whole numbers, shapes (B, N') and (B,).
    distances
        Distances between locations, shape (B, N', N').
    """
    for number in range(len(rows)):
        row, customer = rows[number], customers[number]
        room, demand = left[row], demands[row, customer]
        if room.max() < demand <= capacity[row] and room[-1] == SPARE:
            room[np.argmin(room)] = capacity[row]
        k, place = _cheapest_place(distances[row], tours[row], room, customer, demand)
        if room[k] >= demand:
            room[k] -= demand
            tour = tours[row, k]
            tour[place + 1 :] = tour[place:-1].copy()
            tour[place] = customer


@compiled()
def _cheapest_place(
    distances: Any, tours: Any, room: Any, customer: int, demand: int
) -> tuple[int, int]:
    """
    Return the tour and the position in it where the customer adds the least length.

    Only tours with room are considered: ``room`` is the room left in each tour of one
    instance. If no tour has room, the result is (0, 0).
    """
    least, best = np.inf, (0, 0)
    for k in range(len(room)):
        if room[k] < demand:
            continue
        before = 0
        for position in range(tours.shape[1]):
            after = tours[k, position]
            detour = distances[before, customer] + distances[customer, after]
            detour = detour - distances[before, after]
            if detour < least:
                least, best = detour, (k, position)
            if after == 0:
                break
            before = after
    return best
