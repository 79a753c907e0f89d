"""
Rounded capacity cuts: enough vehicles visit each set of customers for its demand.

For a set S of customers, a plan has at least 2⌈Σq(S)/Q⌉ arcs into or out of S, where
Σq(S) is the total demand of S and Q the capacity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.bound.whole_instance import WholeInstance

__all__ = ["CapacityCut", "crossings", "find_capacity_cuts"]

_ROUNDS = 6  # how often sets are grown from each customer, with different weights
_MOST_SETS = 4000  # limit on the number of violated sets that one call finds
_VIOLATION = 0.02  # smaller violations are not worth a cut


class CapacityCut(NamedTuple):
    """A set of customers, and the minimum number of vehicles for its demand."""

    inside: NDArray[np.bool_]  # (n,): which locations are in the set
    vehicles: int


def find_capacity_cuts(
    whole: WholeInstance, flow: NDArray[np.float64], seed: int, most: int
) -> list[CapacityCut]:
    """
    Return cuts that a fractional solution violates, the most violated ones first.

    ``flow[i, j]`` is the sum of the values of the routes that visit i and j directly
    one after the other, in either order; it has shape (n, n). ``seed`` is for random
    weights, with which different sets are found. ``most`` is the maximum number of
    cuts.
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
    """
    Return violated sets of customers as masks, shape (K, n), and their violations.

    In each round, a set is grown from each customer. In each step, the customer with
    the largest weighted flow to the set is added to it. Among the sets grown from one
    customer that need the same number of vehicles, only the most violated one is
    returned. ``noise`` has the weights of the customers in each round, shape (rounds,
    n). Only violations above ``least`` count.
    """
    n = len(demands)
    sets = np.zeros((_MOST_SETS, n), np.bool_)
    violations = np.zeros(_MOST_SETS)
    count = 0
    for weights in noise:
        for first in range(1, n):
            inside = np.zeros(n, np.bool_)
            near = np.zeros(n)  # flow between each location and the set
            load, boundary, known, largest = 0, 0.0, 0, least
            chosen = first
            while chosen > 0 and count < _MOST_SETS:
                inside[chosen] = True
                load += demands[chosen]
                boundary += flow[chosen].sum() - 2 * near[chosen]
                near += flow[chosen]
                vehicles = (load + capacity - 1) // capacity
                if vehicles > known:
                    count += largest > least
                    known, largest = vehicles, least
                violation = 2.0 * vehicles - boundary
                if violation > largest and count < _MOST_SETS:
                    largest = violations[count] = violation
                    sets[count] = inside
                chosen, heaviest = 0, 0.0
                for customer in range(1, n):
                    if inside[customer] or near[customer] <= 1e-9:
                        continue
                    weight = weights[customer] * near[customer]
                    if weight > heaviest:
                        chosen, heaviest = customer, weight
            count += largest > least
    return sets[:count], violations[:count]


@compiled()
def crossings(routes: Any, insides: Any) -> Any:
    """
    Return how often each route enters or leaves each set, shape (R, K).

    Routes have shape (R, L): the depot, customers, and zeros to the end. ``insides``
    has the sets as masks, shape (K, n).
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
