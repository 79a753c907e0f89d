"""Plan groups of neighbouring tours again, each as a separate instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["number_tours", "replan_groups", "take_groups"]

# Tours per group in the first pass and in all others: the best numbers in our tests.
_FIRST, _LATER = 5, 3
_ROUNDING = 1e-9  # smaller gains, as a share of the length, count as rounding errors


def replan_groups(
    instances: InstanceBatch,
    plans: PlanBatch,
    plan: Callable[[InstanceBatch], PlanBatch],
    passes: int,
) -> PlanBatch:
    """
    Return the plans after planning groups of neighbouring tours again.

    In each pass, the tours of an instance are sorted by their direction from the depot
    and divided into groups. The function ``plan`` plans each group as an instance. New
    tours are kept if they are shorter. In the next pass, the groups begin one tour
    later.
    """
    for number in range(passes):
        size = _FIRST if number == 0 else _LATER
        rows, groups = _divide(instances, plans, size, number)
        if not len(rows):
            continue
        some, before, customers = take_groups(instances, plans, rows, groups)
        found = plan(some)
        old = before.lengths(some)
        shorter = found.lengths(some) < old * (1 - _ROUNDING)
        better = np.flatnonzero(shorter & found.feasible(some))
        plans = _put_back(plans, rows, groups, customers, found, better)
    return plans


def take_groups(
    instances: InstanceBatch,
    plans: PlanBatch,
    rows: NDArray[np.int64],
    groups: NDArray[np.bool_],
) -> tuple[InstanceBatch, PlanBatch, NDArray[np.int64]]:
    """
    Return each group of tours as an instance with a plan.

    Parameters
    ----------
    instances, plans
        The instances and their plans.
    rows
        The instance of each of the G groups, shape (G,).
    groups
        Which tours of this instance belong to the group, shape (G, tours).

    Returns
    -------
    instances
        The instances, each with one vehicle per tour of its group.
    plans
        The tours of the groups.
    customers
        The number that each customer has in the original instance, shape (G, N); 0 for
        padding.
    """
    routes = np.asarray(plans.routes[rows])  # (G, L)
    tour, stops = number_tours(routes)
    inside = np.take_along_axis(groups, np.minimum(tour, groups.shape[1] - 1), axis=1)
    kept = inside & stops
    # The customers that are kept get numbers from 1, in their old order.
    chosen = np.zeros((len(rows), instances.num_customers + 1), dtype=np.bool_)
    np.put_along_axis(chosen, np.where(kept, routes, 0), True, axis=1)
    chosen[:, 0] = False
    sizes = chosen.sum(axis=1)
    order = np.argsort(~chosen[:, 1:], axis=1, kind="stable")[:, : int(sizes.max())]
    real = np.arange(order.shape[1]) < sizes[:, None]
    depots = instances.depots[rows]
    points = np.take_along_axis(instances.customers[rows], order[..., None], axis=1)
    demands = np.take_along_axis(instances.demands[rows], order, axis=1)
    number = np.where(chosen, chosen.cumsum(axis=1), 0)
    first = np.argsort(~kept, axis=1, kind="stable")
    renumbered = np.where(kept, np.take_along_axis(number, routes, axis=1), 0)
    return (
        InstanceBatch(
            depots=depots,
            customers=np.where(real[..., None], points, depots[:, None]),
            demands=np.where(real, demands, 0),
            capacity=instances.capacity[rows],
            vehicles=groups.sum(axis=1),
            sizes=sizes,
        ),
        PlanBatch(np.take_along_axis(renumbered, first, axis=1)),
        np.where(real, order + 1, 0),
    )


def number_tours(
    routes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """
    Return the tour number of each entry of ``routes``, and which entries are in use.

    Both results have the shape of ``routes``. An entry is in use if it is a customer,
    or the 0 that ends a tour; the other entries are padding.
    """
    home = routes == 0
    ends = home & (np.pad(routes, ((0, 0), (1, 0)))[:, :-1] > 0)
    return ends.cumsum(axis=1) - ends, ends | ~home


def _divide(
    instances: InstanceBatch, plans: PlanBatch, size: int, shift: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """
    Divide the tours of each plan into groups of about ``size`` neighbouring tours.

    The tours are sorted by their direction from the depot. The first group begins with
    tour number ``shift`` of this order. Groups of one tour are dropped. Return the
    instance of each group, shape (G,), and a mask of its tours, shape (G, tours).
    """
    routes = np.asarray(plans.routes)
    count = plans.vehicles()
    most = int(count.max(initial=1))
    tour, _ = number_tours(routes)
    member = (tour[:, None] == np.arange(most)[:, None]) & (routes > 0)[:, None]
    points = np.take_along_axis(instances.coordinates, routes[..., None], axis=1)
    steps = points - instances.depots[:, None]
    centres = member.astype(np.float64) @ steps  # (B, most, 2), not divided by members
    angle = np.arctan2(centres[..., 1], centres[..., 0])
    angle[np.arange(most) >= count[:, None]] = np.inf
    rank = np.argsort(np.argsort(angle, axis=1), axis=1)
    # Groups have about equal sizes. None is the whole plan, which was planned before.
    each = np.ceil(count / np.maximum(1, np.rint(count / size))).astype(np.int64)
    each = np.clip(each, 1, np.maximum(count - 1, 1))
    place = (rank - shift) % np.maximum(count, 1)[:, None]
    group = place // each[:, None]
    group[np.arange(most) >= count[:, None]] = -1
    groups = group[:, None] == np.arange(most)[:, None]
    rows, numbers = np.nonzero(groups.sum(axis=2) >= 2)
    return rows, groups[rows, numbers]


def _put_back(
    plans: PlanBatch,
    rows: NDArray[np.int64],
    groups: NDArray[np.bool_],
    customers: NDArray[np.int64],
    found: PlanBatch,
    better: NDArray[np.int64],
) -> PlanBatch:
    """
    Return the plans after replacing the tours of some groups by new tours.

    ``found`` has the new tours of each group, and ``better`` the numbers of the groups
    to replace. ``rows``, ``groups`` and ``customers`` are as in :func:`take_groups`.
    """
    old = np.pad(plans.routes, ((0, 0), (0, 1)))
    new = np.pad(found.routes[better], ((0, 0), (0, 1)))
    replaced = np.zeros((len(plans), groups.shape[1]), dtype=np.bool_)
    np.logical_or.at(replaced, rows[better], groups[better])
    tour, stops = number_tours(old)
    gone = np.take_along_axis(replaced, np.minimum(tour, groups.shape[1] - 1), axis=1)
    kept = np.nonzero(stops & ~gone)
    added = np.nonzero(number_tours(new)[1])
    names = np.pad(customers[better], ((0, 0), (1, 0)))
    stop = np.concatenate((old[kept], names[added[0], new[added]]))
    row = np.concatenate((kept[0], rows[better][added[0]]))
    order = np.argsort(row, kind="stable")  # first the tours kept, then those added
    row, stop = row[order], stop[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    routes = np.zeros((len(plans), int(place.max(initial=0)) + 1), dtype=np.int64)
    routes[row, place] = stop
    return PlanBatch(routes)
