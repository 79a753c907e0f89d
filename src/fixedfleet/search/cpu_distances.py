"""
Distances in the compiled search: read from a matrix, or computed from coordinates.

Reading a matrix is faster while it fits into the processor's cache. Its size grows with
the square of the number of customers, so for larger instances each distance is computed
when it is needed. Locations on the globe are converted to points in space. The arc
between two points is computed from their chord, the straight line between them. Only
sums, products and roots are used, which give the same result on every machine.
"""

from __future__ import annotations

from math import floor, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numba.extending import overload

from fixedfleet.compiling import compiled
from fixedfleet.distances import Rounding, points_in_space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = [
    "MOST_WITH_MATRIX",
    "Matrix",
    "Points",
    "along_curve",
    "lay_out_legs",
    "leg_from",
    "leg_to",
    "longest_leg",
    "nearest",
    "nearest_first",
    "scale",
    "uses_coordinates",
]

MOST_WITH_MATRIX = 500  # with more customers, distances come from coordinates
_FIRST_NEAREST = 256  # customers that are sorted first by :func:`nearest_first`
_CURVE_BITS = 16  # precision of each coordinate along Hilbert's curve
_MEAN_UNIT_SQUARE = 0.5214  # mean distance of two random points in the unit square
_SHIFTS = 64  # sampled pairs per location, to estimate the mean distance


class Matrix(NamedTuple):
    """
    The distances of a small instance as a matrix.

    There are V nodes: node 0 is unused, customers are nodes 1 to N, and the depots of
    the tours are the nodes from N + 1. N' is N + 1.
    """

    there: Any  # (N', V) float32: from a customer to any node
    back: Any  # (N', V) float32: from any node to a customer


class Points(NamedTuple):
    """The coordinates of a large instance, from which distances are computed."""

    points: Any  # (V, 3) float64
    radius: Any  # float64: of the sphere; 0 for the plane
    rounding: Any  # int64: 0 none, 1 round, 2 ceil, 3 trunc, 4 TSPLIB's GEO


def lay_out_legs(instance: Instance, fleet: int) -> Matrix | Points:
    """Return the distances of an instance, with ``fleet`` depot nodes, one per tour."""
    n = instance.num_customers
    if uses_coordinates(instance):
        unit = instance.length_unit
        points, radius = points_in_space(instance.coordinates, instance.metric, unit)
        points = np.vstack((points, np.repeat(points[:1], fleet, axis=0)))
        rounding = get_args(Rounding).index(instance.rounding)
        tsplib = instance.metric == "geo" and unit != "mi"
        if tsplib and instance.rounding == "round":
            rounding = len(get_args(Rounding))
        radius *= instance.detour  # this multiplies all distances by the detour factor
        return Points(points, np.float64(radius), np.int64(rounding))
    distances = instance.distances
    there = np.empty((n + 1, n + 1 + fleet), dtype=np.float32)
    there[:, : n + 1] = distances
    there[:, n + 1 :] = distances[:, :1]
    back = there
    if instance.matrix is not None and not np.array_equal(distances, distances.T):
        back = np.empty_like(there)
        back[:, : n + 1] = distances.T
        back[:, n + 1 :] = distances[:1, :].T
    return Matrix(there, back)


def uses_coordinates(instance: Instance) -> bool:
    """Return whether distances are computed from coordinates, without a matrix."""
    large = instance.num_customers > MOST_WITH_MATRIX
    return large and instance.matrix is None and instance.is_plain


def leg_to(legs: Any, customer: Any, node: Any) -> Any:
    """Return the length from a customer to a node, which may be a depot."""


def leg_from(legs: Any, customer: Any, node: Any) -> Any:
    """Return the length from a node, which may be a depot, to a customer."""


def _compile(function: Any, by_matrix: Any) -> None:
    """
    Tell Numba how to compile :func:`leg_to` or :func:`leg_from`.

    If the argument ``legs`` is a :class:`Matrix`, ``by_matrix`` is compiled; if it is
    :class:`Points`, the distance is computed from coordinates.
    """

    options = {"_nrt": False, "nogil": True}

    @overload(function, inline="always", jit_options=options)  # type: ignore[untyped-decorator]
    def choose(legs: Any, customer: Any, node: Any) -> Any:
        return by_matrix if legs.instance_class is Matrix else _by_points


def _read_there(legs: Any, customer: Any, node: Any) -> Any:
    return legs.there[customer, node]


def _read_back(legs: Any, customer: Any, node: Any) -> Any:
    return legs.back[customer, node]


def _by_points(legs: Any, customer: Any, node: Any) -> Any:
    points = legs.points
    x = points[customer, 0] - points[node, 0]
    y = points[customer, 1] - points[node, 1]
    z = points[customer, 2] - points[node, 2]
    chord = sqrt(x * x + y * y + z * z)
    return np.float32(_length(chord, legs.radius, legs.rounding))


_compile(leg_to, _read_there)
_compile(leg_from, _read_back)


@compiled(_nrt=False)
def _length(chord: Any, radius: Any, rounding: Any) -> Any:
    """
    Return the rounded length of a leg, given the chord between its two points.

    ``radius`` and ``rounding`` are those of :class:`Points`.
    """
    length = chord if radius == 0.0 else radius * _arc(chord)
    if rounding == 1:
        length = floor(length + 0.5)
    elif rounding == 2:
        length = -floor(-length)
    elif rounding == 3:
        length = floor(length)
    elif rounding == 4:
        length = floor(length + 1.0)
    return length


