"""The two figures: vehicles used, and how trainings went, as text and as pictures."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.evaluate.figures import can_draw, draw_curves, draw_fleet_sizes
from fixedfleet.evaluate.reproduce.definitions import title_of
from fixedfleet.evaluate.reproduce.rendering import (
    mark,
    markdown_grid,
    render_mixed,
    render_origin,
    show_time,
)
from fixedfleet.evaluate.reproduce.trainings import Curve, read_curve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fixedfleet.evaluate.published import PublishedRow
    from fixedfleet.evaluate.reproduce.cells import Cell
    from fixedfleet.evaluate.reproduce.definitions import Options, Table
    from fixedfleet.evaluate.reproduce.trainings import Training

__all__ = ["curves_text", "draw_sizes", "draw_trainings", "may_draw", "sizes_pages"]

_NO_PICTURES = (
    "no pictures: matplotlib is not installed (pip install 'fixedfleet[plot]')"
)


def sizes_pages(
    table: Table, cells: Sequence[Cell], notes: Sequence[str], options: Options
) -> tuple[str, str]:
    """Return how many vehicles each method uses, as Markdown and as CSV."""
    parts = [f"# {table.title}\n"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("table", "set", "label", "method", "vehicles", "instances"))
    for name in table.sets:
        of_set = _alike([cell for cell in cells if cell.set == name])
        if not of_set:
            continue
        fleet = of_set[0].rows[0].fleet
        lines = {"floor ⌈Σq/Q⌉": _floors(of_set)} | {
            cell.label + mark(cell): _sizes(cell) for cell in of_set
        }
        columns = sorted({size for counts in lines.values() for size in counts})
        body = [
            [label, *_sizes_row(counts, columns, fleet)]
            for label, counts in lines.items()
        ]
        headings = ["method", *(f"{size}" for size in columns)]
        headings += [f"above {fleet}", "mean", "plans"]
        parts.append(f"## {title_of(name)}\n\n{markdown_grid(headings, body)}")
        if mixed := render_mixed(of_set):
            parts.append(f"{mixed}\n")
        methods = {cell.label + mark(cell): cell.rows[0].method for cell in of_set}
        for label, counts in lines.items():
            for size, count in sorted(counts.items()):
                plain = label.removesuffix(" ‡")
                writer.writerow(
                    (table.name, name, plain, methods.get(label, ""), size, count)
                )
    parts.append(
        "Share of the plans by the number of vehicles they use, over the instances "
        "that all lines have plans of. The floor is what the demands ask for, ⌈Σq/Q⌉: "
        "no plan uses fewer.\n"
    )
    if notes:
        parts.append("\n".join(f"- {note}" for note in notes) + "\n")
    parts.append(render_origin(table.name, cells, options))
    return "\n".join(parts), text.getvalue()


def draw_sizes(path: Path, cells: Iterable[Cell]) -> None:
    """Draw Figure 1."""
    given: dict[str, list[Cell]] = {}
    for cell in cells:
        given.setdefault(cell.set, []).append(cell)
    common = {name: _alike(of_set) for name, of_set in given.items()}
    by_set = {name: of_set for name, of_set in common.items() if of_set}
    draw_fleet_sizes(
        path,
        {
            title_of(name): {cell.label: _shares(_sizes(cell)) for cell in of_set}
            for name, of_set in by_set.items()
        },
        {title_of(name): of_set[0].rows[0].fleet for name, of_set in by_set.items()},
        {title_of(name): _shares(_floors(of_set)) for name, of_set in by_set.items()},
    )


def curves_text(
    trainings: Sequence[Training], options: Options, beside: Sequence[PublishedRow] = ()
) -> str:
    """Return how the trainings ended, beside what the paper says."""
    body = []
    for training in trainings:
        curve = read_curve(training, options.work)
        if curve is not None:
            body.append(
                [
                    training.label,
                    f"{curve.loss[-1][0]:.3g}",
                    show_time(curve.seconds),
                    *map(_last, (curve.loss, curve.validation, curve.violation)),
                ]
            )
    for row in beside:
        if row.violation is not None:
            printed = f"{row.violation:.3f}"
            body.append([f"*{row.method}*", "–", "–", "–", "–", printed])
    headings = ("training", "epochs", "time", "loss", "held out", "violation")
    return (
        f"## How the trainings ended\n\n{markdown_grid(headings, body)}\n"
        "Violation: what the pseudo-greedy plan loads above the capacity, mean over "
        "the vehicles, as a share of the capacity; held out: the loss on labels that "
        "were not learnt from; time: spent in steps, longer where trainings share a "
        "GPU.\n"
    )


def draw_trainings(
    folder: Path, name: str, trainings: Sequence[Training], options: Options
) -> list[Path]:
    """Draw Figure 3, once for each preset."""
    presets: dict[str, dict[str, Curve]] = {}
    for training in trainings:
        curve = read_curve(training, options.work)
        if curve is not None:
            label = training.label.partition(", ")[2]
            presets.setdefault(training.preset, {})[label] = curve
    paths = []
    for preset, curves in presets.items():
        path = folder / f"{name}-{preset}.png"
        points = {
            label: (curve.loss, curve.validation, curve.violation)
            for label, curve in curves.items()
        }
        draw_curves(path, points, preset)
        paths.append(path)
    return paths


def may_draw(options: Options) -> bool:
    """Whether pictures can be drawn; says so where they cannot."""
    if not can_draw():
        options.say(_NO_PICTURES)
    return can_draw()


def _alike(cells: Iterable[Cell]) -> list[Cell]:
    """Restrict lines to the instances that all of them have plans of."""
    with_rows = [cell for cell in cells if cell.rows]
    planned = [{row.instance for row in cell.rows if row.served} for cell in with_rows]
    common = set.intersection(*planned) if planned else set()
    if not common:
        return []
    return [
        replace(cell, rows=tuple(row for row in cell.rows if row.instance in common))
        for cell in with_rows
    ]


def _sizes(cell: Cell) -> Counter[int]:
    return Counter(row.vehicles for row in cell.rows if row.vehicles is not None)


def _floors(cells: Iterable[Cell]) -> Counter[int]:
    """Floors of the instances of all lines."""
    floors = {row.instance: row.floor for cell in cells for row in cell.rows}
    return Counter(floors.values())


def _shares(counts: Counter[int]) -> dict[int, float]:
    total = max(1, counts.total())
    return {size: count / total for size, count in sorted(counts.items())}


def _sizes_row(counts: Counter[int], columns: Iterable[int], fleet: int) -> list[str]:
    """Shares of each size and of those beyond the fleet, the mean, the number."""
    total = max(1, counts.total())
    beyond = sum(count for size, count in counts.items() if size > fleet)
    mean = sum(size * count for size, count in counts.items()) / total
    shares = [counts[size] for size in columns] + [beyond]
    return [f"{100 * share / total:.1f} %" for share in shares] + [
        f"{mean:.3f}",
        f"{counts.total():,}",
    ]


def _last(points: Sequence[tuple[float, float]]) -> str:
    return f"{points[-1][1]:.4f}" if points else "–"
