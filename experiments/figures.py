"""Pictures: vehicles used, the course of trainings, gaps by time and by size."""

from __future__ import annotations

import importlib.util
from collections import Counter
from typing import TYPE_CHECKING, Any

from experiments.definitions import title_of
from experiments.pages import count_vehicles
from experiments.trainings import mean_curve, read_curve
from fixedfleet.errors import InputError, require
from fixedfleet.files.atomic import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from experiments.cells import Cell
    from experiments.definitions import Options, Table
    from experiments.trainings import Curve
    from fixedfleet.evaluate.metrics import Mean

__all__ = ["draw", "draw_curves", "draw_gaps", "draw_sizes", "draw_vehicles"]

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
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")
_MARKERS = "osD^v*Px"
_DPI = 130
_SMALLEST_GAP = 1e-3  # per cent, on a log axis


def draw(table: Table, cells: Sequence[Cell], options: Options) -> list[Path]:
    """Draw the pictures of a table, if it has any; return their files."""
    if not table.picture:
        return []
    if importlib.util.find_spec("matplotlib") is None:
        options.say("no pictures: install matplotlib (pip install 'fixedfleet[plot]')")
        return []
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{table.name}.png"
    if table.picture == "vehicles":
        draw_vehicles(path, cells)
        return [path]
    if table.picture == "gaps":
        draw_gaps(path, cells)
        return [path]
    if table.picture == "sizes":
        gaps: dict[str, dict[int, Mean]] = {}
        for cell in cells:
            if cell.summary.gap and cell.summary.objective == "length":
                size = cell.rows[0].customers
                gaps.setdefault(cell.label, {})[size] = cell.summary.gap
        if not gaps:  # without reference plans, the table has none either
            return []
        draw_sizes(path, gaps)
        return [path]
    presets: dict[str, dict[str, list[Curve]]] = {}
    for training, label in table.trainings.items():
        if (curve := read_curve(training, options.work)) is not None:
            of_preset = presets.setdefault(training.preset, {})
            of_preset.setdefault(label, []).append(curve)
    paths = []
    for preset, curves in presets.items():
        paths.append(options.out / f"{table.name}-{preset}.png")
        means = {label: mean_curve(several) for label, several in curves.items()}
        draw_curves(paths[-1], means, preset)
    return paths


def draw_vehicles(path: Path, cells: Sequence[Cell]) -> None:
    """Draw histograms of the vehicles that methods use, one per set (Figure 1)."""
    names = list(dict.fromkeys(cell.set for cell in cells))
    if not names:
        raise InputError("no rows to draw fleet sizes from")
    labels = list(dict.fromkeys(cell.label for cell in cells))
    _check_colours(labels, "methods")
    figure, axes = _panels(len(names), width=4.6, height=3.6)
    for ax, name in zip(axes, names, strict=True):
        of_set = [cell for cell in cells if cell.set == name]
        rows = [row for cell in of_set for row in cell.rows]
        fleet, floors = rows[0].fleet, {row.instance: row.floor for row in rows}
        counts = {"floor ⌈Σq/Q⌉": Counter(floors.values())}
        counts |= {cell.label: count_vehicles(cell) for cell in of_set}
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
        ax.set_title(title_of(name))
        ax.set_xlabel("vehicles used")
    axes[0].set_ylabel("share of the instances, %")
    _legend_below(figure, axes)
    _save(figure, path)


def draw_gaps(path: Path, cells: Sequence[Cell]) -> None:
    """Draw gaps against the real time, both on a log axis, one panel per set."""
    timed = [
        cell
        for cell in cells
        if cell.summary.gap and cell.summary.time_limit is not None
    ]
    if not timed:
        raise InputError("no gaps to draw: no row has a time limit and a reference")
    labels = list(dict.fromkeys(cell.label for cell in timed))
    _check_colours(labels, "methods")
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
        ax.set(xscale="log", yscale="log", title=title_of(name), xlabel="seconds")
        ax.set_ylim(bottom=_SMALLEST_GAP)
    axes[0].set_ylabel("mean gap, %")
    _legend_below(figure, axes)
    _save(figure, path)


def draw_sizes(path: Path, gaps: Mapping[str, Mapping[int, Mean]]) -> None:
    """Draw gaps on a log axis by the number of customers, one line per method."""
    figure, (ax,) = _panels(1, width=6.4, height=5.0)
    for index, (label, line) in enumerate(gaps.items()):
        ax.errorbar(
            list(line),
            [max(gap.value, _SMALLEST_GAP) for gap in line.values()],
            yerr=[gap.half or 0.0 for gap in line.values()],
            label=label,
            color=_COLOURS[index % len(_COLOURS)],
            linestyle="-" if index < len(_COLOURS) else "--",
            marker=_MARKERS[index % len(_MARKERS)],
            capsize=2,
        )
    ax.set(yscale="log", xlabel="customers", ylabel="mean gap, %")
    ax.set_ylim(bottom=_SMALLEST_GAP)
    ax.set_xticks(sorted({size for line in gaps.values() for size in line}))
    _legend_below(figure, (ax,))
    _save(figure, path)


def draw_curves(path: Path, curves: Mapping[str, Curve], title: str) -> None:
    """Draw losses, and loads above the capacity, by epochs (Figure 3)."""
    if not curves:
        raise InputError("no trainings to draw")
    _check_colours(curves, "trainings")
    figure, (left, right) = _panels(2, width=5.2, height=3.6)
    for index, (label, curve) in enumerate(curves.items()):
        colour = _COLOURS[index]
        # Markers, because two trainings may take exactly the same course.
        style = {"color": colour, "linewidth": 1.5, "marker": _MARKERS[index]}
        style |= {"markersize": 4, "markevery": (index, 7)}
        _line(left, curve.loss, label=label, **style)
        _line(left, curve.validation, color=colour, linewidth=1.5, linestyle="--")
        _line(right, [(x, 100 * y) for x, y in curve.violation], label=label, **style)
    left.set_ylabel("loss")
    left.set_title("training (solid), held out (dashed)", fontsize=10)
    right.set_ylabel("excess load per vehicle, % of Q")
    right.set_title("violation of the capacity, held out", fontsize=10)
    right.set_ylim(bottom=0)
    for ax in (left, right):
        ax.set_xlabel("epochs")
        ax.xaxis.get_major_locator().set_params(integer=True)
    figure.suptitle(title)
    _legend_below(figure, (left,))
    _save(figure, path)


def _check_colours(labels: Sequence[str] | Mapping[str, object], what: str) -> None:
    if len(labels) > len(_COLOURS):
        raise InputError(f"{len(labels)} {what}, more than {len(_COLOURS)} colours")


def _draw_histogram(
    ax: Axes,
    labels: Sequence[str],
    counts: Mapping[str, Mapping[int, int]],
    fleet: int,
) -> None:
    """Draw the bars of all methods side by side, over the floor as a wide grey bar."""
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


def _save(figure: Any, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=_DPI)
