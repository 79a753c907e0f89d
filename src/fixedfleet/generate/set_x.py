"""The distribution of Uchoa et al. (2017), from which they drew CVRPLIB's set X."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from fixedfleet.errors import (
    InputError,
    at_least,
    check_choice,
    check_number,
    check_seed,
    check_whole,
)
from fixedfleet.generate.drawn_rows import DrawnRow, draw_rows, smallest_fleet
from fixedfleet.instance import Instance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import RandomState
    from numpy.typing import NDArray

    from fixedfleet.distances import Rounding
    from fixedfleet.instance import InstanceBatch

__all__ = [
    "CustomerPosition",
    "Demand",
    "DepotPosition",
    "uchoa",
    "uchoa_batch",
]

DepotPosition = Literal["central", "eccentric", "random"]
CustomerPosition = Literal["random", "clustered", "random-clustered"]
Demand = Literal["unitary", "1-10", "5-10", "1-100", "50-100", "quadrant", "many-small"]

_GRID = 1000  # coordinates are whole numbers from 0 to this
_MOST_CUSTOMERS = 100_000  # a tenth of the grid; with more, free points become rare
_DECAY = 40.0  # a cluster's density falls to 1/e over this distance


def uchoa(
    n: int,
    *,
    seed: int,
    depot: DepotPosition | None = "random",
    customers: CustomerPosition | None = "random",
    demand: Demand | None = "1-100",
    route_size: float | None = None,
    vehicles: int | None = None,
    rounding: Rounding = "none",
) -> Instance:
    """
    Draw an instance from the distribution of Uchoa et al. (2017).

    Coordinates are whole numbers from 0 to 1000.

    Parameters
    ----------
    n
        The number of customers.
    seed
        Seed of NumPy's ``RandomState``.
    depot
        ``central`` at (500, 500), ``eccentric`` at (0, 0), or ``random``. None draws
        one of the three.
    customers
        ``random``: uniform. ``clustered``: 3 to 8 customers are the centres of
        clusters, and a random point becomes a customer with probability Σ exp(−d/40),
        summed over its distances d to the centres. ``random-clustered``: half of the
        customers are random, the others clustered. None draws one of the three.
    demand
        ``unitary``: all are 1. A range such as ``1-100``: uniform. ``quadrant``: 1 to
        50 in the upper left and the lower right quadrant, 51 to 100 in the others.
        ``many-small``: 70 to 95 % of the demands are from 1 to 10, the others from 50
        to 100. None draws one of the seven distributions of the paper.
    route_size
        The average number of customers per tour, r. The capacity is ⌈r Σq / n⌉, where
        Σq is the total demand, but at least the largest demand. Default: drawn from the
        triangular distribution from 3 to 25 with mode 6.
    vehicles
        The number of vehicles. Default: as many as the best packing of the quick
        heuristics of :func:`fixedfleet.fleet.assess_fleet` needs.
    rounding
        How distances are rounded. The set X of CVRPLIB uses ``round``.

    References
    ----------
    Uchoa et al., "New benchmark instances for the capacitated vehicle routing problem",
    European Journal of Operational Research 257 (2017).
    """
    n, seed = check_whole("n", n, at_least(1)), check_seed(seed)
    rs = np.random.RandomState(seed)
    row = _draw_uchoa(rs, n, depot, customers, demand, route_size)
    given = 1 if vehicles is None else vehicles
    drawn = Instance(**row._asdict(), vehicles=given, rounding=rounding)
    fleet = smallest_fleet(drawn) if vehicles is None else drawn.vehicles
    return replace(drawn, vehicles=fleet, name=f"uchoa-n{n + 1}-k{fleet}-seed{seed}")


def uchoa_batch(
    n: int,
    count: int,
    *,
    seed: int,
    depot: DepotPosition | None = None,
    customers: CustomerPosition | None = None,
    demand: Demand | None = None,
    route_size: float | None = None,
    vehicles: int | None = None,
) -> InstanceBatch:
    """
    Draw many instances as :func:`uchoa` does.

    By default, depot, customers, demand and route size are chosen at random for each
    instance. Each instance has its own random numbers: the first 10 of 100 instances
    are the same as 10 instances of the same seed.

    Parameters
    ----------
    n
        The number of customers per instance.
    count
        The number of instances, at least 1.
    seed
        Seed of the whole batch.
    depot, customers, demand, route_size, vehicles
        As in :func:`uchoa`. A given value holds for all instances.

    References
    ----------
    Uchoa et al. (2017); see :func:`uchoa`.
    """
    n = check_whole("n", n, at_least(1))

    def draw(rs: RandomState) -> DrawnRow:
        return _draw_uchoa(rs, n, depot, customers, demand, route_size)

    return draw_rows(draw, count, seed, vehicles)


def _draw_uchoa(
    rs: RandomState,
    n: int,
    depot: DepotPosition | None,
    customers: CustomerPosition | None,
    demand: Demand | None,
    route_size: float | None,
) -> DrawnRow:
    if n > _MOST_CUSTOMERS:
        raise InputError(f"n is {n}, above {_MOST_CUSTOMERS}, the most for the grid")
    if route_size is not None:
        check_number("route size", route_size, at_least(1))
    depot_kind = _choose(rs, "depot", depot, get_args(DepotPosition))
    customer_kind = _choose(rs, "customers", customers, get_args(CustomerPosition))
    demand_kind = _choose(rs, "demand", demand, get_args(Demand))
    size = rs.triangular(3, 6, 25) if route_size is None else route_size
    place = _depot(rs, depot_kind)
    places = _customers(rs, n, customer_kind, place)
    demands = _demands(rs, places, demand_kind)
    total, largest = int(demands.sum()), int(demands.max())
    return DrawnRow(place, places, demands, max(largest, math.ceil(size * total / n)))


def _depot(rs: RandomState, kind: str) -> NDArray[np.int64]:
    if kind == "random":
        return rs.randint(0, _GRID + 1, size=2, dtype=np.int64)
    return np.full(2, _GRID // 2 if kind == "central" else 0, dtype=np.int64)


def _customers(
    rs: RandomState, n: int, kind: str, depot: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the coordinates of customers, shape (n, 2); no two locations coincide."""
    scattered = {"random": n, "clustered": 0, "random-clustered": n // 2}[kind]
    taken = {(int(depot[0]), int(depot[1])): None}
    _place(rs, scattered, taken)
    if scattered < n:
        seeds = min(int(rs.randint(3, 9)), n - scattered)
        _place(rs, seeds, taken)
        centres = np.array(list(taken)[-seeds:])
        _place(rs, n - scattered - seeds, taken, centres)
    return np.array(list(taken)[1:], dtype=np.int64)


def _place(
    rs: RandomState,
    count: int,
    taken: dict[tuple[int, int], None],
    centres: NDArray[np.int64] | None = None,
) -> None:
    """
    Add ``count`` new random points to ``taken``, the points that are in use.

    If ``centres`` are given, the points are drawn near them; see ``clustered`` in
    :func:`uchoa`.
    """
    wanted = len(taken) + count
    while len(taken) < wanted:
        # At least 256 points, because few of them may be accepted.
        points = rs.randint(0, _GRID + 1, size=(max(count, 256), 2), dtype=np.int64)
        if centres is not None:
            gaps = np.hypot(*np.moveaxis(points[:, None] - centres, -1, 0))
            chance = np.exp(-gaps / _DECAY).sum(axis=1)  # (points,)
            points = points[rs.uniform(size=len(points)) <= chance]
        for x, y in points.tolist():
            if len(taken) == wanted:
                break
            taken[x, y] = None  # adds nothing if the place is taken already


def _demands(
    rs: RandomState, customers: NDArray[np.int64], kind: str
) -> NDArray[np.int64]:
    n = len(customers)
    if kind == "unitary":
        return np.ones(n, dtype=np.int64)
    if kind == "quadrant":
        right, upper = (customers >= _GRID / 2).T
        return _between(rs, 1, 50, n) + np.where(right == upper, 50, 0)
    if kind == "many-small":
        small = round(rs.uniform(0.7, 0.95) * n)
        parts = _between(rs, 1, 10, small), _between(rs, 50, 100, n - small)
        return rs.permutation(np.concatenate(parts))
    low, high = map(int, kind.split("-"))
    return _between(rs, low, high, n)


def _between(rs: RandomState, low: int, high: int, n: int) -> NDArray[np.int64]:
    return rs.randint(low, high + 1, size=n, dtype=np.int64)


def _choose(rs: RandomState, what: str, kind: str | None, kinds: Sequence[str]) -> str:
    if kind is None:
        return kinds[rs.randint(len(kinds))]
    check_choice(what, kind, kinds)
    return kind
