"""The optimal plan of an instance with a handful of customers, by dynamic programming.

It needs no search, so the tests compare searches and solvers with it.
"""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.instance import Instance, VehicleType


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


def optimal_day(instance: Instance) -> Plan | None:
    """
    Return the cheapest plan for a mixed fleet with times; None if none exists.

    All orders of all sets of customers are tried, so there may be six at most.
    """
    n = instance.num_customers
    if n > 6:
        raise ValueError(f"{n} customers are too many")
    best: dict[int, tuple[float, list[tuple[int, ...]], list[int]]] = {0: (0.0, [], [])}
    for index, one in enumerate(instance.fleet):
        tours = _cheapest_tours(instance, one)
        for _ in range(min(one.count, n)):
            longer = dict(best)
            for served, (cost, plan, types) in best.items():
                for members, (price, tour) in tours.items():
                    both = served | members
                    if not served & members and (
                        both not in longer or cost + price < longer[both][0]
                    ):
                        longer[both] = (cost + price, [*plan, tour], [*types, index])
            best = longer
    everyone = (1 << n) - 1
    return Plan(*best[everyone][1:]) if everyone in best else None


def _cheapest_tours(
    instance: Instance, one: VehicleType
) -> dict[int, tuple[float, tuple[int, ...]]]:
    """Return the cheapest tour of each set of customers that a vehicle can serve."""
    tours: dict[int, tuple[float, tuple[int, ...]]] = {}
    everyone = range(1, instance.num_customers + 1)
    for size in everyone:
        for members in combinations(everyone, size):
            if sum(instance.demands[c - 1] for c in members) > one.capacity + 1e-9:
                continue
            costs = {
                order: one.fixed_cost + one.cost_per_distance * length
                for order in permutations(members)
                if (length := _length_in_time(instance, order, one)) < math.inf
            }
            if costs:
                order = min(costs, key=costs.__getitem__)
                tours[sum(1 << (c - 1) for c in members)] = (costs[order], order)
    return tours


def _length_in_time(
    instance: Instance, order: tuple[int, ...], one: VehicleType
) -> float:
    """Return the length of a tour; infinite if it is late anywhere."""
    begin, end = one.shift or (0.0, math.inf)
    time, length = begin, 0.0
    for previous, stop in zip((0, *order), (*order, 0), strict=True):
        length += instance.distances[previous, stop]
        if not instance.has_travel_times:
            continue
        time += instance.travel_times[previous, stop]
        opens, closes = (0.0, math.inf)
        if stop and instance.windows is not None:
            opens, closes = instance.windows[stop - 1]
        time = max(time, opens)
        if time > (closes if stop else end) + 1e-9:
            return math.inf
        if stop and instance.service_times is not None:
            time += instance.service_times[stop - 1]
    return length
