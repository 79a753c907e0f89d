"""Plans as GPX, the format of navigation apps: a route for each tour."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from fixedfleet.errors import InputError
from fixedfleet.files.text import check_storable, format_number

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["format_plan"]

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="fixedfleet" xmlns="http://www.topografix.com/GPX/1/1">
"""


def format_plan(plan: Plan, instance: Instance, names: list[str] | None = None) -> str:
    """
    Write a route for each tour, from the depot and back, with the names of the stops.

    ``names`` are the names of the vehicles, in the order of tours.
    """
    if instance.metric != "great_circle":
        raise InputError("GPX needs latitudes and longitudes: write .csv or .json")
    lines = []
    for number, tour in enumerate(plan, 1):
        name = (names or [])[number - 1 : number] or [""]
        lines.append(f"<rte><name>{_text(name[0] or f'Tour {number}')}</name>")
        for stop in (0, *tour, 0):
            lat, lon = map(format_number, instance.coordinates[stop])
            said = _text(instance.name_of(stop))
            lines.append(f'<rtept lat="{lat}" lon="{lon}"><name>{said}</name></rtept>')
        lines.append("</rte>")
    return _HEAD + "".join(f"{line}\n" for line in lines) + "</gpx>\n"


def _text(text: str) -> str:
    check_storable("the text", text)
    return escape(text)
