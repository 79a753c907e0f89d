"""The lines of tours along roads, for maps and navigation apps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.roads.osrm import MOST_IN_ROUTE, ask_route, check_url

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["road_lines"]


def road_lines(plan: Plan, instance: Instance, url: str) -> list[NDArray[np.float64]]:
    """
    Return the line of each tour along the roads of an OSRM server.

    A line is an array of (latitude, longitude), shape (n, 2), from the depot and back.

    Raises
    ------
    InputError
        If the server does not answer, or if coordinates are not degrees.
    """
    if instance.metric not in ("great_circle", "road"):
        raise InputError("lines along roads need latitudes and longitudes")
    plan.require_known(instance)
    url = check_url(url)
    return [_line(url, instance.coordinates[[0, *tour, 0]]) for tour in plan]


def _line(url: str, stops: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the line along the stops, which is requested in pieces if it is long."""
    step = MOST_IN_ROUTE - 1  # the last stop of a piece is the first of the next
    pieces = [
        ask_route(url, stops[begin : begin + MOST_IN_ROUTE])
        for begin in range(0, len(stops) - 1, step)
    ]
    return np.concatenate(pieces)
