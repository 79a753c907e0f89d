"""The optimal plan of an instance with a handful of customers, by dynamic programming.

It needs no search, so the tests compare searches and solvers with it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.instance import Instance


def optimal_plan(instance: Instance, *, vehicle_cost: float = 0.0) -> Plan | None:
    """
    Return a plan of least cost for the fleet, or None if no plan exists.

    Parameters
    ----------
    instance
        An instance of at most ten customers.
    vehicle_cost
        Cost of each vehicle used, beside the length.
    """
    n = instance.num_customers
    if n > 10:
        raise ValueError(f"{n} customers are too many")
    tours = _best_tours(instance, vehicle_cost)
    everyone = (1 << n) - 1
    # best[served]: cost of serving these with the vehicles so far, and the last tours
    best: list[tuple[float, tuple[int, ...]]] = [(math.inf, ())] * (1 << n)
    best[0] = (0.0, ())
    for _ in range(min(instance.vehicles, n)):
        best = [_add_tour(served, best, tours) for served in range(1 << n)]
    cost, chosen = best[everyone]
    return None if cost == math.inf else Plan(tours[part][1] for part in chosen)


def _add_tour(
    served: int,
    best: list[tuple[float, tuple[int, ...]]],
    tours: list[tuple[float, tuple[int, ...]]],
) -> tuple[float, tuple[int, ...]]:
    """Serve a set with at most one more tour, through its lowest customer."""
    cheapest = best[served]
    lowest = served & -served
    others = served ^ lowest
    part = others
    while served:
        cost, chosen = best[others ^ part]
        total = cost + tours[part | lowest][0]
        if total < cheapest[0]:
            cheapest = (total, (*chosen, part | lowest))
        if not part:
            break
        part = (part - 1) & others
    return cheapest


def _best_tours(
    instance: Instance, vehicle_cost: float
) -> list[tuple[float, tuple[int, ...]]]:
    """Return the cheapest tour of each set of customers, infinite if too heavy."""
    n = instance.num_customers
    distances = instance.distances.tolist()
    units = instance.demand_units.tolist()
    # paths[members][last]: the shortest way from the depot through all to the last
    paths: list[dict[int, tuple[float, tuple[int, ...]]]] = [{} for _ in range(1 << n)]
    tours: list[tuple[float, tuple[int, ...]]] = [(math.inf, ())] * (1 << n)
    for members in range(1, 1 << n):
        inside = [c for c in range(1, n + 1) if members >> (c - 1) & 1]
        if sum(units[c] for c in inside) > instance.capacity_units:
            continue
        for last in inside:
            before = paths[members ^ 1 << (last - 1)] or {0: (0.0, ())}
            paths[members][last] = min(
                (length + distances[previous][last], (*path, last))
                for previous, (length, path) in before.items()
            )
        length, path = min(
            (length + distances[last][0], path)
            for last, (length, path) in paths[members].items()
        )
        tours[members] = (length + vehicle_cost, path)
    return tours
