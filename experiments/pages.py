"""Cells of a table as a page of Markdown and as CSV."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.definitions import title_of
from experiments.published import published
from experiments.trainings import read_curve
from experiments.versions import command, recorded
from fixedfleet.evaluate.tables import (
    NOTHING,
    csv_table,
    markdown_table,
    show_mean,
    show_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from experiments.cells import Cell
    from experiments.definitions import Options, Table
    from experiments.published import PublishedRow
    from fixedfleet.evaluate import Summary

__all__ = ["common_cells", "count_vehicles", "render_page", "trainings_part"]

_LATE = 0.05  # share of runs beyond their limit from which on a page says so


def render_page(
    table: Table,
    cells: Sequence[Cell],
    printed: Sequence[PublishedRow],
    notes: Sequence[str],
    options: Options,
) -> tuple[str, str]:
    """
    Return a table as a page of Markdown, with one part per set, and as CSV.

    Parameters
    ----------
    table
        The table.
    cells
        What was measured.
    printed
        What the paper prints; only the layout ``figures`` shows it.
    notes
        What to say below, after the table's own notes.
    options
        What was asked for.
    """
    part, numbers, explanation = _LAYOUTS[table.layout]
    parts = [f"# {table.title}\n"]
    for name in table.sets:
        of_set = [cell for cell in cells if cell.set == name]
        said = [row for row in printed if row.set == name]
        if of_set or said:
            parts.append(f"## {title_of(name)}\n\n{part(table, of_set, said)}")
            remarks = (_elsewhere(of_set), _late(of_set))
            parts += [f"{remark}\n" for remark in remarks if remark]
    parts.append(explanation(table, cells, printed) + "\n")
    if below := [*table.notes, *notes]:
        parts.append("\n".join(f"- {note}" for note in below) + "\n")
    parts.append(_origin(table.name, cells, options))
    return "\n".join(parts), numbers(table, cells, printed, options)


def trainings_part(table: Table, options: Options) -> str:
    """Return how a table's trainings ended, beside what the paper says."""
    body = []
    for training, label in table.trainings.items():
        curve = read_curve(training, options.work)
        if curve is not None:
            ends = (curve.loss, curve.validation, curve.violation)
            body.append(
                [
                    f"{training.preset}, {label}",
                    f"{curve.loss[-1][0]:.3g}",
                    show_time(curve.seconds),
                    *(f"{end[-1][1]:.4f}" if end else NOTHING for end in ends),
                ]
            )
    source = published(table.name)
    for row in source.rows if source else ():
        if row.violation is not None:
            dashes = [NOTHING] * 4
            body.append([f"*{row.method}*", *dashes, f"{row.violation:.3f}"])
    headings = ("training", "epochs", "time", "loss", "held out", "violation")
    return (
        f"## How the trainings ended\n\n{markdown_table(headings, body)}\n"
        "Violation: the load of the pseudo-greedy plan above the capacity, mean over "
        "the vehicles, as a share of the capacity. Held out: the loss on labels that "
        "were not trained on. Time: spent in training steps; longer where trainings "
        "share a GPU.\n"
    )


# The layout "figures": a line per method with all its figures.

_FIGURES = (
    "method",
    "Cost",
    "Cost_v",
    "floor of Cost_v",
    "within the fleet",
    "no plan",
    "gap, %",
    "above the control, %",
    "seconds per instance",
    "instances",
)
_CSV = (
    "table", "set", "source", "kind", "label", "method", "objective", "time_limit",
    "seed", "instances", "no_plan", "share_within", "excess_vehicles", "vehicles",
    "cost", "cost_half", "cost_v", "cost_v_half", "cost_v_floor", "gap_percent",
    "gap_half", "gap_of", "gap_instances", "control_percent", "control_half",
    "control_instances", "seconds", "total_seconds", "overrun", "machine",
)  # fmt: skip


def _figures_part(
    table: Table, cells: Sequence[Cell], printed: Sequence[PublishedRow]
) -> str:
    body = [_printed_row(row) for row in printed]
    body += [_measured_row(cell, table.unit.get(cell.set, 1.0)) for cell in cells]
    return markdown_table(_FIGURES, body)


