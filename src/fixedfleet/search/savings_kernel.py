"""The compiled loop of the savings heuristic, which joins tours."""

from __future__ import annotations

from typing import Any

import numpy as np

from fixedfleet.compiling import compiled

__all__ = ["join_tours"]


@compiled()
def _turn_round(behind: Any, first: Any) -> None:
    """
    Reverse the tour whose first customer is ``first``.

    ``behind`` has the successor of each customer, 0 for the last one of a tour.
    """
    customer, before = first, 0
    while customer != 0:
        after = behind[customer]
        behind[customer] = before
        before, customer = customer, after


@compiled()
def join_tours(pairs: Any, demands: Any, capacity: Any, symmetric: Any) -> Any:
    """
    Begin with one tour per customer, and join tours while the capacity allows it.

    ``pairs`` has pairs of customers, the largest saving first. The second customer of a
    pair may become the successor of the first; if distances are symmetric, also its
    predecessor.

    Return (first customer of each tour, successor of each customer, load of each tour).
    At the start, tour i has customer i only. If a tour was joined to another one, its
    first customer is 0, and its load has no meaning. The successor is 0 for the last
    customer of a tour.
    """
    first = np.arange(len(demands))
    last = np.arange(len(demands))
    behind = np.zeros(len(demands), dtype=np.int64)
    tour_of = np.arange(len(demands))
    loads = demands.copy()
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = tour_of[i], tour_of[j]
        i_last, i_first = last[a] == i, symmetric and first[a] == i
        j_first, j_last = first[b] == j, symmetric and last[b] == j
        fits = a != b and loads[a] + loads[b] <= capacity
        if not (fits and (i_last or i_first) and (j_first or j_last)):
            continue
        customer = first[b]
        while customer != 0:
            tour_of[customer] = a
            customer = behind[customer]
        if not i_last and not j_first:  # tour b, then tour a
            behind[j] = i
            first[a] = first[b]
        else:
            if not i_last:
                _turn_round(behind, i)
                first[a], last[a] = last[a], i
            elif not j_first:
                _turn_round(behind, first[b])
                last[b] = first[b]
            behind[i] = j
            last[a] = last[b]
        loads[a] += loads[b]
        first[b] = 0
    return first, behind, loads
