"""Plans as GPX, the format of navigation apps: a route and a track for each tour."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from fixedfleet.errors import InputError
from fixedfleet.files.text import check_storable, format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["format_plan"]

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="fixedfleet" xmlns="http://www.topografix.com/GPX/1/1">
"""


def format_plan(
    plan: Plan,
    instance: Instance,
    names: list[str] | None = None,
    lines: Sequence[NDArray[np.float64]] = (),
) -> str:
    """
    Return a plan as GPX: a route for each tour, from the depot to its stops and back.

    ``names`` are the names of the vehicles, one per tour. By default, a tour has the
    name of its vehicle type. ``lines`` are the lines of the tours along the roads; each
    line becomes a track.

    InputError is raised if the instance has no latitudes and longitudes.
    """
    if instance.metric not in ("great_circle", "road"):
        raise InputError("GPX needs latitudes and longitudes: write .csv or .json")
    if not any(names or []) and instance.vehicle_types is not None:
        kinds = enumerate(plan.types(instance), 1)
        names = [f"Tour {n}, {one.name}" if one.name else "" for n, one in kinds]
    said = [*(names or []), *[""] * plan.vehicles][: plan.vehicles]
    titles = [_text(name or f"Tour {number}") for number, name in enumerate(said, 1)]
    rows = []
    for title, tour in zip(titles, plan, strict=True):
        rows.append(f"<rte><name>{title}</name>")
        for stop in (0, *tour, 0):
            lat, lon = map(format_number, instance.coordinates[stop])
            name = _text(instance.name_of(stop))
            rows.append(f'<rtept lat="{lat}" lon="{lon}"><name>{name}</name></rtept>')
        rows.append("</rte>")
    for title, line in zip(titles, lines, strict=False):
        rows.append(f"<trk><name>{title}</name><trkseg>")
        rows += [f'<trkpt lat="{lat:.6f}" lon="{lon:.6f}"/>' for lat, lon in line]
        rows.append("</trkseg></trk>")
    return _HEAD + "".join(f"{row}\n" for row in rows) + "</gpx>\n"


def _text(text: str) -> str:
    check_storable("the text", text)
    return escape(text)
