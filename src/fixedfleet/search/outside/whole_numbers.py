"""Amounts and distances as whole numbers, which outside solvers need."""

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
    Return (demands, capacity) as whole numbers; the demands begin with 0 for the depot.

    The demands are divided by their greatest common divisor. If their sum is then at
    most ``largest``, nothing is rounded. Otherwise demands are rounded up, and the
    capacity down, to a coarser unit. Then a plan that fills a vehicle to the last digit
    may be missed, but no vehicle is overloaded. ``largest`` must be above the number of
    customers.
    """
    capacities = [instance.capacity_units]
    demands, (capacity,) = whole_capacities(instance, capacities, largest=largest)
    return demands, capacity


def whole_capacities(
    instance: Instance, capacities: Sequence[int], *, largest: int
) -> tuple[NDArray[np.int64], list[int]]:
    """
    Return (demands, capacities) as :func:`whole_amounts` does, for several capacities.

    The capacities are given in the unit of :attr:`Instance.demand_units`.
    """
    demands, room = instance.demand_units, list(capacities)
    common = int(np.gcd.reduce(demands)) or 1
    demands, room = demands // common, [capacity // common for capacity in room]
    total = int(demands.sum())
    if total > largest:
        unit = -(-total // (largest - len(demands)))
        room = [capacity // unit for capacity in room]
        # Rounding must not keep a customer that fits into a vehicle from fitting alone.
        fitting = demands * common <= max(capacities)
        coarse = -(-demands // unit)
        demands = np.where(fitting, np.minimum(coarse, max(*room, 1)), coarse)
    # No load exceeds the sum of demands, and a huge capacity overflows in some solvers.
    return demands, [min(capacity, max(total, 1), largest) for capacity in room]


def whole_distances(instance: Instance, *, largest: int) -> NDArray[np.int64]:
    """
    Return the distances as whole numbers of at most ``largest``, (N + 1, N + 1).

    If all distances are whole and within the limit, they are unchanged. Otherwise they
    are multiplied by a power of two, so that the longest is between a quarter of
    ``largest`` and ``largest``, and rounded. The error of each distance is at most the
    longest distance times 2/``largest``.
    """
    exponent = distance_exponent(instance, largest)
    return np.rint(np.ldexp(instance.distances, exponent)).astype(np.int64)


def distance_exponent(instance: Instance, largest: int) -> int:
    """Return the exponent e of the factor 2^e that :func:`whole_distances` uses."""
    distances = instance.distances
    longest = float(distances.max())
    if longest <= largest and np.array_equal(distances, np.floor(distances)):
        return 0
    return binary_exponent(largest) - 1 - binary_exponent(longest)


def binary_exponent(value: float) -> int:
    """Return the whole number e with 2^(e−1) ≤ ``value`` < 2^e."""
    return math.frexp(value)[1]


def enough(demands: NDArray[np.int64], capacity: int, vehicles: int) -> bool:
    """
    Return whether each demand fits into a vehicle, and all demands into the fleet.

    The second condition compares sums only, so there may still be no packing.
    """
    return int(demands.max()) <= capacity and int(demands.sum()) <= vehicles * capacity
