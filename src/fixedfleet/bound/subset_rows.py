"""
Subset-row cuts on three customers, with limited memory.

For any three customers, at most one tour of a plan visits two or more of them. In the
cut, a route that visits them k times has the coefficient ⌊k/2⌋ (Jepsen et al.,
"Subset-Row Inequalities Applied to the Vehicle-Routing Problem with Time Windows",
Operations Research 2008). With limited memory, each cut has a set of customers as its
memory. Visits to the three customers are counted in pairs. If a route visits a customer
outside of the memory after the first visit of a pair, this visit is forgotten. So the
cut is weaker, but pricing is faster (Pecin et al., "Improved Branch-Cut-and-Price for
Capacitated Vehicle Routing", 2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["SubsetRow", "count_pairs", "find_subset_rows"]

_VIOLATION = 0.03  # smaller violations are not worth a cut
_PER_CUSTOMER = 5  # most new cuts that contain the same customer


class SubsetRow(NamedTuple):
    """Three customers, and the memory of the cut, a set of locations."""

    customers: tuple[int, int, int]
    memory: NDArray[np.bool_]  # (n,), includes the three customers


def find_subset_rows(
    routes: Sequence[tuple[int, ...]],
    values: NDArray[np.float64],
    size: int,
    most: int,
    *,
    limited: bool,
) -> list[SubsetRow]:
    """
    Return cuts that a fractional solution violates, the most violated ones first.

    ``routes`` and ``values`` are the solution, ``size`` is the number of locations, and
    ``most`` the maximum number of cuts. With ``limited``, the memory of a cut has only
    the customers with which the routes of this solution have the same coefficients as
    with full memory. Otherwise the memory has all customers.
    """
    visits = np.zeros((len(routes), size), np.int64)
    for number, route in enumerate(routes):
        np.add.at(visits[number], list(route), 1)
    triples, violations = _find_triples(visits, values, _VIOLATION)
    used = np.zeros(size, np.int64)
    cuts: list[SubsetRow] = []
    for place in np.argsort(-violations, kind="stable"):
        triple = triples[place]
        if used[triple].max() >= _PER_CUSTOMER:
            continue
        used[triple] += 1
        customers = int(triple[0]), int(triple[1]), int(triple[2])
        memory = np.full(size, not limited)
        if limited:
            memory[triple] = True
            for row in np.flatnonzero(visits[:, triple].sum(axis=1) >= 2):
                memory[_remembered(routes[int(row)], customers)] = True
        cuts.append(SubsetRow(customers, memory))
        if len(cuts) == most:
            break
    return cuts


def _remembered(route: tuple[int, ...], triple: tuple[int, ...]) -> list[int]:
    """
    Return the stops of a route that the memory of a cut must contain.

    With these stops, the route has the same coefficient as with full memory. ``triple``
    are the three customers of the cut.
    """
    places = [place for place, stop in enumerate(route) if stop in triple]
    pairs = [(places[k], places[k + 1]) for k in range(len(places) - 1)]
    if len(places) == 3:  # the coefficient is 1, so the closer pair suffices
        pairs = [min(pairs, key=lambda pair: pair[1] - pair[0])]
    else:
        pairs = pairs[::2]
    return [stop for start, end in pairs for stop in route[start : end + 1]]


@compiled()
def _find_triples(visits: Any, values: Any, least: Any) -> Any:
    """
    Return (triples, violations) of the cuts violated by more than ``least``.

    ``triples`` has the three customers of each cut, shape (K, 3). ``visits`` has the
    number of visits of each route to each location, shape (R, n), and ``values`` the
    value of each route in the solution.
    """
    n = visits.shape[1]
    triples = np.empty((20_000, 3), np.int64)
    violations = np.empty(len(triples))
    count = 0
    pairs = np.zeros((n, n))
    for row in range(len(visits)):
        for i in range(1, n):
            for j in range(i + 1, n):
                if visits[row, i] and visits[row, j]:
                    pairs[i, j] += values[row]
    for i in range(1, n):
        for j in range(i + 1, n):
            for k in range(j + 1, n):
                if pairs[i, j] + pairs[i, k] + pairs[j, k] <= 1 + least:
                    continue
                total = 0.0
                for row in range(len(visits)):
                    times = visits[row, i] + visits[row, j] + visits[row, k]
                    total += (times // 2) * values[row]
                if total > 1 + least and count < len(triples):
                    triples[count, 0], triples[count, 1], triples[count, 2] = i, j, k
                    violations[count] = total - 1
                    count += 1
    return triples[:count], violations[:count]


@compiled()
def count_pairs(routes: Any, customers: Any, memories: Any) -> Any:
    """
    Return the coefficient of each route in each cut, shape (R, K).

    Routes have shape (R, L): the depot, customers, and zeros to the end. ``customers``
    and ``memories`` are masks of locations, shape (K, n).
    """
    counts = np.zeros((len(routes), len(customers)), np.int64)
    for route in range(len(routes)):
        for cut in range(len(customers)):
            odd = False
            for place in range(1, routes.shape[1]):
                stop = routes[route, place]
                if stop == 0:
                    break
                odd &= memories[cut, stop]
                if customers[cut, stop]:
                    counts[route, cut] += odd
                    odd = not odd
    return counts
