"""Order the customers of each vehicle by their distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["order_tours"]

# Smaller gains, as a share of the largest distance, count as rounding errors.
_ROUNDING = 1e-9
_LONGEST_SEGMENT = 3  # the most customers that Or-opt moves together
_NOTHING = -1e300  # below any saving


@compiled()
def order_tours(
    distances: NDArray[np.float64],
    vehicle: NDArray[np.int64],
    routes: NDArray[np.int64],
) -> None:
    """
    Write the tours of one instance, ordered by farthest insertion, 2-opt and Or-opt.

    ``vehicle`` has the vehicle of each location, shape (N',); M for the depot and for
    customers that no vehicle serves. The tours are written to ``routes``, shape (M, N).
    """
    for k in range(len(routes)):
        stops = np.flatnonzero(vehicle == k)
        tour, scale = _insert_farthest(distances, stops)
        _shorten(distances, tour, scale)
        routes[k, : len(stops)] = tour[1:-1]
        routes[k, len(stops) :] = 0


@compiled()
def _insert_farthest(distances: Any, stops: Any) -> tuple[Any, float]:
    """
    Return a tour built by farthest insertion, and its largest distance from the depot.

    The tour begins and ends with the depot and visits all ``stops``; its array has
    len(stops) + 2 entries. The distance is the largest between the depot and a stop.
    """
    tour = np.zeros(len(stops) + 2, np.int64)
    near, scale = np.zeros(len(stops)), 0.0  # the distances from the tour so far
    for i, stop in enumerate(stops):
        near[i] = distances[0, stop]
        scale = max(scale, distances[0, stop], distances[stop, 0])
    for count in range(len(stops)):
        chosen = np.argmax(near)
        stop = stops[chosen]
        least, place = np.inf, 0
        for p in range(count + 1):
            x, y = tour[p], tour[p + 1]
            detour = distances[x, stop] + distances[stop, y] - distances[x, y]
            if detour < least:
                least, place = detour, p
        for p in range(count + 1, place, -1):
            tour[p + 1] = tour[p]
        tour[place + 1] = stop
        for i in range(len(stops)):
            if near[i] >= 0.0:
                near[i] = min(near[i], distances[stop, stops[i]])
        near[chosen] = -1.0
    return tour, scale


@compiled()
def _shorten(distances: Any, tour: Any, scale: float) -> None:
    """
    Improve a tour in place by 2-opt and Or-opt, until no change shortens it.

    Each step makes the change that saves most. ``scale`` is the largest distance
    between the depot and a stop. Savings that are tiny compared with it are taken for
    rounding errors.
    """
    count = len(tour) - 2
    turn = np.zeros(count + 1)
    for _ in range(10 * count):
        # How much longer the way from a stop back to the depot is than the way there.
        for p in range(1, count + 1):
            here, before = tour[p], tour[p - 1]
            back = distances[here, before] - distances[before, here]
            turn[p] = turn[p - 1] + back
        most, best = _NOTHING, (0, 0, 0)
        for i in range(1, count + 1):
            for p in range(count + 1):
                saved, kind = _saving(distances, tour, turn, i, p)
                if saved > most:
                    most, best = saved, (i, p, kind)
        if not most > _ROUNDING * scale:
            return
        _change(tour, *best)


@compiled(_nrt=False)
def _saving(distances: Any, tour: Any, turn: Any, i: int, p: int) -> tuple[float, int]:
    """
    Return the length saved by the best change at positions i and p, and its kind.

    Kind 0 reverses the stops from i to p. Kind 2l − 1 moves the l stops that begin at i
    to the position after p. Kind 2l does the same and also reverses them. ``turn[p]``
    is how much longer it is to drive from position p back to the depot, along the same
    stops, than from the depot to p.
    """
    a, b = tour[i - 1], tour[i]
    x, y = tour[p], tour[min(p + 1, len(tour) - 1)]
    most, kind = _NOTHING, 0
    if p > i:
        old = distances[a, b] + distances[x, y]
        most = old - distances[a, x] - distances[b, y] - (turn[p] - turn[i])
    for length in range(1, _LONGEST_SEGMENT + 1):
        end = i + length - 1
        if end > len(tour) - 2 or i - 1 <= p <= end:
            continue
        c, d = tour[end], tour[end + 1]
        old = distances[a, b] + distances[c, d] - distances[a, d] + distances[x, y]
        kept = old - distances[x, b] - distances[c, y]
        reverse = turn[end] - turn[i]
        reversed_ = old - distances[x, c] - distances[b, y] - reverse
        if kept > most:
            most, kind = kept, 2 * length - 1
        if reversed_ > most:
            most, kind = reversed_, 2 * length
    return most, kind


@compiled(_nrt=False)
def _change(tour: Any, i: int, p: int, kind: int) -> None:
    """Make a change of this kind at positions i and p; see :func:`_saving`."""
    if kind == 0:
        _reverse(tour, i, p)
        return
    # A move is three reversals: of the segment with all stops that it passes, then of
    # the segment alone and of these stops alone.
    more = (kind - 1) // 2
    if p > i:
        _reverse(tour, i, p)
        _reverse(tour, i, p - more - 1)
        begin = p - more
    else:
        _reverse(tour, p + 1, i + more)
        _reverse(tour, p + 2 + more, i + more)
        begin = p + 1
    if kind % 2:
        _reverse(tour, begin, begin + more)


@compiled(_nrt=False)
def _reverse(tour: Any, begin: int, end: int) -> None:
    while begin < end:
        tour[begin], tour[end] = tour[end], tour[begin]
        begin, end = begin + 1, end - 1