@compiled(_nrt=False)
def _arc(chord: Any) -> Any:
    """
    Return the arc that belongs to a chord of the unit circle.

    The relative error is at most 1e-10.
    """
    # The angle is halved until a few terms of the series below are enough.
    factor = 1.0
    half = min(0.5 * chord, 1.0)
    while half > 0.05:
        half /= sqrt(2.0 * (1.0 + sqrt(1.0 - half * half)))
        factor *= 2.0
    s = half * half
    series = 1.0 + s * (1 / 6 + s * (3 / 40 + s * (15 / 336 + s * 105 / 3456)))
    return 2.0 * factor * half * series


def longest_leg(instance: Instance) -> float:
    """
    Return the longest distance of an instance.

    If distances are computed from coordinates, return an upper bound on it.
    """
    if not uses_coordinates(instance):
        return float(instance.distances.max())
    if instance.metric == "euclidean":
        return float(np.hypot(*np.ptp(instance.coordinates, axis=0)))
    # Kilometres, more than half the circumference of the Earth.
    return 25_000.0 * instance.detour


def scale(instance: Instance) -> float:
    """
    Return the scale of an instance, by which temperatures are multiplied.

    It is the mean distance of the instance, divided by the mean distance of random
    points in the unit square. If distances are computed from coordinates, the mean is
    taken over a sample of them.
    """
    n = instance.num_customers
    if uses_coordinates(instance):
        here = np.arange(n + 1)
        shifts = 1 + np.arange(_SHIFTS) * n // _SHIFTS
        means = [instance.between(here, (here + s) % (n + 1)).mean() for s in shifts]
        mean = float(np.mean(means))
    else:
        mean = float(instance.distances.sum()) / (n * (n + 1))
    return mean / _MEAN_UNIT_SQUARE or 1.0


def nearest_first(instance: Instance) -> Callable[[int], Iterator[int]]:
    """
    Return a function that, given a customer, yields all customers, the nearest first.

    It may yield a customer more than once. The first customers are found quickly, even
    if the instance is large.
    """
    n = instance.num_customers

    def by_distances(customer: int) -> Iterator[int]:
        away = instance.distances[customer, 1:]
        return iter((1 + np.argsort(away, kind="stable")).tolist())

    if not uses_coordinates(instance):
        return by_distances
    from scipy.spatial import KDTree  # takes long to import

    points, _ = points_in_space(instance.coordinates, instance.metric)
    tree = KDTree(points[1:])

    def by_tree(customer: int) -> Iterator[int]:
        count = 0
        while count < n:
            count = min(max(4 * count, _FIRST_NEAREST), n)
            yield from (1 + tree.query(points[customer], k=count)[1]).tolist()

    return by_tree


def along_curve(instance: Instance) -> NDArray[np.int64]:
    """
    Return the customers in their order along Hilbert's curve.

    Customers that are near each other are mostly close to each other in this order.
    """
    points = instance.coordinates[1:]
    side = float(np.ptp(points, axis=0).max()) or 1.0
    cells = (points - points.min(axis=0)) * ((2**_CURVE_BITS - 1) / side)
    x, y = cells.astype(np.int64).T
    place = np.zeros(len(points), dtype=np.int64)
    for bit in range(_CURVE_BITS - 1, -1, -1):
        right, up = x >> bit & 1, y >> bit & 1
        place = 4 * place + (3 * right ^ up)  # which quarter of the square
        # The curve is rotated in the two lower quarters, so that it is connected.
        lower = up == 0
        flipped = lower & (right == 1)
        x, y = np.where(flipped, ~x, x), np.where(flipped, ~y, y)
        x, y = np.where(lower, y, x), np.where(lower, x, y)
    return 1 + np.argsort(place, kind="stable")


def nearest(legs: Matrix | Points, customers: int, count: int) -> NDArray[np.uint32]:
    """
    Return the ``count`` nearest customers of each location, shape (N + 1, count).

    The nearest customer comes first. ``customers`` is N. If distances are asymmetric,
    the sum of both directions decides.
    """
    if isinstance(legs, Matrix):
        return _nearest_by_matrix(legs.there, legs.back, count)  # type: ignore[no-any-return]
    from scipy.spatial import KDTree  # takes long to import

    points = legs.points[: customers + 1]
    found = KDTree(points[1:]).query(points, k=count + 1)[1] + 1
    # A customer is not its own neighbour, so it is removed. If many customers share a
    # place, the tree may not return the customer itself; then the last one is removed.
    own = found == np.arange(customers + 1)[:, None]
    own[~own.any(axis=1), -1] = True
    # A single customer has no neighbour; the tree returns an index past the last one.
    others: NDArray[np.uint32] = np.minimum(found[~own], customers).astype(np.uint32)
    return others.reshape(customers + 1, count)


@compiled()
def _nearest_by_matrix(there: Any, back: Any, count: Any) -> Any:
    size = there.shape[0]
    found = np.ones((size, count), dtype=np.uint32)
    far = np.empty(count, dtype=np.float32)
    for i in range(size):
        filled = 0
        for j in range(1, size):
            if i == j:
                continue
            length = there[i, j] + back[i, j]
            if filled == count and length >= far[count - 1]:
                continue
            k = filled if filled < count else count - 1
            while k > 0 and far[k - 1] > length:
                far[k] = far[k - 1]
                found[i, k] = found[i, k - 1]
                k -= 1
            far[k] = length
            found[i, k] = j
            filled = min(filled + 1, count)
    return found
