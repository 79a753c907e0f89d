"""Customers in patterns: clusters, and the mutations of Bossek et al. (2019).

The mutations are used for routing by Zhou et al., ICML 2023, and by Bi et al.,
"Learning generalizable models for vehicle routing problems via knowledge distillation",
NeurIPS 2022.
"""

from __future__ import annotations

import inspect
import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import (
    InputError,
    above,
    at_least,
    between,
    check_number,
    check_seed,
    check_whole,
)
from fixedfleet.generate.set_x import smallest_fleet
from fixedfleet.generate.unit_square import FLEETS
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import RandomState
    from numpy.typing import NDArray

    Points = NDArray[np.float64]
    Pattern = Callable[[RandomState, int], Points]
    Move = Callable[[RandomState, Points, float], Points]

__all__ = [
    "clustered",
    "compression",
    "expansion",
    "explosion",
    "grid",
    "implosion",
    "rotation",
]

_MOST_DRAWS = 1000  # of the demands of an instance, until they fit into the fleet
_MORE = """See :func:`clustered` for the arguments besides ``radius``.

References
----------
Bossek et al., "Evolving diverse TSP instances by means of novel and creative mutation
operators", FOGA 2019."""
_RATE = 10.0  # of the exponential distribution of how far points are thrown


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
    Draw customers from a mixture of Gaussian distributions.

    Each customer belongs to one of the modes, with equal chances. The centres are
    uniform in a square of side ``distance``, in units of the standard deviation of a
    mode.

    As in all patterns of this module, the customers are then scaled by one factor into
    the unit square. The depot is uniform in it, and demands are uniform from 1 to 9.
    Each instance has its own random numbers: the first 10 of 100 instances equal 10
    instances of the same seed.

    Parameters
    ----------
    n
        The number of customers per instance.
    count
        The number of instances.
    seed
        Seed of the whole batch.
    capacity
        What one vehicle carries. Default: 30, 40 and 50 for n = 20, 50 and 100, as in
        :func:`fixedfleet.generate.uniform`; otherwise ⌈30 + n/5⌉.
    vehicles
        The number of vehicles; demands are drawn again until Σq ≤ MQ. Default: 4, 7
        and 11 for n = 20, 50 and 100 with the default capacity; otherwise the fewest
        that quick packings need.
    modes
        The number of Gaussian distributions.
    distance
        How far the centres lie apart: 1 gives one cloud, 50 gives tight clusters.

    References
    ----------
    Zhang et al., "Learning to solve travelling salesman problem with hardness-adaptive
    curriculum", AAAI 2022. Zhou et al., "Towards omni-generalizable neural methods for
    vehicle routing problems", ICML 2023.
    """
    modes = check_whole("modes", modes, at_least(1))
    distance = check_number("distance", distance, above(0))
    draw = partial(_mixture, modes=modes, distance=distance)
    return _draw_batch(draw, n, count, seed, capacity, vehicles)


def rotation(
    n: int,
    count: int,
    *,
    seed: int,
    capacity: int | None = None,
    vehicles: int | None = None,
    share: float = 0.4,
) -> InstanceBatch:
    """
    Draw uniform customers, turn some of them by a random angle, and shift these.

    Each customer is chosen with the probability ``share``. See :func:`clustered` for
    the other arguments.

    References
    ----------
    Bossek et al., FOGA 2019; see :func:`explosion`.
    """
    share = check_number("share", share, between(0, 1))
    draw = partial(_turn, share=share)
    return _draw_batch(draw, n, count, seed, capacity, vehicles)


# ------------------------------------------------------------------------- batches


def _draw_batch(
    pattern: Pattern,
    n: int,
    count: int,
    seed: int,
    capacity: int | None,
    vehicles: int | None,
) -> InstanceBatch:
    """Draw instances whose customers form a pattern."""
    n = check_whole("n", n, at_least(1))
    count = check_whole("count", count, at_least(1))
    seed = check_seed(seed)
    if capacity is None and n in FLEETS:
        capacity = FLEETS[n][0]
        vehicles = FLEETS[n][1] if vehicles is None else vehicles
    carried = math.ceil(30 + n / 5) if capacity is None else capacity
    room = math.inf if vehicles is None else vehicles * carried
    depots, customers, demands = [], [], []
    for index in range(count):
        rs = np.random.RandomState([seed, index])
        depots.append(rs.uniform(size=2))
        customers.append(_scale(pattern(rs, n)))
        demands.append(_draw_demands(rs, n, room))
    batch = InstanceBatch(
        depots=np.array(depots),
        customers=np.array(customers),
        demands=np.array(demands),
        capacity=carried,
        vehicles=1 if vehicles is None else vehicles,
    )
    if vehicles is not None:
        return batch
    return batch.with_vehicles([smallest_fleet(instance) for instance in batch])


def _draw_demands(rs: RandomState, n: int, room: float) -> NDArray[np.int64]:
    """Draw demands from 1 to 9 until they fit into the fleet."""
    for _ in range(_MOST_DRAWS):
        demands = rs.randint(1, 10, size=n, dtype=np.int64)
        if demands.sum() <= room:
            return demands
    raise InputError(
        f"demands of {n} customers from 1 to 9 do not fit into a fleet that carries "
        f"{room:g}: give more vehicles or a larger capacity"
    )


def _scale(points: Points) -> Points:
    """Scale points by one factor into the unit square, and centre them."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    return np.asarray((points - (low + high) / 2) / extent + 0.5)


