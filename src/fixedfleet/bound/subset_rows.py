"""
Subset-row cuts on three, four or five customers, with limited memory.

For any three customers, at most one tour of a plan visits two or more of them. In the
cut, a route that visits them k times has the coefficient ⌊k/2⌋ (Jepsen et al.,
"Subset-Row Inequalities Applied to the Vehicle-Routing Problem with Time Windows",
Operations Research 2008). With five customers, the coefficients are the same, and their
sum over the tours of a plan is at most 2. With four customers, visits to one of them
count twice, and the sum is divided by 3 instead of 2. With limited memory, each cut has
a set of customers as its memory. If a route visits a customer outside of the memory,
what it has counted so far is forgotten. So the cut is weaker, but pricing is faster
(Pecin et al., "Improved Branch-Cut-and-Price for Capacitated Vehicle Routing", 2017,
and "Limited Memory Rank-1 Cuts for Vehicle Routing Problems", Operations Research
Letters 2017).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["SubsetRow", "count_visits", "find_subset_rows"]

_VIOLATION = 0.03  # smaller violations are not worth a cut
_PER_CUSTOMER = 5  # most new cuts that contain the same customer
# For cuts on five customers, two customers are added to at most _STARTS triples, whose
# own cut has a slack of less than _NEARLY.
_STARTS, _NEARLY = 500, 0.5


class SubsetRow(NamedTuple):
    """Three, four or five customers, and the memory of the cut, a set of locations."""

    customers: tuple[int, ...]  # sorted
    memory: NDArray[np.bool_]  # (n,), includes these customers
    twice: tuple[int, ...] = ()  # the customers whose visits count 2, not 1
    divisor: int = 2  # 2 or 3; with 2, no visit counts twice

    @property
    def most(self) -> int:
        """The largest sum of the coefficients of a plan's tours."""
        return (len(self.customers) + len(self.twice)) // self.divisor


def find_subset_rows(
    routes: Sequence[tuple[int, ...]],
    values: NDArray[np.float64],
    size: int,
    most: int,
    *,
    limited: bool,
    sizes: Sequence[int] = (3, 4, 5),
) -> list[SubsetRow]:
    """
    Return cuts that a fractional solution violates, the most violated ones first.

    ``routes`` and ``values`` are the solution, ``size`` is the number of locations, and
    ``most`` the maximum number of cuts. With ``limited``, the memory of a cut has only
    the customers with which the routes of this solution have the same coefficients as
    with full memory. Otherwise the memory has all customers. ``sizes`` are
    the numbers of customers per cut: always 3, and perhaps 4 and 5.
    """
    visits = np.zeros((len(routes), size), np.int64)
    for number, route in enumerate(routes):
        np.add.at(visits[number], list(route), 1)
    found = _candidates(visits, values, sizes)
    found.sort(key=lambda candidate: -candidate[0])
    used = np.zeros(size, np.int64)
    cuts: list[SubsetRow] = []
    for _, cut in found:
        members = list(cut.customers)
        if used[members].max() >= _PER_CUSTOMER:
            continue
        used[members] += 1
        memory = np.full(size, not limited)
        if limited:
            memory[members] = True
            for row in np.flatnonzero(visits[:, members].sum(axis=1) >= 2):
                memory[_remembered(routes[int(row)], cut)] = True
        cuts.append(cut._replace(memory=memory))
        if len(cuts) == most:
            break
    return cuts


def _candidates(
    visits: NDArray[np.int64], values: NDArray[np.float64], sizes: Sequence[int]
) -> list[tuple[float, SubsetRow]]:
    """Return violated cuts, without memory, and their violations."""
    nowhere = np.zeros(0, bool)
    triples, violations = _find_triples(visits, values, _VIOLATION)
    violated = {
        tuple(triple): violation
        for triple, violation in zip(triples.tolist(), violations.tolist(), strict=True)
    }
    found = [(amount, SubsetRow(three, nowhere)) for three, amount in violated.items()]
    larger = []
    if 4 in sizes:
        fours, amounts = _find_fours(visits, values, _VIOLATION)
        order = np.argsort(-amounts, kind="stable")[:_STARTS]
        fours, amounts = fours[order], amounts[order]
        for four, amount in zip(fours.tolist(), amounts.tolist(), strict=True):
            larger.append(
                (amount, SubsetRow(tuple(sorted(four)), nowhere, (four[0],), 3))
            )
    if 5 in sizes:
        triples, violations = _find_triples(visits, values, -_NEARLY)
        order = np.argsort(-violations, kind="stable")[:_STARTS]
        fives, amounts = _add_pairs(visits, values, triples[order])
        for five, amount in zip(fives.tolist(), amounts.tolist(), strict=True):
            larger.append((amount, SubsetRow(tuple(sorted(five)), nowhere)))
    known = set()
    for amount, cut in larger:
        key = cut.customers, cut.twice
        if key in known or amount <= _VIOLATION:
            continue
        known.add(key)
        # A violated triple with other customers of its tours is violated as much.
        parts = combinations(cut.customers, 3)
        if amount > max(violated.get(part, 0.0) for part in parts) + _VIOLATION:
            found.append((amount, cut))
    return found


def _remembered(route: tuple[int, ...], cut: SubsetRow) -> list[int]:
    """
    Return the stops that a cut's memory needs for the full coefficient of this route.

    These are the fewest stops, in parts of the route that each begin and end at a
    customer of the cut.
    """
    places = [place for place, stop in enumerate(route) if stop in cut.customers]
    # Of the first visits: for each coefficient, the fewest stops and the parts.
    best: list[dict[int, tuple[int, list[int]]]] = [{0: (0, [])}]
    for end, last in enumerate(places):
        options = dict(best[end])
        weight = 0
        for start in range(end, -1, -1):
            first = places[start]
            weight += 2 if route[first] in cut.twice else 1
            for count, (stops, parts) in best[start].items():
                gained = count + weight // cut.divisor
                needed = stops + last - first
                if gained not in options or needed < options[gained][0]:
                    options[gained] = needed, [*parts, *route[first : last + 1]]
        best.append(options)
    return best[-1][max(best[-1])][1]


