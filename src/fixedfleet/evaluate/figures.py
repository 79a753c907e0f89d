"""Pictures of the paper's figures: fleet sizes, and how trainings went."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.files.atomic import replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

__all__ = ["Points", "can_draw", "draw_curves", "draw_fleet_sizes"]

Points = tuple[tuple[float, float], ...]

# Okabe and Ito's colours, which the colour-blind tell apart too; hatches and dashes
# tell apart what is printed without colour.
_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
_GREY = "#6E6E6E"
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")
_DPI = 130


def can_draw() -> bool:
    """Whether the package that draws is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_fleet_sizes(
    path: str | os.PathLike[str],
    shares: Mapping[str, Mapping[str, Mapping[int, float]]],
    fleets: Mapping[str, int],
    floors: Mapping[str, Mapping[int, float]],
) -> None:
    """
    Draw histograms of the vehicles that methods use, one for each set (Figure 1).

    Parameters
    ----------
    path
        The picture's file.
    shares
        Share of the instances by set, method and number of vehicles.
    fleets
        The vehicles there are, by set: the line no bar should cross.
    floors
        Share of the instances by set and ⌈Σq/Q⌉, the vehicles nobody can do without.
    """
    if not shares:
        raise InputError("no rows to draw fleet sizes from")
    labels = list(
        dict.fromkeys(name for methods in shares.values() for name in methods)
    )
    if len(labels) > len(_COLOURS):
        raise InputError(f"{len(labels)} methods, more than {len(_COLOURS)} colours")
    figure, axes = _panels(len(shares), width=4.6, height=3.6)
    for ax, (name, methods) in zip(axes, shares.items(), strict=True):
        fleet = fleets[name]
        _draw_histogram(ax, labels, methods, floors[name], fleet)
        ax.axvline(fleet + 0.5, color="black", linestyle="--", linewidth=1)
        ax.annotate(
            f"fleet: {fleet}",
            (fleet + 0.5, 1),
            (3, -3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="top",
            fontsize=8,
        )
        ax.set_title(name)
        ax.set_xlabel("vehicles used")
    axes[0].set_ylabel("share of the instances, %")
    _legend_below(figure, axes)
    _save(figure, path)


def draw_curves(
    path: str | os.PathLike[str],
    curves: Mapping[str, tuple[Points, Points, Points]],
    title: str = "",
) -> None:
    """
    Draw losses, and what is loaded above the capacity, by epochs (Figure 3).

    Parameters
    ----------
    path
        The picture's file.
    curves
        For each training its loss on the labels it learns from, its loss on those held
        out, and its violation of the capacity, as (epoch, value) each.
    title
        Stands above the picture.
    """
    if not curves:
        raise InputError("no trainings to draw")
    if len(curves) > len(_COLOURS):
        raise InputError(f"{len(curves)} trainings, more than {len(_COLOURS)} colours")
    figure, (left, right) = _panels(2, width=5.2, height=3.6)
    for index, (label, (loss, held_out, violation)) in enumerate(curves.items()):
        colour = _COLOURS[index]
        # Markers, since two trainings may go exactly the same way.
        style = {"color": colour, "linewidth": 1.5, "marker": "osD^v*Px"[index]}
        style |= {"markersize": 4, "markevery": (index, 7)}
        _line(left, loss, label=label, **style)
        _line(left, held_out, color=colour, linewidth=1.5, linestyle="--")
        _line(right, [(x, 100 * y) for x, y in violation], label=label, **style)
    left.set_ylabel("loss")
    left.set_title("training (solid), held out (dashed)", fontsize=10)
    right.set_ylabel("excess load a vehicle, % of Q")
    right.set_title("violation of the capacity, held out", fontsize=10)
    right.set_ylim(bottom=0)
    for ax in (left, right):
        ax.set_xlabel("epochs")
        ax.xaxis.get_major_locator().set_params(integer=True)
    if title:
        figure.suptitle(title)
    _legend_below(figure, (left,))
    _save(figure, path)


def _draw_histogram(
    ax: Axes,
    labels: Sequence[str],
    methods: Mapping[str, Mapping[int, float]],
    floor: Mapping[int, float],
    fleet: int,
) -> None:
    """Bars of all methods beside each other, over the floor as a wide grey one."""
    sizes = {fleet, fleet + 1, *floor}.union(*methods.values())
    low, high = min(sizes), max(sizes)
    ax.bar(
        list(floor),
        [100 * share for share in floor.values()],
        width=0.92,
        color="#DDDDDD",
        label="floor ⌈Σq/Q⌉",
        zorder=1,
    )
    width = 0.84 / max(1, len(labels))
    for index, label in enumerate(labels):
        share = methods.get(label, {})
        places = [size + (index + 0.5) * width - 0.42 for size in share]
        ax.bar(
            places,
            [100 * part for part in share.values()],
            width=width,
            color=_COLOURS[index],
            hatch=_HATCHES[index],
            edgecolor="white",
            linewidth=0.3,
            label=label,
            zorder=2,
        )
    ax.set_xlim(low - 0.6, high + 0.6)
    ax.set_xticks(range(low, high + 1))


def _line(ax: Axes, points: Sequence[tuple[float, float]], **style: Any) -> None:
    if points:
        x, y = zip(*points, strict=True)
        ax.plot(x, y, **style)


def _panels(count: int, *, width: float, height: float) -> tuple[Any, Any]:
    """Return a figure without a window, and so many Axes beside each other."""
    require("matplotlib", "plot", "drawing a picture")
    # Not pyplot: it would look for a screen and keep every figure.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * count, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, count, squeeze=False)[0]
    for ax in axes:
        ax.grid(axis="y", alpha=0.3, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _legend_below(figure: Any, axes: Sequence[Axes]) -> None:
    found: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=min(3, len(found)),
        frameon=False,
        fontsize=9,
    )


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=_DPI)
