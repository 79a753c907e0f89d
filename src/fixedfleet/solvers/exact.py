"""An exhaustive oracle for instances of a handful of customers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.instance import Instance

__all__ = ["LARGEST", "Exact", "optimal_plan"]

LARGEST = 10


class Exact:
    """
    The solver ``exact``: the optimum, by dynamic programming over sets of customers.

    Parameters
    ----------
    vehicle_cost
        Cost of each vehicle used, beside the length: 0 minimises the length, any
        other Cost_v.
    """

    name: str = "exact"
    takes_seed: bool = False
    takes_start: bool = False
    limits: str = (
        f"at most {LARGEST} customers; the optimum needs no seed, no start and no time "
        "limit"
    )

    def __init__(self, vehicle_cost: float = 0.0) -> None:
        self.vehicle_cost = vehicle_cost

    def solve(
        self,
        instance: Instance,
        *,
        time_limit: float,
        seed: int = 0,
        start: Plan | None = None,
    ) -> Plan | None:
        """Return an optimal plan, or None where no plan exists."""
        return optimal_plan(instance, vehicle_cost=self.vehicle_cost)


def optimal_plan(instance: Instance, *, vehicle_cost: float = 0.0) -> Plan | None:
    """
    Return a plan of least cost for the fleet, or None where no plan exists.

    Parameters
    ----------
    instance
        An instance of at most :data:`LARGEST` customers.
    vehicle_cost
        Cost of each vehicle used, beside the length.
    """
    n = instance.num_customers
    if n > LARGEST:
        raise InputError(f"exact takes at most {LARGEST} customers, not {n}")
    if not 0 <= vehicle_cost < math.inf:
        raise InputError(f"vehicle cost is {vehicle_cost:g}, not a number from 0")
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
    """Serve a set with one more tour at most: one through its lowest customer."""
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
    """For each set of customers its cheapest tour, infinite where it is too heavy."""
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
