"""Links that open a tour in the maps app of a phone, each with its QR code."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import segno

from fixedfleet.serve.schema import LinkDocument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["tour_links"]

# Its addresses are documented, and open the app on Android and iOS, or else a page.
# Only a driver who opens the link sends the places to it; names are not in it.
_MAPS = "https://www.google.com/maps/dir/?"
_MOST = 9  # places between the two ends of a link


def tour_links(plan: Plan, instance: Instance) -> list[list[LinkDocument]]:
    """
    Return the links of each tour: one, or several if it has many stops.

    Instances without latitudes and longitudes have no links.
    """
    if instance.metric != "great_circle":
        return [[] for _ in plan]
    return [list(_links(tour, instance)) for tour in plan]


def _links(tour: tuple[int, ...], instance: Instance) -> Iterator[LinkDocument]:
    """
    Yield links that lead from the depot along a tour, and back if there is room.

    The last link includes the way back unless it has the most places already.
    """
    way = [0, *tour, 0]
    for start in range(0, len(tour), _MOST + 1):
        places = way[start : start + _MOST + 2]
        first, *between, last = (_place(instance, stop) for stop in places)
        query = {"api": "1", "travelmode": "driving"}
        query |= {"origin": first, "destination": last}
        if between:
            query["waypoints"] = "|".join(between)
        address = _MAPS + urlencode(query, safe=",")
        code = segno.make(address, micro=False, error="l", boost_error=False)
        yield LinkDocument(
            first=start + 1,
            last=min(len(tour), start + len(places) - 1),
            address=address,
            code=["".join(map(str, row)) for row in code.matrix],
        )


def _place(instance: Instance, stop: int) -> str:
    """Write a place with a precision of about a metre, so that the code is small."""
    lat, lon = instance.coordinates[stop]
    return f"{lat:.5f},{lon:.5f}"
