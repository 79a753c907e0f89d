"""A small town with one-way streets, as an OpenStreetMap file, and places in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 20  # streets in each direction
_SOUTH, _WEST = 51.0, 13.7
_NORTHWARDS, _EASTWARDS = 0.0018, 0.00288  # degrees between streets: 200 m
_NEXT_TOWN = 0.5  # degrees eastwards: no street leads there


def corner(row: int, column: int, town: int = 0) -> tuple[float, float]:
    """Return latitude and longitude of a crossing; rows are counted northwards."""
    east = _WEST + column * _EASTWARDS + town * _NEXT_TOWN
    return round(_SOUTH + row * _NORTHWARDS, 6), round(east, 6)


def is_one_way(number: int) -> bool:
    """Return whether a street is one-way: northwards or eastwards only."""
    return number % 4 == 1


def town_map() -> str:
    """Return two towns that no road connects, as the text of an .osm file."""
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<osm version="0.6" generator="fixedfleet">',
            *(line for town in (0, 1) for line in _nodes(town)),
            *(line for town in (0, 1) for line in _ways(town)),
            "</osm>",
        )
    )


def _nodes(town: int) -> Iterator[str]:
    for row in range(SIZE):
        for column in range(SIZE):
            lat, lon = corner(row, column, town)
            id = _node(row, column, town)
            yield f'<node id="{id}" version="1" lat="{lat}" lon="{lon}"/>'


def _node(row: int, column: int, town: int) -> int:
    return 1 + column + SIZE * (row + SIZE * town)


def _ways(town: int) -> Iterator[str]:
    for number in range(SIZE):
        along = range(SIZE)
        streets = (
            [_node(number, column, town) for column in along],
            [_node(row, number, town) for row in along],
        )
        for direction, nodes in enumerate(streets):
            id = 1 + direction + 2 * (number + SIZE * town)
            stops = "".join(f'<nd ref="{node}"/>' for node in nodes)
            tags = {"highway": "residential", "name": f"Street {id}"}
            if is_one_way(number):
                tags["oneway"] = "yes"
            said = "".join(f'<tag k="{key}" v="{tag}"/>' for key, tag in tags.items())
            yield f'<way id="{id}" version="1">{stops}{said}</way>'