@compiled()
def _list_visits(visits: Any, values: Any) -> Any:
    """
    Return the customers of each route, how many they are, and the values of pairs.

    The value of a pair is the sum of the values of the routes that visit both, (n, n).
    """
    n = visits.shape[1]
    stops = np.zeros((len(visits), n), np.int64)
    lengths = np.zeros(len(visits), np.int64)
    pairs = np.zeros((n, n))
    for row in range(len(visits)):
        for i in range(1, n):
            if visits[row, i]:
                stops[row, lengths[row]] = i
                lengths[row] += 1
        for one in stops[row, : lengths[row]]:
            for other in stops[row, : lengths[row]]:
                pairs[one, other] += values[row]
    return stops, lengths, pairs


@compiled()
def _add_pairs(visits: Any, values: Any, sets: Any) -> Any:
    """
    Add to each set the two customers that make its cut most violated.

    Return the larger sets, shape (S, c + 2), and the violations of their cuts.
    """
    n, width = visits.shape[1], sets.shape[1]
    larger = np.empty((len(sets), width + 2), np.int64)
    violations = np.empty(len(sets))
    stops, lengths, together = _list_visits(visits, values)
    times = np.empty(len(visits), np.int64)
    for place in range(len(sets)):
        single, pairs = np.zeros(n), together.copy()
        for row in range(len(visits)):
            times[row] = 0
            for customer in sets[place]:
                times[row] += visits[row, customer]
            if times[row] % 2 == 0:
                continue
            # One more visit raises the coefficient of this route, two not further.
            for one in range(lengths[row]):
                i = stops[row, one]
                single[i] += values[row]
                for other in range(one + 1, lengths[row]):
                    pairs[i, stops[row, other]] -= 2 * values[row]
        for customer in sets[place]:
            single[customer] = -1e9
        first, second, best = 0, 0, -1e9
        for i in range(1, n):
            for j in range(i + 1, n):
                gain = single[i] + single[j] + pairs[i, j]
                if gain > best:
                    first, second, best = i, j, gain
        larger[place, :width] = sets[place]
        larger[place, width], larger[place, width + 1] = first, second
        violations[place] = -float((width + 2) // 2)
        for row in range(len(visits)):
            total = times[row] + visits[row, first] + visits[row, second]
            violations[place] += (total // 2) * values[row]
    return larger, violations


@compiled()
def _find_fours(visits: Any, values: Any, least: Any) -> Any:
    """
    Return sets of four customers whose cut is violated by more than ``least``.

    Visits to the first customer count twice, and the divisor is 3. So a route counts if
    it visits the first one and another, or all others. The second result is the
    violations.
    """
    n = visits.shape[1]
    fours = np.empty((20_000, 4), np.int64)
    violations = np.empty(len(fours))
    count = 0
    stops, lengths, pairs = _list_visits(visits, values)
    for route in range(len(visits)):
        # A violated cut needs a route that visits all of the other three.
        for one in range(lengths[route]):
            i = stops[route, one]
            for two in range(one + 1, lengths[route]):
                j = stops[route, two]
                for three in range(two + 1, lengths[route]):
                    k = stops[route, three]
                    all_three = 0.0
                    for row in range(len(visits)):
                        if visits[row, i] and visits[row, j] and visits[row, k]:
                            if row < route:  # these three were considered already
                                all_three = -1.0
                                break
                            all_three += values[row]
                    if all_three <= least:
                        continue
                    for center in range(1, n):
                        total = pairs[center, i] + pairs[center, j] + pairs[center, k]
                        if min(total, 1.0) + all_three <= 1 + least:
                            continue
                        if center in (i, j, k):
                            continue
                        total = 0.0
                        for row in range(len(visits)):
                            times = visits[row, i] + visits[row, j] + visits[row, k]
                            times += 2 * visits[row, center]
                            total += (times // 3) * values[row]
                        if total > 1 + least and count < len(fours):
                            fours[count, 0], fours[count, 1] = center, i
                            fours[count, 2], fours[count, 3] = j, k
                            violations[count] = total - 1
                            count += 1
    return fours[:count], violations[:count]


@compiled()
def _find_triples(visits: Any, values: Any, least: Any) -> Any:
    """
    Return (triples, violations) of the cuts violated by more than ``least``.

    ``triples`` has the three customers of each cut, shape (K, 3). ``visits`` has the
    number of visits of each route to each location, shape (R, n), and ``values`` the
    value of each route in the solution.

    A negative ``least`` also gives triples whose cut is not violated, but nearly.
    """
    n = visits.shape[1]
    triples = np.empty((50_000, 3), np.int64)
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
def count_visits(routes: Any, weights: Any, memories: Any, divisors: Any) -> Any:
    """
    Return the coefficient of each route in each cut, shape (R, K).

    Routes have shape (R, L): the depot, customers, and zeros to the end. ``weights``
    and ``memories`` have shape (K, n).
    """
    counts = np.zeros((len(routes), len(weights)), np.int64)
    for route in range(len(routes)):
        for cut in range(len(weights)):
            rest = 0
            for place in range(1, routes.shape[1]):
                stop = routes[route, place]
                if stop == 0:
                    break
                if not memories[cut, stop]:
                    rest = 0
                rest += weights[cut, stop]
                if rest >= divisors[cut]:
                    counts[route, cut] += 1
                    rest -= divisors[cut]
    return counts