def _measured_row(cell: Cell, unit: float) -> list[str]:
    summary = cell.summary
    cost, cost_v, floor = summary.length, summary.cost_v, summary.cost_v_floor
    return [
        _label(cell),
        NOTHING if cost is None else _length(cost.value / unit),
        NOTHING if cost_v is None else _cost_v(cost_v.value / unit),
        NOTHING if floor is None else _cost_v(floor / unit),
        f"{100 * summary.share_within:.1f} %",
        str(summary.runs - summary.served),
        _gap(summary),
        show_mean(cell.against, 3),
        _seconds(summary.seconds.value),
        f"{summary.runs:,}",
    ]


def _printed_row(row: PublishedRow) -> list[str]:
    below = " †" if row.impossible else ""
    seconds = NOTHING if row.seconds is None else f"{row.seconds:g}"
    if row.total is not None:
        seconds = f"{show_time(row.total)} in total"
    return [
        f"*{row.method}*",
        NOTHING if row.cost is None else f"{row.cost:.{2 if row.cost < 1e3 else 0}f}",
        NOTHING if row.cost_v is None else f"{row.cost_v:.1f}{below}",
        NOTHING if row.floor is None else _cost_v(row.floor),
        NOTHING if row.solved is None else f"{100 * row.solved:.3g} %",
        NOTHING if row.unsolved is None else str(row.unsolved),
        NOTHING,
        NOTHING,
        seconds,
        "published",
    ]


def _figures_csv(
    table: Table,
    cells: Sequence[Cell],
    printed: Sequence[PublishedRow],
    options: Options,
) -> str:
    found: list[dict[str, object]] = []
    for name in table.sets:
        found += [_printed_fields(row) for row in printed if row.set == name]
        found += [
            _measured_fields(cell) | {"seed": options.seed}
            for cell in cells
            if cell.set == name
        ]
    rows = (fields | {"table": table.name} for fields in found)
    return csv_table(_CSV, [[row.get(name) for name in _CSV] for row in rows])


def _measured_fields(cell: Cell) -> dict[str, object]:
    summary, gap, against = cell.summary, cell.summary.gap, cell.against
    return {
        "set": cell.set,
        "label": cell.label,
        "source": "measured",
        "kind": cell.line.kind,
        "method": summary.method,
        "objective": summary.objective,
        "time_limit": summary.time_limit,
        "instances": summary.runs,
        "no_plan": summary.runs - summary.served,
        "share_within": summary.share_within,
        "excess_vehicles": summary.excess,
        "vehicles": summary.vehicles and summary.vehicles.value,
        "cost": summary.length and summary.length.value,
        "cost_half": summary.length and summary.length.half,
        "cost_v": summary.cost_v and summary.cost_v.value,
        "cost_v_half": summary.cost_v and summary.cost_v.half,
        "cost_v_floor": summary.cost_v_floor,
        "gap_percent": gap and gap.value,
        "gap_half": gap and gap.half,
        "gap_of": "cost_v" if summary.objective == "cost-v" else "cost",
        "gap_instances": gap and gap.count,
        "control_percent": against and against.value,
        "control_half": against and against.half,
        "control_instances": against and against.count,
        "seconds": summary.seconds.value,
        "overrun": summary.overrun,
        "machine": "; ".join(summary.machines),
    }


def _printed_fields(row: PublishedRow) -> dict[str, object]:
    return {
        "set": row.set,
        "label": row.method,
        "source": "published",
        "kind": "paper" if row.ours else "peer",
        "cost": row.cost,
        "cost_v": row.cost_v,
        "cost_v_floor": row.floor,
        "no_plan": row.unsolved,
        "share_within": row.solved,
        "seconds": row.seconds,
        "total_seconds": row.total,
    }


def _explain_figures(
    table: Table, cells: Sequence[Cell], printed: Sequence[PublishedRow]
) -> str:
    text = (
        "Cost: mean length. Cost_v: mean length plus the cost of each vehicle used. "
        "Both are over the plans that serve all customers within capacity. Floor: the "
        "same mean length with ⌈Σq/Q⌉ vehicles per instance; no plan has fewer. Gap: "
        "percentage of the plans within the fleet above reference plans of the same "
        "instances, mean and half of the 95 % interval, with the number of plans if it "
        "is not that of the instances. The reference is near-optimal, not optimal. "
        "Above the control: percentage above packing + search, the same search without "
        "the network, in the same time and for the same objective; mean of the pairs "
        "over the instances that both solve. Bold: ours with all its parts."
    )
    if source := published(table.name):
        text += f" Italics: published, {source.source}, on "
        text += f"{source.instances.removesuffix('.')}."
    counts = {(cell.set, cell.summary.runs) for cell in cells}
    if len(counts) > len({name for name, _ in counts}):
        text += (
            " Lines with fewer instances use the first ones of the set: compare their "
            "gaps, not their Costs, with those of other lines."
        )
    if any(cell.summary.served < cell.summary.runs for cell in cells):
        text += (
            " If a line has instances without a plan, its means are over the other "
            "instances, which are easier."
        )
    if any("in batches" in cell.label for cell in cells):
        text += (
            " In batches: many instances at once, with their time shared equally. It "
            "is not the time that a single instance would take."
        )
    if any(row.impossible for row in printed):
        text += (
            " † lies below the floor of the whole rejection-sampled test set: if the "
            "means are over all instances, no plans of that length have so low a "
            "Cost_v."
        )
    return text


