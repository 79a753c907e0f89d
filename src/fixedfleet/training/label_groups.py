"""Groups of neighbouring tours of labels, as labelled instances of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.planning.tour_groups import take_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.plan import PlanBatch

__all__ = ["tour_groups"]

# How many customers a group of tours has on average, and how often.
_CUSTOMERS, _CHANCES = (16, 36, 65), (0.45, 0.4, 0.15)
_SAME_DIRECTION, _CLOSE = 0.4, 0.45  # shares of groups; the others are random


def tour_groups(
    instances: InstanceBatch, plans: PlanBatch, count: int, seed: int
) -> tuple[InstanceBatch, PlanBatch]:
    """
    Make instances of their own of neighbouring tours.

    The tours of a group are a label for their customers: in a good plan, they are a
    good plan for them. A group has about 8 to 100 customers. Its tours are close to
    each other, lie in the same direction, or are chosen at random.

    Parameters
    ----------
    instances, plans
        Instances and labels.
    count
        Groups per label; labels with fewer than three tours give none.
    seed
        Seed of the choice.
    """
    rng = np.random.default_rng(seed)
    shape = len(plans) * count, 1 + int((plans.routes == 0).sum(axis=1).max())
    groups = np.zeros(shape, dtype=np.bool_)
    _choose_groups(
        np.ascontiguousarray(instances.coordinates),
        np.ascontiguousarray(plans.routes, dtype=np.int64),
        rng.choice(_CUSTOMERS, size=shape[0], p=_CHANCES)
        * rng.uniform(0.5, 1.5, shape[0]),
        rng.uniform(size=(shape[0], 2)),
        rng.uniform(size=shape),
        groups,
    )
    found = np.flatnonzero(groups.any(axis=1))
    if not len(found):
        return instances[:0], plans[:0]
    some, labels, _ = take_groups(instances, plans, found // count, groups[found])
    # Half of the groups also get the vehicles that the label leaves unused.
    spare = (instances.vehicles - plans.vehicles())[found // count]
    spare[::2] = 0
    return some.with_vehicles(some.vehicles + spare), labels


@compiled()
def _choose_groups(
    points: NDArray[np.float64],
    routes: NDArray[np.int64],
    wanted: NDArray[np.float64],
    chance: NDArray[np.float64],
    lots: NDArray[np.float64],
    groups: NDArray[np.bool_],
) -> None:
    """
    Say which tours belong to each group, and leave those of few tours empty.

    Parameters
    ----------
    points, routes
        The instances and their labels.
    wanted
        The number of customers that each group is to have, about; shape (G,).
    chance
        Random numbers for the kind and the first tour of each group, shape (G, 2).
    lots
        Random numbers for the tours of each group, shape (G, tours).
    groups
        Where the choice is written to, shape (G, tours).
    """
    most = lots.shape[1]
    centres, members = np.zeros((most, 2)), np.zeros(most)
    each = len(groups) // max(1, len(routes))
    for row in range(len(routes)):
        tours = _measure_tours(points[row], routes[row], centres, members)
        if tours < 3:
            continue
        for group in range(row * each, (row + 1) * each):
            kept = round(wanted[group] * tours / members[:tours].sum())
            kept = min(tours - 1, max(2, kept))
            kind, first = chance[group, 0], int(chance[group, 1] * tours)
            apart = lots[group, :tours].copy()
            x0, y0 = centres[first]
            for tour in range(tours):
                x, y = centres[tour]
                if kind < _SAME_DIRECTION:
                    angle = abs(math.atan2(y, x) - math.atan2(y0, x0))
                    apart[tour] = min(angle, 2 * math.pi - angle)
                elif kind < _SAME_DIRECTION + _CLOSE:
                    apart[tour] = math.hypot(x - x0, y - y0)
            for place in np.argsort(apart)[:kept]:
                groups[group, place] = True


@compiled()
def _measure_tours(
    points: NDArray[np.float64],
    route: NDArray[np.int64],
    centres: NDArray[np.float64],
    members: NDArray[np.float64],
) -> int:
    """Write the centre of each tour, relative to the depot, and its customers."""
    centres[:], members[:] = 0.0, 0.0
    tours = 0
    for customer in route:
        if customer:
            centres[tours] += points[customer] - points[0]
            members[tours] += 1
        elif members[tours]:
            centres[tours] /= members[tours]
            tours += 1
    if tours < len(members) and members[tours]:
        centres[tours] /= members[tours]
        tours += 1
    return tours
