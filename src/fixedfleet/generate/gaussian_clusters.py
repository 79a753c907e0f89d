"""Customers in clusters: a mixture of Gaussian distributions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError, above, at_least, check_number, check_whole
from fixedfleet.generate.drawn_rows import DrawnRow, draw_rows
from fixedfleet.generate.unit_square import FLEETS

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch

__all__ = ["clustered"]

# How often demands are drawn again if they do not fit into the fleet.
_MOST_DRAWS = 1000


def clustered(
    n: int,
    count: int,
    *,
    seed: int,
    capacity: int | None = None,
    vehicles: int | None = None,
    modes: int = 3,
    distance: float = 30.0,
) -> InstanceBatch:
    """
    Draw instances whose customers follow a mixture of Gaussian distributions.

    Each customer belongs to one of ``modes`` Gaussian distributions, chosen at random.
    Their standard deviation is 1, and their centres are uniform in a square of side
    ``distance``. The customers are then scaled by one factor into the unit square. The
    depot is uniform in the unit square, and demands are uniform from 1 to 9. Each
    instance has its own random numbers: the first 10 of 100 instances are the same as
    10 instances of the same seed.

    Parameters
    ----------
    n
        The number of customers per instance.
    count
        The number of instances.
    seed
        Seed of the whole batch.
    capacity
        The capacity Q of one vehicle. Default: 30, 40 and 50 for n = 20, 50 and 100, as
        in :func:`fixedfleet.generate.uniform`; otherwise ⌈30 + n/5⌉.
    vehicles
        The number of vehicles M. Demands q are drawn again until they fit into the
        fleet, Σq ≤ MQ. Default: 4, 7 and 11 for n = 20, 50 and 100 with the default
        capacity; otherwise as many as the best packing of quick heuristics needs.
    modes
        The number of Gaussian distributions.
    distance
        The side of the square of the centres: 1 gives one cloud, 50 tight clusters.

    References
    ----------
    Zhang et al., "Learning to solve travelling salesman problem with hardness-adaptive
    curriculum", AAAI 2022. Zhou et al., "Towards omni-generalizable neural methods for
    vehicle routing problems", ICML 2023.
    """
    n = check_whole("n", n, at_least(1))
    modes = check_whole("modes", modes, at_least(1))
    distance = check_number("distance", distance, above(0))
    if capacity is None and n in FLEETS:
        capacity = FLEETS[n][0]
        vehicles = FLEETS[n][1] if vehicles is None else vehicles
    carried = math.ceil(30 + n / 5) if capacity is None else capacity
    room = math.inf if vehicles is None else vehicles * carried

    def draw(rs: RandomState) -> DrawnRow:
        depot = rs.uniform(size=2)
        centres = rs.uniform(0, distance, size=(modes, 2))
        spread = rs.standard_normal((n, 2))
        points = centres[rs.randint(modes, size=n)] + spread
        low, high = points.min(axis=0), points.max(axis=0)
        extent = float((high - low).max()) or 1.0
        customers = (points - (low + high) / 2) / extent + 0.5
        return DrawnRow(depot, customers, _draw_demands(rs, n, room), carried)

    return draw_rows(draw, count, seed, vehicles)


def _draw_demands(rs: RandomState, n: int, room: float) -> NDArray[np.int64]:
    """Return demands from 1 to 9 whose sum is at most ``room``, shape (n,)."""
    for _ in range(_MOST_DRAWS):
        demands = rs.randint(1, 10, size=n, dtype=np.int64)
        if demands.sum() <= room:
            return demands
    raise InputError(
        f"demands of {n} customers from 1 to 9 do not fit into a fleet that carries "
        f"{room:g}: give more vehicles or a larger capacity"
    )
