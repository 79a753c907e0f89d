"""
Rounded capacity cuts: a set of customers is entered by enough vehicles for its demand.

For a set S of customers, a plan has at least 2⌈Σq(S)/Q⌉ arcs into or out of S.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.bound.whole_instance import WholeInstance

__all__ = ["CapacityCut", "crossings", "find_capacity_cuts"]

_ROUNDS = 6  # sets are grown this often from each customer, with other weights
_VIOLATION = 0.02  # the least violation that is worth a cut


class CapacityCut(NamedTuple):
    """A set of customers, and the fewest vehicles that can serve it."""

    inside: NDArray[np.bool_]  # (n,)
    vehicles: int


def find_capacity_cuts(
    whole: WholeInstance, flow: NDArray[np.float64], seed: int, most: int
) -> list[CapacityCut]:
    """
    Return cuts that a fractional solution violates, the most violated ones first.

    ``flow`` has shape (n, n), symmetric: how often each pair of locations is adjacent.
    """
    noise = np.random.default_rng(seed).uniform(0.6, 1.4, (_ROUNDS, whole.size))
    noise[0] = 1.0
    sets, violations = _grow(flow, whole.demands, whole.capacity, noise, _VIOLATION)
    cuts: dict[bytes, CapacityCut] = {}
    for place in np.argsort(-violations, kind="stable"):
        inside = sets[place]
        vehicles = -(-int(whole.demands[inside].sum()) // whole.capacity)
        cuts.setdefault(inside.tobytes(), CapacityCut(inside, vehicles))
        if len(cuts) == most:
            break
    return list(cuts.values())


@compiled()
def _grow(flow: Any, demands: Any, capacity: Any, noise: Any, least: Any) -> Any:
    """Grow sets from each customer by the most adjacent one; keep the most violated."""
    n = len(demands)
    sets = np.zeros((noise.size, n), np.bool_)
    violations = np.zeros(noise.size)
    count = 0
    for weights in noise:
        for first in range(1, n):
            violation = _grow_one(flow, demands, capacity, first, weights, sets[count])
            if violation > least:
                violations[count] = violation
                count += 1
            else:
                sets[count] = False
    return sets[:count], violations[:count]


@compiled()
def _grow_one(
    flow: Any, demands: Any, capacity: Any, first: Any, weights: Any, best: Any
) -> Any:
    """Grow a set from one customer; return the largest violation, its set in best."""
    n = len(demands)
    inside = np.zeros(n, np.bool_)
    near = np.zeros(n)  # flow between each location and the set
    load, boundary, largest = 0, 0.0, 0.0
    chosen = first
    while chosen > 0:
        inside[chosen] = True
        load += demands[chosen]
        boundary += flow[chosen].sum() - 2 * near[chosen]
        near += flow[chosen]
        violation = 2.0 * ((load + capacity - 1) // capacity) - boundary
        if violation > largest:
            largest = violation
            best[:] = inside
        chosen, heaviest = 0, 0.0
        for customer in range(1, n):
            if inside[customer] or near[customer] <= 1e-9:
                continue
            weight = weights[customer] * near[customer]
            if weight > heaviest:
                chosen, heaviest = customer, weight
    return largest


@compiled()
def crossings(routes: Any, insides: Any) -> Any:
    """
    Return how often each route enters or leaves each set, shape (R, K).

    Routes have shape (R, L): the depot, customers, and zeros to the end.
    """
    counts = np.zeros((len(routes), len(insides)), np.int64)
    for route in range(len(routes)):
        for cut in range(len(insides)):
            for place in range(routes.shape[1] - 1):
                start, end = routes[route, place], routes[route, place + 1]
                if insides[cut, start] != insides[cut, end]:
                    counts[route, cut] += 1
                if end == 0:
                    break
    return counts
