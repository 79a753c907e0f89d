"""Amounts and distances as whole numbers, which outside packages need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = [
    "binary_exponent",
    "distance_exponent",
    "enough",
    "whole_amounts",
    "whole_capacities",
    "whole_distances",
]


def whole_amounts(instance: Instance, *, largest: int) -> tuple[NDArray[np.int64], int]:
    """
    Return demands, the depot's first, and the capacity as whole numbers.

    Customers that fit into the returned capacity fit into the vehicle. The converse
    holds if the demands, divided by their greatest common divisor, sum to at most
    ``largest``. Otherwise amounts are counted in coarser units, demands rounded up and
    the capacity down: a plan that fills a vehicle to the last digit may then be missed,
    but no vehicle is overloaded. ``largest`` is above the number of customers.
    """
    capacities = [instance.capacity_units]
    demands, (capacity,) = whole_capacities(instance, capacities, largest=largest)
    return demands, capacity


def whole_capacities(
    instance: Instance, capacities: Sequence[int], *, largest: int
) -> tuple[NDArray[np.int64], list[int]]:
    """
    Like :func:`whole_amounts`, for several capacities.

    The capacities are given in the unit of :attr:`Instance.demand_units`.
    """
    demands, room = instance.demand_units, list(capacities)
    common = int(np.gcd.reduce(demands)) or 1
    demands, room = demands // common, [capacity // common for capacity in room]
    total = int(demands.sum())
    if total > largest:
        unit = -(-total // (largest - len(demands)))
        room = [capacity // unit for capacity in room]
        # A customer that fills a vehicle alone must still fit into one.
        fitting = demands * common <= max(capacities)
        coarse = -(-demands // unit)
        demands = np.where(fitting, np.minimum(coarse, max(*room, 1)), coarse)
    # No load exceeds the sum, and packages overflow on a huge capacity.
    return demands, [min(capacity, max(total, 1), largest) for capacity in room]


def whole_distances(instance: Instance, *, largest: int) -> NDArray[np.int64]:
    """
    Return the distances as whole numbers of at most ``largest``, (N + 1, N + 1).

    Whole distances within the bound stay as they are. Others are multiplied by the
    power of two that brings the longest to between a quarter of ``largest`` and all of
    it, and rounded: each is off by at most 2/``largest`` of the longest.
    """
    exponent = distance_exponent(instance, largest)
    return np.rint(np.ldexp(instance.distances, exponent)).astype(np.int64)


def distance_exponent(instance: Instance, largest: int) -> int:
    """Return the power of two that :func:`whole_distances` multiplies by; 0 for 1."""
    distances = instance.distances
    longest = float(distances.max())
    if longest <= largest and np.array_equal(distances, np.floor(distances)):
        return 0
    return binary_exponent(largest) - 1 - binary_exponent(longest)


def binary_exponent(value: float) -> int:
    """Return the e for which ``value`` lies in [2^(e-1), 2^e)."""
    return math.frexp(value)[1]


def enough(demands: NDArray[np.int64], capacity: int, vehicles: int) -> bool:
    """
    Whether each demand fits into a vehicle, and the sum of demands into the fleet.

    There may still be no packing.
    """
    return int(demands.max()) <= capacity and int(demands.sum()) <= vehicles * capacity
