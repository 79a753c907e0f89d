"""Plans from scratch without a network: savings and sweep, within the fleet.

Both keep to capacity and fleet and leave out whom that leaves without a place; a search
that knows absent customers (ruin and recreate) then finds places for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["savings", "sweep"]

_NEIGHBOURS = 30  # customers a customer may be joined with


def savings(instance: Instance) -> Plan:
    """
    Join tours by falling savings (Clarke and Wright, 1964), the parallel version.

    Every customer begins with a tour of its own; the tours of two near customers at
    their ends are joined where that saves length and fits. The largest M tours stay.
    """
    units, capacity = instance.demand_units, instance.capacity_units
    symmetric = bool(np.array_equal(instance.distances, instance.distances.T))
    fits = [c for c in range(1, instance.num_customers + 1) if units[c] <= capacity]
    tours = {c: [c] for c in fits}
    loads = {c: int(units[c]) for c in fits}
    tour_of = {c: c for c in fits}
    for i, j in _by_saving(instance):
        a, b = tour_of.get(i), tour_of.get(j)
        if a is None or b is None or a == b or loads[a] + loads[b] > capacity:
            continue
        joined = _join(tours[a], tours[b], i, j, symmetric)
        if joined is None:
            continue
        for customer in tours.pop(b):
            tour_of[customer] = a
        tours[a] = joined
        loads[a] += loads.pop(b)
    ranked = sorted(tours, key=lambda tour: loads[tour], reverse=True)
    return Plan(tours[tour] for tour in ranked[: instance.vehicles])


def sweep(instance: Instance) -> Plan:
    """
    Fill one vehicle after the other by the angle of the customers around the depot.

    The sweep begins behind the widest gap between two customers' angles.
    """
    if not instance.has_coordinates:
        raise InputError("the sweep start needs coordinates, not a distance matrix")
    offsets = instance.coordinates[1:] - instance.coordinates[0]
    angles = np.arctan2(offsets[:, 1], offsets[:, 0])
    order = np.argsort(angles, kind="stable")
    gaps = np.diff(angles[order], append=angles[order][0] + 2 * np.pi)
    order = np.roll(order, -(int(np.argmax(gaps)) + 1))
    units, capacity = instance.demand_units, instance.capacity_units
    tours: list[list[int]] = [[]]
    load = 0
    for customer in (order + 1).tolist():
        demand = int(units[customer])
        if demand > capacity:
            continue
        if load + demand > capacity:
            tours.append([])
            load = 0
        tours[-1].append(customer)
        load += demand
    return Plan(tours[: instance.vehicles])


def _by_saving(instance: Instance) -> NDArray[np.int64]:
    """Pairs of near customers by falling saving, shape (pairs, 2)."""
    distances = instance.distances
    n = instance.num_customers
    if n < 2:
        return np.empty((0, 2), dtype=np.int64)
    between = distances[1:, 1:] + distances[1:, 1:].T
    np.fill_diagonal(between, np.inf)
    count = min(_NEIGHBOURS, n - 1)
    near = np.argpartition(between, count - 1, axis=1)[:, :count] + 1
    i = np.repeat(np.arange(1, n + 1), count)
    j = near.ravel()
    saved = distances[i, 0] + distances[0, j] - distances[i, j]
    order = np.argsort(-saved, kind="stable")
    order = order[saved[order] > 0]
    return np.stack((i[order], j[order]), axis=1)


def _join(
    first: list[int], second: list[int], i: int, j: int, symmetric: bool
) -> list[int] | None:
    """Join two tours so that j follows i, or None where either is not at an end."""
    if first[-1] == i and second[0] == j:
        return first + second
    if not symmetric:
        return None
    if first[0] == i and second[0] == j:
        return first[::-1] + second
    if first[-1] == i and second[-1] == j:
        return first + second[::-1]
    if first[0] == i and second[-1] == j:
        return second + first
    return None