# ------------------------------------------------------------------------ patterns


def _mixture(rs: RandomState, n: int, modes: int, distance: float) -> Points:
    centres = rs.uniform(0, distance, size=(modes, 2))
    spread: Points = rs.standard_normal((n, 2))
    return centres[rs.randint(modes, size=n)] + spread


def _turn(rs: RandomState, n: int, share: float) -> Points:
    points = rs.uniform(size=(n, 2))
    chosen = rs.uniform(size=n) < share
    angle = rs.uniform(0, 2 * math.pi)
    turn = np.array(
        [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    )
    points[chosen] = points[chosen] @ turn.T + rs.uniform(size=2)
    return points


def _explode(rs: RandomState, points: Points, radius: float) -> Points:
    """
    Draw uniform customers, and throw those around a random centre away from it.

    They come to lie at a distance of ``radius`` plus an exponentially distributed
    length of mean 0.1. This leaves a hole.
    """
    outward, distances = _from_centre(rs, points)
    inside = distances < radius
    far = radius + rs.exponential(1 / _RATE, size=len(points))
    centre = points - outward * distances[:, None]
    return np.where(inside[:, None], centre + outward * far[:, None], points)


def _implode(rs: RandomState, points: Points, radius: float) -> Points:
    """
    Draw uniform customers, and pull those around a random centre towards it.

    Each is pulled by the share min(|z|, radius) of its distance, with z from the
    standard normal distribution.
    """
    outward, distances = _from_centre(rs, points)
    pull = np.minimum(np.abs(rs.standard_normal(len(points))), radius) * distances
    inside = distances < radius
    return points - outward * np.where(inside, pull, 0.0)[:, None]


def _expand(rs: RandomState, points: Points, radius: float) -> Points:
    """
    Draw uniform customers, and throw those around a random line away from it.

    They come to lie at a distance of ``radius`` plus an exponentially distributed
    length of mean 0.1.
    """
    outward, distances = _from_line(rs, points)
    inside = distances < radius
    far = radius + rs.exponential(1 / _RATE, size=len(points))
    return points + outward * np.where(inside, far - distances, 0.0)[:, None]


def _compress(rs: RandomState, points: Points, radius: float) -> Points:
    """
    Draw uniform customers, and pull those around a random line towards it.

    Each is pulled by the share min(|z|, 1) of its distance, with z from the standard
    normal distribution.
    """
    outward, distances = _from_line(rs, points)
    pull = np.minimum(np.abs(rs.standard_normal(len(points))), 1.0) * distances
    inside = distances < radius
    return points - outward * np.where(inside, pull, 0.0)[:, None]


def _align(rs: RandomState, points: Points, radius: float) -> Points:
    """
    Draw uniform customers, and arrange those of a random box in a square grid.

    The box has sides of length ``radius``. If it holds k customers, ⌊√k⌋² of them form
    the grid.
    """
    corner = rs.uniform(0, 1 - radius, size=2)
    inside = ((points > corner) & (points <= corner + radius)).all(axis=1)
    side = math.isqrt(int(inside.sum()))
    chosen = rs.permutation(np.flatnonzero(inside))[: side**2]
    steps = np.linspace(0, radius, side)
    places = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    points[chosen] = corner + places
    return points


def _from_centre(rs: RandomState, points: Points) -> tuple[Points, Points]:
    """Return directions, (n, 2), and distances, (n,), from a random centre."""
    steps = points - rs.uniform(size=2)
    distances = np.hypot(steps[:, 0], steps[:, 1])
    return steps / np.where(distances > 0, distances, 1.0)[:, None], distances


def _from_line(rs: RandomState, points: Points) -> tuple[Points, Points]:
    """Return directions, (n, 2), and distances, (n,), from a line through the square.

    The line crosses the left side at a uniform height. Its slope is uniform up to 3, up
    from the lower half and down from the upper half.
    """
    height, slope = rs.uniform(), rs.uniform(0, 3)
    slope = slope if height < 0.5 else -slope
    normal = np.array([-slope, 1.0]) / math.hypot(slope, 1.0)
    signed = (points - [0.0, height]) @ normal  # (n,)
    return np.sign(signed)[:, None] * normal, np.abs(signed)


def _mutation(name: str, move: Move) -> Callable[..., InstanceBatch]:
    """Return the distribution of uniform customers of which some are moved."""

    def draw(
        n: int,
        count: int,
        *,
        seed: int,
        capacity: int | None = None,
        vehicles: int | None = None,
        radius: float = 0.3,
    ) -> InstanceBatch:
        radius = check_number("radius", radius, between(0, 1))

        def pattern(rs: RandomState, n: int) -> Points:
            return move(rs, rs.uniform(size=(n, 2)), radius)

        return _draw_batch(pattern, n, count, seed, capacity, vehicles)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = f"{inspect.cleandoc(move.__doc__ or '')}\n\n{_MORE}"
    return draw


explosion = _mutation("explosion", _explode)
implosion = _mutation("implosion", _implode)
expansion = _mutation("expansion", _expand)
compression = _mutation("compression", _compress)
grid = _mutation("grid", _align)
