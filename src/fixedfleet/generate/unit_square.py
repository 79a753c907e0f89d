"""The uniform distribution and the public test sets drawn from it."""

from __future__ import annotations

import numpy as np

from fixedfleet.errors import InputError, at_least, check_seed, check_whole
from fixedfleet.instance import InstanceBatch

__all__ = ["FLEETS", "test_set", "uniform"]

# The capacity and the number of vehicles, by the number of customers.
FLEETS = {20: (30, 4), 50: (40, 7), 100: (50, 11)}


def _default_fleet(
    n: int, capacity: int | None, vehicles: int | None
) -> tuple[int, int]:
    """
    Return the capacity and the number of vehicles.

    If an argument is None, the default for n customers replaces it. InputError is
    raised if n has no default.
    """
    known = FLEETS.get(n, (None, None))
    capacity = known[0] if capacity is None else capacity
    vehicles = known[1] if vehicles is None else vehicles
    if capacity is None or vehicles is None:
        raise InputError(
            f"no capacity and fleet are known for n = {n}: give capacity and vehicles, "
            f"or take n = {', '.join(map(str, FLEETS))}"
        )
    return capacity, vehicles


def uniform(
    n: int,
    count: int,
    *,
    seed: int,
    capacity: int | None = None,
    vehicles: int | None = None,
    reject: bool = True,
) -> InstanceBatch:
    """
    Draw depot and customers in the unit square and demands from 1 to 9, uniformly.

    NumPy never changes its legacy generator, so a seed always gives the same instances.
    The coordinates of all instances are drawn before all demands. So the instances also
    depend on ``count``: the first 10 of 100 instances differ from 10 instances of the
    same seed.

    Parameters
    ----------
    n
        The number of customers.
    count
        The number of instances.
    seed
        Seed of NumPy's ``RandomState``.
    capacity, vehicles
        Capacity Q and number of vehicles M. Default: 30 and 4 for n = 20, 40 and 7 for
        n = 50, 50 and 11 for n = 100. Other n have no default.
    reject
        Whether to skip instances whose total demand exceeds the capacity of the fleet,
        Σq > MQ. If so, int(1.1 · count) + 64 instances are drawn, and the first
        ``count`` of them with Σq ≤ MQ are returned. Even for these, the fleet may be
        too small, because demands cannot be split.

    References
    ----------
    Nazari et al., "Reinforcement learning for solving the vehicle routing problem",
    NeurIPS 2018. Kool, van Hoof and Welling, "Attention, learn to solve routing
    problems!", ICLR 2019.
    """
    n = check_whole("n", n, at_least(1))
    count = check_whole("count", count, at_least(0))
    capacity, vehicles = _default_fleet(n, capacity, vehicles)
    if not reject:
        return _draw_uniform(n, count, seed, capacity, vehicles)
    size = int(count * 1.1) + 64
    drawn = _draw_uniform(n, size, seed, capacity, vehicles)
    rows = np.flatnonzero(drawn.minimum_vehicles <= drawn.vehicles)[:count]
    if len(rows) < count:
        raise InputError(
            f"in only {len(rows)} of {len(drawn)} instances the demands fit into "
            f"{vehicles} vehicles of capacity {capacity}; {count} such instances are "
            "wanted: give more vehicles or a larger capacity"
        )
    return drawn[rows]


def test_set(n: int, *, reject: bool = True) -> InstanceBatch:
    """
    Return the public test set: 10,000 uniform instances of seed 1234.

    Parameters
    ----------
    n
        The number of customers: 20, 50 or 100.
    reject
        Whether to leave out the instances whose total demand exceeds the capacity of
        the fleet. For n = 20, 50 and 100, 9,646, 9,525 and 9,772 instances then remain.
    """
    n = check_whole("n", n, at_least(1))
    drawn = _draw_uniform(n, 10_000, 1234, *_default_fleet(n, None, None))
    return drawn[drawn.minimum_vehicles <= drawn.vehicles] if reject else drawn


def _draw_uniform(
    n: int, size: int, seed: int, capacity: int, vehicles: int
) -> InstanceBatch:
    rs = np.random.RandomState(check_seed(seed))
    return InstanceBatch(  # the public test sets need the three draws in this order
        depots=rs.uniform(size=(size, 2)),
        customers=rs.uniform(size=(size, n, 2)),
        demands=rs.randint(1, 10, size=(size, n), dtype=np.int64),
        capacity=capacity,
        vehicles=vehicles,
    )
