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

# Google documents these addresses. They open the maps app on Android and iOS, or a web
# page elsewhere. Google receives the places only when a driver opens the link. The link
# contains no names.
_MAPS = "https://www.google.com/maps/dir/?"
_MOST = 9  # the largest number of places between the two ends of a link


def tour_links(plan: Plan, instance: Instance) -> list[list[LinkDocument]]:
    """
    Return the links of each tour: one link, or several if the tour has many stops.

    If the instance has no latitudes and longitudes, the tours have no links.
    """
    if instance.metric != "great_circle":
        return [[] for _ in plan]
    return [list(_links(tour, instance)) for tour in plan]


def _links(tour: tuple[int, ...], instance: Instance) -> Iterator[LinkDocument]:
    """
    Yield links that lead from the depot along a tour.

    The last link also leads back to the depot, unless it already has as many places as
    a link can have.
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
    """
    Return a stop's latitude and longitude as text with 5 decimals, about a metre.

    More decimals would make the QR code larger.
    """
    lat, lon = instance.coordinates[stop]
    return f"{lat:.5f},{lon:.5f}"
