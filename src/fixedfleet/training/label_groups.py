"""Groups of neighbouring tours of a label, as additional labelled instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.planning.tour_groups import number_tours, take_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.plan import PlanBatch

__all__ = ["tour_groups"]

# The mean number of customers in a group is one of these, with these probabilities.
_CUSTOMERS, _CHANCES = (16, 36, 65), (0.45, 0.4, 0.15)
# The shares of groups whose tours lie in the same direction, and whose tours are close
# to each other. The tours of all other groups are random.
_SAME_DIRECTION, _CLOSE = 0.4, 0.45


def tour_groups(
    instances: InstanceBatch, plans: PlanBatch, count: int, seed: int
) -> tuple[InstanceBatch, PlanBatch]:
    """
    Return additional labelled instances, each made from a group of tours of a label.

    Some tours of a good plan are a good plan for the customers that they serve. So they
    are a label for an instance with only these customers. A group has about 8 to 100
    customers. Its tours are close to each other, lie in the same direction from the
    depot, or are chosen at random.

    Parameters
    ----------
    instances, plans
        The instances and their labels.
    count
        The number of groups per label. Labels with fewer than three tours are skipped.
    seed
        Seed of the choice of groups.

    Returns
    -------
    tuple
        The additional instances and their plans.
    """
    groups = _choose_groups(instances, plans, count, np.random.default_rng(seed))
    found = np.flatnonzero(groups.any(axis=1))
    if not len(found):
        return instances[:0], plans[:0]
    some, labels, _ = take_groups(instances, plans, found // count, groups[found])
    # Half of the groups also get the vehicles that the label leaves unused.
    spare = (instances.vehicles - plans.vehicles())[found // count]
    spare[::2] = 0
    return some.with_vehicles(some.vehicles + spare), labels


def _choose_groups(
    instances: InstanceBatch, plans: PlanBatch, count: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """
    Return a mask of the tours that belong to each group, shape (B · count, tours).

    The rows from b · count on are the groups of label b. A label with fewer than three
    tours has empty groups.
    """
    centres, members = _measure_tours(instances, plans)
    rows = np.repeat(np.arange(len(plans)), count)  # the label of each group
    tours = (members > 0).sum(axis=1)[rows]
    wanted = rng.choice(_CUSTOMERS, size=len(rows), p=_CHANCES)
    wanted = wanted * rng.uniform(0.5, 1.5, len(rows))
    kind, first = rng.uniform(size=(len(rows), 2)).T[..., None]
    apart = rng.uniform(size=(len(rows), members.shape[1]))
    # One tour of each group is chosen at random. `apart` is then the distance of each
    # other tour from it (or its angle, or a random number), and the nearest are taken.
    first = (first * tours[:, None]).astype(np.int64)
    angle = np.arctan2(centres[..., 1], centres[..., 0])[rows]
    turn = np.abs(angle - np.take_along_axis(angle, first, axis=1))
    turn = np.minimum(turn, 2 * np.pi - turn)
    steps = centres[rows] - centres[rows[:, None], first]
    close = kind < _SAME_DIRECTION + _CLOSE
    apart = np.where(close, np.hypot(steps[..., 0], steps[..., 1]), apart)
    apart = np.where(kind < _SAME_DIRECTION, turn, apart)
    apart[members[rows] == 0] = np.inf
    kept = np.rint(wanted * tours / members.sum(axis=1)[rows])
    kept = np.minimum(np.maximum(kept, 2), tours - 1)
    groups = np.zeros(apart.shape, dtype=np.bool_)
    chosen = np.arange(apart.shape[1]) < kept[:, None]
    np.put_along_axis(groups, np.argsort(apart, axis=1), chosen, axis=1)
    groups[tours < 3] = False
    return groups


def _measure_tours(
    instances: InstanceBatch, plans: PlanBatch
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """
    Return the centre of each tour relative to the depot, and its number of customers.

    The shapes are (B, tours, 2) and (B, tours).
    """
    routes = np.asarray(plans.routes, dtype=np.int64)
    served = routes > 0
    tour, _ = number_tours(routes)
    shape = len(plans), 1 + int((routes == 0).sum(axis=1).max())
    place = (np.arange(len(plans))[:, None] * shape[1] + tour)[served]
    points = np.take_along_axis(instances.coordinates, routes[..., None], axis=1)
    steps = (points - instances.depots[:, None])[served]
    size = shape[0] * shape[1]
    members = np.bincount(place, minlength=size).reshape(shape)
    sums = [np.bincount(place, axis, size).reshape(shape) for axis in steps.T]
    return np.stack(sums, axis=2) / np.maximum(members, 1)[..., None], members
