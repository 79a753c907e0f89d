"""
Compiled loops over the routes of many plans: tours, lengths and feasibility.

Importing this module loads Numba, which takes time. So
:class:`fixedfleet.plan.PlanBatch` imports it only when it needs these loops.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["count_tours", "euclidean_lengths", "within_bounds"]


@compiled()
def count_tours(routes: Any) -> NDArray[np.int64]:
    """
    Return the number of tours of each plan, shape (B,).

    ``routes`` has shape (B, L), as in :class:`fixedfleet.plan.PlanBatch`.
    """
    count, width = routes.shape
    tours = np.zeros(count, dtype=np.int64)
    for row in range(count):
        for place in range(width):
            begins = place == 0 or routes[row, place - 1] == 0
            tours[row] += begins and routes[row, place] != 0
    return tours


@compiled()
def euclidean_lengths(routes: Any, points: Any) -> NDArray[np.float64]:
    """
    Return the length of each plan, shape (B,).

    ``routes`` has the routes, shape (B, L), and ``points`` the coordinates of the
    locations, shape (B, N + 1, 2).
    """
    count, width = routes.shape
    lengths = np.zeros(count)
    for row in range(count):
        here = 0
        total = 0.0
        for place in range(width + 1):
            there = routes[row, place] if place < width else 0
            if there != here:
                dx = points[row, there, 0] - points[row, here, 0]
                dy = points[row, there, 1] - points[row, here, 1]
                squared = dx * dx + dy * dy
                if 1e-200 < squared < 1e200:
                    total += math.sqrt(squared)
                else:  # slower, but it neither overflows nor vanishes
                    total += math.hypot(dx, dy)
                here = there
        lengths[row] = total
    return lengths


@compiled()
def within_bounds(
    routes: Any, demands: Any, sizes: Any, capacity: Any, vehicles: Any
) -> NDArray[np.bool_]:
    """
    Return which plans serve every customer once within capacity and fleet, shape (B,).

    ``routes`` has shape (B, L), and ``demands`` has the demand of each customer, shape
    (B, N). ``sizes`` has the number of customers of each instance. It, ``capacity`` and
    ``vehicles`` have shape (B,).
    """
    count, width = routes.shape
    good = np.zeros(count, dtype=np.bool_)
    served_in = np.full(demands.shape[1] + 1, -1)  # the last row that served a customer
    for row in range(count):
        served, tours, load = 0, 0, 0
        fits = True
        for place in range(width + 1):
            customer = routes[row, place] if place < width else 0
            if customer == 0:
                tours += place > 0 and routes[row, place - 1] != 0
                load = 0
                continue
            if customer > sizes[row] or served_in[customer] == row:
                fits = False
                break
            served_in[customer] = row
            served += 1
            load += demands[row, customer - 1]
            if load > capacity[row]:
                fits = False
                break
        good[row] = fits and served == sizes[row] and tours <= vehicles[row]
    return good
