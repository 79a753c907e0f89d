"""How objects look in a notebook: tables, and pictures as SVG without matplotlib."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fixedfleet.distances import on_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.distances import Metric

__all__ = ["COLOURS", "colour_of", "draw_bar", "draw_map", "make_table"]

# The colours of Okabe and Ito, which colour-blind people can tell apart. Yellow is left
# out, as it is pale on white, and black is the colour of the depot.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E")

_SIZE = 420  # pixels of the longer side of a map
_MARGIN = 12


def colour_of(tour: int) -> str:
    """Return the colour of a tour, given its index in the plan."""
    return COLOURS[tour % len(COLOURS)]


def make_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """
    Return a table as HTML.

    Cells are escaped, except those that begin with "<svg", which are pictures.
    """
    columns = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    text = str(value)
    return f"<td>{text if text.startswith('<svg') else escape(text)}</td>"


def draw_bar(share: float, colour: str) -> str:
    """Return the SVG of a bar that is 100 pixels long for a share of 1."""
    bar = f'<rect width="{round(100 * min(1.0, share))}" height="10" fill="{colour}"/>'
    return f'<svg width="100" height="10">{bar}</svg>'


def draw_map(
    points: NDArray[np.float64],
    metric: Metric,
    tours: Sequence[Sequence[int]] = (),
) -> str:
    """
    Return a map as SVG.

    The depot is a square, each tour has a colour, and unserved customers are grey.
    """
    places, (width, height) = _place(points, metric)
    drawn = []
    rest = set(range(1, len(points)))
    for number, tour in enumerate(tours):
        colour = colour_of(number)
        way = " ".join(_at(places[stop]) for stop in (0, *tour, 0))
        drawn.append(
            f'<polyline points="{way}" fill="none" stroke="{colour}" '
            f'stroke-width="1.3"><title>tour {number + 1}</title></polyline>'
        )
        drawn.append(_dots(places[list(tour)], colour))
        rest -= set(tour)
    drawn.insert(0, _dots(places[sorted(rest)], "#999999"))
    x, y = places[0]
    drawn.append(
        f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" '
        'fill="currentColor"/>'  # the colour of the text, for dark themes
    )
    return f'<svg width="{width:.0f}" height="{height:.0f}">{"".join(drawn)}</svg>'


def _place(
    points: NDArray[np.float64], metric: Metric
) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return the points in pixels, and the (width, height) of the picture."""
    plane, shrink = on_map(points, metric)
    plane = plane * (shrink, 1.0)
    low, high = plane.min(axis=0), plane.max(axis=0)
    scale = (_SIZE - 2 * _MARGIN) / (float((high - low).max()) or 1.0)
    width, height = (high - low) * scale + 2 * _MARGIN
    pixels = (plane - low) * scale + _MARGIN
    pixels[:, 1] = height - pixels[:, 1]  # in SVG, y grows downwards
    return pixels, (float(width), float(height))


def _dots(places: NDArray[np.float64], colour: str) -> str:
    """
    Return SVG of dots at some places, as one path.

    Each dot is a line of length 0 with round ends, which is shorter text than a circle.
    """
    way = "".join(f"M{_at(place)}h0" for place in places)
    return (
        f'<path d="{way}" stroke="{colour}" stroke-width="6" stroke-linecap="round"/>'
    )


def _at(place: NDArray[np.float64]) -> str:
    return f"{place[0]:.1f},{place[1]:.1f}"
