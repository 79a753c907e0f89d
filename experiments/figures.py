"""Draw the pictures of tables: numbers of vehicles used, and gaps over time."""

from __future__ import annotations

import importlib.util
from collections import Counter
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.files.atomic import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from experiments.cells import Cell
    from experiments.definitions import Options, Table

__all__ = ["draw", "draw_gaps", "draw_vehicles"]

# Okabe and Ito's colours, which colour-blind readers can distinguish. Hatches and
# dashes distinguish methods in print without colour.
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
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")
_MARKERS = "osD^v*Px"
_DPI = 130
_SMALLEST_GAP = 1e-3  # in %; a log axis cannot show 0


def draw(table: Table, cells: Sequence[Cell], options: Options) -> list[Path]:
    """Draw the pictures of a table, if it has any; return their files."""
    if not table.picture:
        return []
    if importlib.util.find_spec("matplotlib") is None:
        options.say("no pictures: install matplotlib (pip install 'fixedfleet[plot]')")
        return []
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{table.name}.png"
    drawing = draw_vehicles if table.picture == "vehicles" else draw_gaps
    drawing(path, cells)
    return [path]


def draw_vehicles(path: Path, cells: Sequence[Cell]) -> None:
    """
    Draw how many vehicles methods use, one histogram per set.

    This is Figure 1 of the paper.
    """
    names = list(dict.fromkeys(cell.set for cell in cells))
    if not names:
        raise InputError("no rows to draw fleet sizes from")
    labels = list(dict.fromkeys(cell.label for cell in cells))
    _check_colours(labels)
    figure, axes = _panels(len(names), width=4.6, height=3.6)
    for ax, name in zip(axes, names, strict=True):
        of_set = [cell for cell in cells if cell.set == name]
        rows = [row for cell in of_set for row in cell.rows]
        fleet, floors = rows[0].fleet, {row.instance: row.floor for row in rows}
        counts = {"floor ⌈Σq/Q⌉": Counter(floors.values())}
        counts |= {cell.label: _count_vehicles(cell) for cell in of_set}
        _draw_histogram(ax, labels, counts, fleet)
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
        ax.set_title(name.upper())
        ax.set_xlabel("vehicles used")
    axes[0].set_ylabel("share of the instances, %")
    _legend_below(figure, axes)
    _save(figure, path)


def draw_gaps(path: Path, cells: Sequence[Cell]) -> None:
    """Draw gaps over measured time, both on log axes, with one panel per set."""
    timed = [
        cell
        for cell in cells
        if cell.summary.gap and cell.summary.time_limit is not None
    ]
    if not timed:
        raise InputError("no gaps to draw: no row has a time limit and a reference")
    labels = list(dict.fromkeys(cell.label for cell in timed))
    _check_colours(labels)
    names = list(dict.fromkeys(cell.set for cell in timed))
    figure, axes = _panels(len(names), width=4.6, height=3.8)
    for ax, name in zip(axes, names, strict=True):
        for index, label in enumerate(labels):
            of_line = [c.summary for c in timed if (c.set, c.label) == (name, label)]
            ax.errorbar(
                [s.seconds.value for s in of_line],
                [max(s.gap.value, _SMALLEST_GAP) for s in of_line if s.gap],
                yerr=[s.gap.half or 0.0 for s in of_line if s.gap],
                label=label,
                color=_COLOURS[index],
                marker=_MARKERS[index],
                capsize=2,
            )
        ax.set(xscale="log", yscale="log", title=name.upper(), xlabel="seconds")
        ax.set_ylim(bottom=_SMALLEST_GAP)
    axes[0].set_ylabel("mean gap, %")
    _legend_below(figure, axes)
    _save(figure, path)


def _count_vehicles(cell: Cell) -> Counter[int]:
    """Count the plans of a cell by the number of vehicles that they use."""
    return Counter(row.vehicles for row in cell.rows if row.vehicles is not None)


def _check_colours(labels: Sequence[str]) -> None:
    if len(labels) > len(_COLOURS):
        raise InputError(f"{len(labels)} methods, more than {len(_COLOURS)} colours")


def _draw_histogram(
    ax: Axes,
    labels: Sequence[str],
    counts: Mapping[str, Mapping[int, int]],
    fleet: int,
) -> None:
    """
    Draw for each number of vehicles the share of plans, as one bar per method.

    Wide grey bars behind them show the lower bound ⌈Σq/Q⌉, which is the first entry of
    ``counts``. ``counts`` has the number of plans by label and number of vehicles.
    """
    shares = {
        label: {
            size: count / sum(used.values()) for size, count in sorted(used.items())
        }
        for label, used in counts.items()
    }
    floor = next(iter(shares.values()))
    sizes = {fleet, fleet + 1}.union(*shares.values())
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
        share = shares.get(label, {})
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


def _panels(count: int, *, width: float, height: float) -> tuple[Any, Any]:
    """Return a figure without a window, and this many Axes side by side."""
    require("matplotlib", "plot", "drawing a picture")
    # pyplot is not used: it would look for a screen and keep every figure in memory.
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


def _save(figure: Any, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=_DPI)