# The layout "limits": gaps, with one column per time limit.


def _limits_part(
    _table: Table, cells: Sequence[Cell], _printed: Sequence[PublishedRow]
) -> str:
    limits = sorted({cell.summary.time_limit or 0.0 for cell in cells} - {0.0})
    body = []
    for label, of_line in _by_label(cells).items():
        by_limit = {cell.summary.time_limit: cell for cell in of_line}
        shown = [by_limit.get(limit, by_limit.get(None)) for limit in limits]
        body.append([label, *(_timed_gap(cell) for cell in shown)])
        peer = of_line[0].line.kind == "peer"
        if not peer and any(cell.against for cell in of_line):
            above = [show_mean(cell.against if cell else None, 3) for cell in shown]
            body.append([f"{label}, above the control", *above])
    return markdown_table(["method", *(f"{1e3 * x:g} ms" for x in limits)], body)


def _timed_gap(cell: Cell | None) -> str:
    if cell is None:
        return NOTHING
    summary = cell.summary
    if not summary.within:
        return "none solved"
    said = f"{show_mean(summary.gap, 3)} ({summary.seconds.value:.3f} s"
    if summary.within < summary.runs:
        said += f", {100 * summary.share_within:.1f} % solved"
    return f"{said})"


def _explain_limits(
    _table: Table, _cells: Sequence[Cell], _printed: Sequence[PublishedRow]
) -> str:
    return (
        "Percentage above reference plans of the same instances by time limit: mean "
        "and half of the 95 % interval, and in brackets the mean wall time and, if it "
        "is not all, the share of instances solved within the fleet. Above the "
        "control: percentage above packing + search in the same time, mean of the "
        "pairs."
    )


# The layout "vehicles": how many vehicles the plans use.


