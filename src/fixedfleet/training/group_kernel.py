"""Which neighbouring tours of a label form a group; compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["choose_groups"]

_SAME_DIRECTION, _CLOSE = 0.4, 0.45  # shares of groups; the others are random


@compiled()
def choose_groups(
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
