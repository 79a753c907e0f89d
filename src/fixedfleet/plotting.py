"""
Pictures of instances, plans and predictions.

They are drawn on matplotlib's Axes. No function here shows them on the screen.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fixedfleet.distances import on_map
from fixedfleet.errors import InputError, require
from fixedfleet.files.atomic import replacing
from fixedfleet.notebook import COLOURS, colour_of
from fixedfleet.wording import count, describe_lines, format_length, length_unit

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = [
    "PICTURES",
    "check_drawable",
    "plot_instance",
    "plot_plan",
    "plot_prediction",
    "save_picture",
    "save_plan_picture",
]

PICTURES = (".png", ".svg", ".pdf")

# If there are more tours than colours, the colours repeat with another line and marker.
_STYLES = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "D"))
_PER_DEGREE = {"km": 111.195, "mi": 69.093}  # the length of a degree of latitude
_MANY = 300  # with more customers than this, lines and markers are thinner
_MOST_IN_LEGEND = 40
_FAINTEST = 0.03  # edges that are less likely than this are not drawn
_SIZE = (11, 7.5)  # inches


def plot_instance(instance: Instance, ax: Axes | None = None) -> Axes:
    """
    Draw the depot and the customers; the larger the demand, the larger the marker.

    Parameters
    ----------
    instance
        The instance. It must have coordinates.
    ax
        Where to draw. Default: new Axes of a new figure.
    """
    ax, points = _draw_map(ax, instance)
    everybody = np.arange(1, instance.num_customers + 1)
    _draw_customers(ax, instance, points, everybody, COLOURS[0], "o")
    total = instance.amount(int(instance.demand_units.sum()))
    fleet = f"{count(instance.vehicles, 'vehicle')} of {instance.capacity}"
    customers = count(instance.num_customers, "customer")
    _finish(ax, instance, customers, f"demand {total}, {fleet}")
    return ax


def plot_plan(
    plan: Plan,
    instance: Instance,
    ax: Axes | None = None,
    *,
    lines: Sequence[NDArray[np.float64]] | None = None,
) -> Axes:
    """
    Draw the tours of a plan, with their loads in the legend.

    Parameters
    ----------
    plan
        The plan. Customers that it does not serve are drawn as crosses.
    instance
        Its instance, which must have coordinates.
    ax
        Where to draw. Default: new Axes of a new figure.
    lines
        The line of each tour along roads, as :func:`fixedfleet.roads.road_lines`
        returns them. Default: straight lines between the stops.
    """
    plan.require_known(instance)
    ax, points = _draw_map(ax, instance)
    loads, lengths = plan.loads(instance), plan.tour_lengths(instance)
    for index, tour in enumerate(plan):
        label = (
            f"tour {index + 1}: {loads[index]} of {instance.capacity}, "
            f"{count(len(tour), 'stop')}, {format_length(lengths[index], 3, instance)}"
        )
        _draw_vehicle(ax, instance, points, np.array(tour), index, label)
        line = None if lines is None else on_map(lines[index], instance.metric)[0]
        _draw_tour(ax, points, np.array(tour), index, line)
    if unserved := plan.unserved(instance):
        x, y = points[unserved].T
        label = f"not served: {len(unserved)}"
        ax.scatter(x, y, marker="x", s=60, color="black", zorder=5, label=label)
    length = format_length(plan.length(instance), 5, instance)
    if said := describe_lines(instance):
        length += f" {said}"
    _finish(
        ax,
        instance,
        f"{plan.vehicles} of {count(instance.vehicles, 'vehicle')}",
        f"{count(instance.num_customers, 'customer')}, length {length}",
        hidden=plan.vehicles - _MOST_IN_LEGEND,
    )
    return ax


def plot_prediction(
    probabilities: NDArray[np.float64], instance: Instance, ax: Axes | None = None
) -> Axes:
    """
    Draw the edges that a network predicts, each vehicle in its own colour.

    The likelier an edge, the stronger its line; both directions count together. A
    customer has the colour of the vehicle that most likely serves it.

    Parameters
    ----------
    probabilities
        Ŷ, shape (M, N', N'): for each of the M vehicles, the probability of each edge
        between the N' = N + 1 locations.
    instance
        Its instance, which must have coordinates.
    ax
        Where to draw. Default: new Axes of a new figure.
    """
    ax, points = _draw_map(ax, instance)
    serves = probabilities[:, 1:].sum(axis=2).argmax(axis=0)  # (N,)
    for vehicle, edges in enumerate(probabilities):
        colour, style, _ = _look(vehicle)
        likely = np.minimum(1, np.triu(edges + edges.T, 1))
        for i, j in np.argwhere(likely > _FAINTEST):
            strength = float(likely[i, j])
            ax.plot(
                *points[[i, j]].T,
                color=colour,
                linestyle=style,
                linewidth=0.4 + 2.2 * strength,
                alpha=strength,
                zorder=2,
            )
        own = np.flatnonzero(serves == vehicle) + 1
        _draw_vehicle(ax, instance, points, own, vehicle, f"vehicle {vehicle + 1}")
    customers = count(instance.num_customers, "customer")
    fleet = count(instance.vehicles, "vehicle")
    _finish(ax, instance, "predicted edges", f"{customers}, {fleet}")
    return ax


def check_drawable(instance: Instance) -> None:
    """Raise an error if the instance has no coordinates or matplotlib is missing."""
    require("matplotlib", "plot", "drawing")
    _ = instance.coordinates


def save_plan_picture(
    path: str | os.PathLike[str],
    instance: Instance,
    plan: Plan | None = None,
    lines: Sequence[NDArray[np.float64]] | None = None,
) -> None:
    """
    Draw a plan into a .png, .svg or .pdf file; without a plan, draw the instance.

    ``lines`` are as in :func:`plot_plan`.
    """
    if plan is None:
        save_picture(path, lambda ax: plot_instance(instance, ax))
    else:
        save_picture(path, lambda ax: plot_plan(plan, instance, ax, lines=lines))


def save_picture(path: str | os.PathLike[str], draw: Callable[[Axes], object]) -> None:
    """
    Draw a picture by calling ``draw`` with new Axes, and write it to a file.

    The file may be a .png, .svg or .pdf file.
    """
    extension = Path(path).suffix.lower()
    if extension not in PICTURES:
        raise InputError(f"{path} is not a picture {', '.join(PICTURES)}")
    # pyplot is not used here: it would choose a backend and keep the figure in memory.
    figure = require("matplotlib.figure", "plot", "drawing").Figure(figsize=_SIZE)
    ax = figure.subplots()
    draw(ax)
    ax.set_adjustable("box")  # the picture takes the shape of the map
    with replacing(path) as file:
        figure.savefig(
            file, format=extension[1:], dpi=150, bbox_inches="tight", pad_inches=0.15
        )


def _draw_map(ax: Axes | None, instance: Instance) -> tuple[Axes, NDArray[np.float64]]:
    """
    Prepare Axes and draw the depot on them.

    Return the Axes, and the point of each location in their coordinates.
    """
    points, shrink = on_map(instance.coordinates, instance.metric)
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot", "drawing")
        ax = cast("Axes", pyplot.subplots(figsize=_SIZE, layout="constrained")[1])
    ax.set_xticks([])
    ax.set_yticks([])
    ax.margins(0.04)
    for spine in ax.spines.values():
        spine.set_color("#CCCCCC")
    ax.set_aspect(1 / shrink, adjustable="datalim")
    if instance.geographic:
        unit = length_unit(instance)
        _draw_scale(ax, points, _PER_DEGREE[unit] * shrink, unit)
    name = _plain(instance.depot_name)
    ax.scatter(
        points[0, 0],
        points[0, 1],
        marker="s",
        s=170 if instance.num_customers <= _MANY else 90,
        color="black",
        edgecolors="white",
        linewidths=1.5,
        zorder=6,
        label="depot" if name == "depot" else f"depot: {name}",
    )
    return ax, points


def _draw_scale(
    ax: Axes, points: NDArray[np.float64], per_degree: float, unit: str
) -> None:
    """
    Draw a scale bar of a round length, about a sixth of the map's width.

    ``per_degree`` is the length of a degree in x direction, in ``unit``.
    """
    width = float(np.ptp(points[:, 0])) * per_degree
    if width <= 0:
        return
    power = 10.0 ** np.floor(np.log10(width / 6))
    steps = (step * power for step in (1, 2, 5) if step * power <= width / 6)
    length = max(steps, default=power)  # the power may exceed a sixth by rounding
    anchored = require("mpl_toolkits.axes_grid1.anchored_artists", "plot", "drawing")
    bar = anchored.AnchoredSizeBar(
        ax.transData,
        length / per_degree,
        f"{length:g} {unit}",
        "lower left",
        pad=0.8,
        sep=4,
        frameon=False,
    )
    ax.add_artist(bar)


def _look(index: int) -> tuple[str, str, str]:
    """Return (colour, line style, marker) of a tour or vehicle, given its index."""
    return colour_of(index), *_STYLES[index // len(COLOURS) % len(_STYLES)]


def _draw_vehicle(
    ax: Axes,
    instance: Instance,
    points: NDArray[np.float64],
    customers: NDArray[Any],
    index: int,
    label: str,
) -> None:
    """
    Draw the customers of a vehicle, and its entry in the legend.

    ``index`` is the vehicle's index, which determines its colour and marker.
    """
    colour, style, marker = _look(index)
    _draw_customers(ax, instance, points, customers, colour, marker)
    shown = label if index < _MOST_IN_LEGEND else "_"
    ax.plot([], [], color=colour, linestyle=style, marker=marker, label=shown)


def _draw_customers(
    ax: Axes,
    instance: Instance,
    points: NDArray[np.float64],
    customers: NDArray[Any],
    colour: str,
    marker: str,
) -> None:
    units = instance.demand_units
    share = units[customers] / max(1, int(units.max()))
    # The more customers, the smaller their markers, so that they do not overlap.
    largest = float(np.clip(15_000 / instance.num_customers, 12, 150))
    x, y = points[customers].T
    ax.scatter(
        x,
        y,
        s=largest * (0.12 + 0.88 * share),
        color=colour,
        marker=marker,
        edgecolors="white",
        linewidths=0.6 if instance.num_customers <= _MANY else 0.2,
        zorder=3,
    )


def _draw_tour(
    ax: Axes,
    points: NDArray[np.float64],
    stops: NDArray[Any],
    index: int,
    line: NDArray[np.float64] | None,
) -> None:
    """Draw the line of a tour, and its number, because several tours share a colour."""
    colour, style, _ = _look(index)
    width = 1.8 if len(points) <= _MANY else 1.0
    look: dict[str, Any] = {"color": colour, "linestyle": style}
    if line is not None:
        ax.plot(*line.T, linewidth=width, zorder=2, **look)
    else:
        ax.plot(*points[stops].T, linewidth=width, zorder=2, **look)
        # The lines to the depot all meet there, so they are thinner and paler.
        for end in (stops[0], stops[-1]):
            leg = points[[0, end]].T
            ax.plot(*leg, linewidth=width / 2, alpha=0.55, zorder=1, **look)
    outward = points[stops] - points[0]
    distances = np.hypot(*outward.T)
    far = int(np.argmax(distances))
    ax.annotate(
        str(index + 1),
        points[stops[far]],
        tuple(12 * outward[far] / (distances[far] or 1.0)),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=8 if len(points) <= _MANY else 6,
        fontweight="bold",
        color="white",
        bbox={"boxstyle": "round,pad=0.25", "facecolor": colour, "linewidth": 0},
        zorder=7,
    )


def _finish(
    ax: Axes, instance: Instance, title: str, subtitle: str, hidden: int = 0
) -> None:
    """
    Write the title and the legend.

    ``hidden`` is the number of tours that are missing in the legend.
    """
    name = f"{_plain(instance.name)}: " if instance.name else ""
    ax.set_title(f"{name}{title}\n{subtitle}")
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0,
        frameon=False,
        fontsize=9,
        title=f"… and {hidden} more tours" if hidden > 0 else None,
    )


def _plain(text: str) -> str:
    """
    Return a name on one line, with dollar signs escaped.

    In matplotlib, a dollar sign begins a formula.
    """
    return " ".join(text.split()).replace("$", r"\$")