def common_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Restrict lines to the instances for which all of them have plans."""
    planned = [{row.instance for row in cell.rows if row.served} for cell in cells]
    common = set.intersection(*planned) if planned else set()
    if not common:
        return []
    return [
        replace(cell, rows=tuple(row for row in cell.rows if row.instance in common))
        for cell in cells
    ]


def count_vehicles(cells: Sequence[Cell]) -> dict[str, Counter[int]]:
    """Count plans by the number of vehicles: first the floor, then each line."""
    floors = {row.instance: row.floor for cell in cells for row in cell.rows}
    counts = {"floor ⌈Σq/Q⌉": Counter(floors.values())}
    for cell in cells:
        used = (row.vehicles for row in cell.rows if row.vehicles is not None)
        counts[cell.label] = Counter(used)
    return counts


def _vehicles_part(
    _table: Table, cells: Sequence[Cell], _printed: Sequence[PublishedRow]
) -> str:
    common = common_cells(cells)
    if not common:
        return "No instance has plans of all lines.\n"
    counts, fleet = count_vehicles(common), common[0].rows[0].fleet
    marks = {cell.label: _mark(cell) for cell in common}
    sizes = sorted({size for of_line in counts.values() for size in of_line})
    body = []
    for label, of_line in counts.items():
        total = max(1, of_line.total())
        beyond = sum(count for size, count in of_line.items() if size > fleet)
        shares = [*(of_line[size] for size in sizes), beyond]
        mean = sum(size * count for size, count in of_line.items()) / total
        body.append(
            [
                label + marks.get(label, ""),
                *(f"{100 * share / total:.1f} %" for share in shares),
                f"{mean:.3f}",
                f"{of_line.total():,}",
            ]
        )
    headings = ["method", *map(str, sizes), f"above {fleet}", "mean", "plans"]
    return markdown_table(headings, body)


def _vehicles_csv(
    table: Table,
    cells: Sequence[Cell],
    _printed: Sequence[PublishedRow],
    _options: Options,
) -> str:
    rows = []
    for name in table.sets:
        common = common_cells([cell for cell in cells if cell.set == name])
        methods = {cell.label: cell.rows[0].method for cell in common}
        for label, counts in count_vehicles(common).items():
            for size, count in sorted(counts.items()):
                method = methods.get(label, "")
                rows.append((table.name, name, label, method, size, count))
    headings = ("table", "set", "label", "method", "vehicles", "instances")
    return csv_table(headings, rows)


def _explain_vehicles(
    _table: Table, _cells: Sequence[Cell], _printed: Sequence[PublishedRow]
) -> str:
    return (
        "Share of the plans by the number of vehicles they use, over the instances for "
        "which all lines have plans. The floor is the number of vehicles that the "
        "demands need, ⌈Σq/Q⌉; no plan uses fewer."
    )


_LAYOUTS: dict[
    str,
    tuple[
        Callable[[Table, Sequence[Cell], Sequence[PublishedRow]], str],
        Callable[[Table, Sequence[Cell], Sequence[PublishedRow], Options], str],
        Callable[[Table, Sequence[Cell], Sequence[PublishedRow]], str],
    ],
] = {
    "figures": (_figures_part, _figures_csv, _explain_figures),
    "limits": (_limits_part, _figures_csv, _explain_limits),
    "vehicles": (_vehicles_part, _vehicles_csv, _explain_vehicles),
}


# What all layouts say.


def _elsewhere(cells: Sequence[Cell]) -> str:
    """Name the lines of a set that were run elsewhere; empty if there are none."""
    marked: dict[str, list[str]] = {}
    for cell in cells:
        if cell.elsewhere:
            machines = "; ".join(cell.summary.machines)
            marked.setdefault(machines, []).append(cell.label)
    if not marked:
        return ""
    said = (
        f"{'; '.join(dict.fromkeys(labels))} (on {machines})"
        for machines, labels in marked.items()
    )
    return (
        f"‡ Not on {cells[-1].machine}, as the other lines of this set, so do not "
        f"compare their times, nor what was found in them: {'. '.join(said)}."
    )


def _late(cells: Sequence[Cell]) -> str:
    """Name the lines that often took longer than their limit; empty if none."""
    late: dict[str, list[str]] = {}
    for cell in cells:
        overrun = cell.summary.overrun or 0.0
        if overrun > _LATE:
            late.setdefault(cell.label, []).append(f"{100 * overrun:.0f} %")
    if not late:
        return ""
    said = "; ".join(f"{label} ({', '.join(of)})" for label, of in late.items())
    return f"Share of runs that took more than 1.1 times their limit: {said}."


def _origin(name: str, cells: Sequence[Cell], options: Options) -> str:
    """Say on what machine, with what and how the rows were made."""
    machines = sorted({row.machine for cell in cells for row in cell.rows})
    rows = [row for cell in cells for row in cell.rows]
    versions = recorded(options, rows) or ["not recorded"]
    return (
        f"Measured on {'; '.join(machines)}, seed {options.seed}. "
        f"Versions: {'; or '.join(versions)}.\n\n"
        f"    {command(name, options)}\n"
    )


def _by_label(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    lines: dict[str, list[Cell]] = {}
    for cell in cells:
        lines.setdefault(_label(cell), []).append(cell)
    return lines


def _label(cell: Cell) -> str:
    ours = cell.line.kind == "ours"
    return (f"**{cell.label}**" if ours else cell.label) + _mark(cell)


def _mark(cell: Cell) -> str:
    return " ‡" if cell.elsewhere else ""


def _length(value: float) -> str:
    return f"{value:.1f}" if value >= 1e3 else f"{value:.4f}"


def _cost_v(value: float) -> str:
    return f"{value:,.0f}" if value >= 1e4 else f"{value:.2f}"


def _gap(summary: Summary) -> str:
    text = show_mean(summary.gap, 3)
    if summary.gap is not None and summary.gap.count != summary.runs:
        text += f" ({summary.gap.count:,} plans)"
    in_cost_v = summary.gap is not None and summary.objective == "cost-v"
    return f"{text} (of Cost_v)" if in_cost_v else text


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 else f"{value:.2g}"
