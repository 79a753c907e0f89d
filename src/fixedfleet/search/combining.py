"""
Combine two plans: take the shorter tours wherever both divide the same customers.

Two plans that come from one are often alike in most places. Tours of the two plans that
have a customer in common belong to the same group, so that each group has the same
customers in both plans. The groups are independent of each other: either plan's tours
can be taken for each of them. Whitley, Hains and Howe (2009) call this a partition
crossover.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["MeasuredPlan", "combine", "measure_tours"]

_LARGEST_SHARE = 0.5  # of the customers in a group whose tours are taken


class MeasuredPlan(NamedTuple):
    """
    A plan with what :func:`combine` needs, so that it is computed once per plan.

    Attributes
    ----------
    plan
        The plan.
    tour_of
        The number of the tour of each stop, shape (N + 1,); −1 for the depot and for
        unserved customers.
    lengths
        The length of each tour.
    """

    plan: Plan
    tour_of: NDArray[np.int64]
    lengths: NDArray[np.float64]


def measure_tours(instance: Instance, plan: Plan) -> MeasuredPlan:
    """Return the plan with the number of each customer's tour and all lengths."""
    return MeasuredPlan(plan, _tour_of(instance, plan), _tour_lengths(instance, plan))


def combine(
    instance: Instance,
    one: MeasuredPlan,
    other: MeasuredPlan,
    vehicle_cost: float = 0.0,
) -> MeasuredPlan:
    """
    Return the plan ``one`` with those groups of tours of ``other`` that cost less.

    Both plans must serve the same customers. A group with more than half of the
    customers is not taken, because that would be to take ``other`` itself. If taking
    all groups would need too many vehicles, those that save most are taken, after those
    that need no further vehicle. If no group is taken, the result is ``one`` itself.
    """
    served = one.tour_of >= 0
    if not np.array_equal(served, other.tour_of >= 0):
        raise ValueError("the plans serve different customers")
    count = len(one.lengths)
    links = one.tour_of[served], count + other.tour_of[served]
    size = count + len(other.lengths)
    group_of = _groups_of_linked(*links, size)
    groups = int(group_of.max()) + 1
    costs = np.append(one.lengths + vehicle_cost, -other.lengths - vehicle_cost)
    saved = np.bincount(group_of, costs, groups)
    customers = np.bincount(group_of[links[0]], minlength=groups)
    more = np.bincount(
        group_of, np.where(np.arange(size) < count, -1, 1), groups
    ).astype(int)
    # The same tours in another order may have a length that differs by rounding.
    least = 1e-12 * one.lengths.sum()
    vehicles, taken = count, np.zeros(groups, dtype=bool)
    for group in np.lexsort((-saved, more > 0)).tolist():
        if saved[group] <= least:
            continue
        fits = vehicles + more[group] <= instance.vehicles
        if fits and customers[group] <= _LARGEST_SHARE * instance.num_customers:
            taken[group] = True
            vehicles += more[group]
    if not taken.any():
        return one
    tours = [
        tour
        for place, tour in enumerate([*one.plan.tours, *other.plan.tours])
        if taken[group_of[place]] == (place >= count)
    ]
    return measure_tours(instance, Plan(tours))


def _groups_of_linked(
    one: NDArray[np.int64], other: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """
    Return the group of each tour, numbered from 0: linked tours have the same group.

    Each customer links a tour of ``one`` with a tour of ``other``. There are ``size``
    tours. SciPy does the same, but it takes a tenth of a second to import.
    """
    group, before = np.arange(size), np.empty(0, dtype=np.int64)
    while not np.array_equal(group, before):
        before = group.copy()
        least = np.minimum(group[one], group[other])
        np.minimum.at(group, one, least)
        np.minimum.at(group, other, least)
        group = group[group]
    return np.unique(group, return_inverse=True)[1]


def _tour_of(instance: Instance, plan: Plan) -> NDArray[np.int64]:
    """Return the number of each customer's tour, −1 if the customer is unserved."""
    numbers = np.full(instance.num_customers + 1, -1)
    sizes = [len(tour) for tour in plan.tours]
    stops = [stop for tour in plan.tours for stop in tour]
    numbers[stops] = np.repeat(np.arange(len(sizes)), sizes)
    return numbers


def _tour_lengths(instance: Instance, plan: Plan) -> NDArray[np.float64]:
    """Return the length of each tour."""
    path = [stop for tour in plan.tours for stop in (0, *tour, 0)]
    legs = instance.between(path[:-1], path[1:])  # also from depot to depot, length 0
    begins = np.cumsum([0, *(len(tour) + 2 for tour in plan.tours[:-1])])
    return np.add.reduceat(legs, begins)
