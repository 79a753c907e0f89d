"""
Combine two plans: take the shorter tours wherever both divide the same customers.

Two plans that come from one are often alike in most places. Tours of the two plans that
have a customer in common belong to the same group, so that each group has the same
customers in both plans. The groups are independent of each other: either plan's tours
can be taken for each of them. Whitley, Hains and Howe (2009) call this a partition
crossover.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["combine"]

_LARGEST_SHARE = 0.5  # of the customers in a group whose tours are taken


def combine(
    instance: Instance, plan: Plan, other: Plan, vehicle_cost: float = 0.0
) -> Plan:
    """
    Return ``plan`` with those groups of tours of ``other`` that cost less.

    Both plans must serve the same customers. A group with more than half of the
    customers is not taken, because that would be to take ``other`` itself. If taking
    all groups would need too many vehicles, those that save most are taken. If no group
    is taken, the result is ``plan`` itself.
    """
    tour_of, tour_of_other = _tour_of(instance, plan), _tour_of(instance, other)
    if not np.array_equal(tour_of < 0, tour_of_other < 0):
        raise ValueError("the plans serve different customers")
    served = tour_of >= 0
    count = len(plan.tours)
    links = (tour_of[served], count + tour_of_other[served])
    size = count + len(other.tours)
    graph = coo_array((np.ones(len(links[0]), dtype=bool), links), shape=(size, size))
    groups, group_of = connected_components(graph, directed=False)
    costs = np.append(
        _tour_costs(instance, plan) + vehicle_cost,
        -_tour_costs(instance, other) - vehicle_cost,
    )
    saved = np.bincount(group_of, costs, groups)
    customers = np.bincount(group_of[tour_of[served]], minlength=groups)
    more = np.bincount(
        group_of, np.where(np.arange(size) < count, -1, 1), groups
    ).astype(int)
    length = costs[:count].sum()
    vehicles, taken = count, np.zeros(groups, dtype=bool)
    for group in np.argsort(-saved, kind="stable").tolist():
        # The same tours in another order may have a length that differs by rounding.
        if saved[group] <= 1e-12 * length:
            break
        fits = vehicles + more[group] <= instance.vehicles
        if fits and customers[group] <= _LARGEST_SHARE * instance.num_customers:
            taken[group] = True
            vehicles += more[group]
    if not taken.any():
        return plan
    return Plan(
        [
            tour
            for place, tour in enumerate([*plan.tours, *other.tours])
            if taken[group_of[place]] == (place >= count)
        ]
    )


def _tour_of(instance: Instance, plan: Plan) -> NDArray[np.int64]:
    """Return the number of each customer's tour, −1 if the customer is unserved."""
    numbers = np.full(instance.num_customers + 1, -1)
    sizes = [len(tour) for tour in plan.tours]
    stops = [stop for tour in plan.tours for stop in tour]
    numbers[stops] = np.repeat(np.arange(len(sizes)), sizes)
    return numbers


def _tour_costs(instance: Instance, plan: Plan) -> NDArray[np.float64]:
    """Return the length of each tour."""
    path = [stop for tour in plan.tours for stop in (0, *tour, 0)]
    legs = instance.between(path[:-1], path[1:])  # also from depot to depot, length 0
    begins = np.cumsum([0, *(len(tour) + 2 for tour in plan.tours[:-1])])
    return np.add.reduceat(legs, begins)
