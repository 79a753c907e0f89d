"""Packing of many instances by best fit, as a compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["best_fit_rows"]


@compiled()
def best_fit_rows(
    demands: Any, order: Any, sizes: Any, capacity: Any, vehicles: Any
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """
    Pack each demand into the vehicle where it leaves the least free capacity.

    If several vehicles are left with the same capacity, the first one is taken.
    ``order`` has the customers, numbered from 0, in the order in which they are packed.
    ``order`` and ``demands`` have shape (B, N). ``sizes`` has the number of customers
    of each instance. ``sizes``, ``capacity`` and ``vehicles`` have shape (B,).

    Return (chosen, packed): the vehicle of each customer, shape (B, N), and whether all
    customers of an instance were packed, shape (B,). When a customer fits nowhere, the
    packing of its instance ends. For padding and for customers that were not packed,
    the chosen vehicle is the largest number in ``vehicles``; no vehicle has this index.
    """
    count, n = demands.shape
    none = vehicles.max() if count else 0
    chosen = np.full((count, n), none, dtype=np.int64)
    packed = np.ones(count, dtype=np.bool_)
    rooms = np.empty(none, dtype=np.int64)
    for row in range(count):
        rooms[: vehicles[row]] = capacity[row]
        for place in range(sizes[row]):
            customer = order[row, place]
            best, least = none, capacity[row] + 1
            for vehicle in range(vehicles[row]):
                left = rooms[vehicle] - demands[row, customer]
                if 0 <= left < least:
                    best, least = vehicle, left
            if best == none:
                packed[row] = False
                break
            rooms[best] = least
            chosen[row, customer] = best
    return chosen, packed
