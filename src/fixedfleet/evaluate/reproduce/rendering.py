"""Cells as Markdown for readers and as CSV for programs."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING

from fixedfleet.evaluate.published import published
from fixedfleet.evaluate.reproduce.definitions import title_of
from fixedfleet.evaluate.reproduce.provenance import command, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fixedfleet.evaluate.metrics import Mean, Summary
    from fixedfleet.evaluate.reproduce.cells import Cell
    from fixedfleet.evaluate.reproduce.definitions import Options, Table

__all__ = [
    "mark",
    "markdown_grid",
    "render_csv",
    "render_markdown",
    "render_mixed",
    "render_origin",
    "show_time",
]

_HEADINGS = (
    "method",
    "Cost",
    "Cost_v",
    "floor of Cost_v",
    "within the fleet",
    "no plan",
    "gap, %",
    "above the control, %",
    "s an instance",
    "instances",
)
_CSV = (
    "table",
    "set",
    "source",
    "kind",
    "label",
    "method",
    "time_limit",
    "seed",
    "instances",
    "no_plan",
    "share_within",
    "excess_vehicles",
    "vehicles",
    "cost",
    "cost_half",
    "cost_v",
    "cost_v_half",
    "cost_v_floor",
    "gap_percent",
    "gap_half",
    "gap_of",
    "gap_instances",
    "control_percent",
    "control_half",
    "control_instances",
    "seconds",
    "total_seconds",
    "overrun",
    "machine",
)

_LATE = 0.05  # share of runs beyond their limit that is worth a word


def render_markdown(
    table: Table, cells: Sequence[Cell], notes: Sequence[str], options: Options
) -> str:
    """Return a table as a page of Markdown, one part for each set."""
    parts = [f"# {table.title}\n"]
    for name in table.sets:
        of_set = [cell for cell in cells if cell.set == name]
        unit = table.unit.get(name, 1.0)
        body = [_markdown_row(cell, unit) for cell in of_set]
        parts.append(f"## {title_of(name)}\n\n{markdown_grid(_HEADINGS, body)}")
        remarks = (render_mixed(of_set), _late(of_set))
        parts += [f"{remark}\n" for remark in remarks if remark]
    parts.append(_explanation(table, cells))
    if said := [*table.notes, *notes]:
        parts.append("\n".join(f"- {note}" for note in said) + "\n")
    parts.append(render_origin(table.name, cells, options))
    return "\n".join(parts)


def render_mixed(cells: Sequence[Cell]) -> str:
    """Say which lines of a set have rows from other machines than most; "" if none."""
    marked: dict[str, list[str]] = {}
    for cell in cells:
        if cell.elsewhere:
            counts = sorted(Counter(row.machine for row in cell.rows).items())
            shares = ", ".join(f"{count:,} on {machine}" for machine, count in counts)
            marked.setdefault(shares, []).append(cell.label)
    if not marked:
        return ""
    machine = next(cell.machine for cell in cells if cell.elsewhere)
    said = (f"{'; '.join(labels)} ({shares})" for shares, labels in marked.items())
    return (
        f"‡ Not, or not all, on {machine}, as most runs of this set are, so times and "
        "what was found in them are not to be compared with those of other lines: "
        f"{'. '.join(said)}."
    )


def mark(cell: Cell) -> str:
    """Return what stands behind the label of a line with rows from elsewhere."""
    return " ‡" if cell.elsewhere else ""


def render_origin(name: str, cells: Sequence[Cell], options: Options) -> str:
    """Say on what machine, with what and how the rows were made."""
    machines = sorted(
        {machine for cell in cells if cell.summary for machine in cell.summary.machines}
    )
    rows = [row for cell in cells for row in cell.rows]
    versions = recorded(options, rows) or ["not recorded"]
    return (
        f"Measured on {'; '.join(machines) or 'nothing yet'}, seed {options.seed}. "
        f"Versions: {'; or '.join(versions)}.\n\n"
        f"    {command(name, options)}\n"
    )


def render_csv(table: Table, cells: Iterable[Cell], options: Options) -> str:
    """Return a table's raw numbers, a line for each method on each set."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV, lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        fields = _printed_fields(cell) if cell.printed else _measured_fields(cell)
        writer.writerow(
            {"table": table.name, "set": cell.set, "label": cell.label, **fields}
            | ({} if cell.printed else {"seed": options.seed})
        )
    return text.getvalue()


def markdown_grid(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table: words to the left, numbers to the right."""
    lines = [
        f"| {' | '.join(headings)} |",
        f"| --- |{' ---: |' * (len(headings) - 1)}",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def show_time(seconds: float | None) -> str:
    """Write a time in the unit that suits it."""
    if seconds is None:
        return "–"
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _markdown_row(cell: Cell, unit: float) -> list[str]:
    if cell.printed is not None:
        return _printed_row(cell)
    summary, line = cell.summary, cell.line
    if summary is None or line is None:
        raise ValueError(f"{cell.label} is neither measured nor published")
    label = f"**{cell.label}**" if line.kind == "ours" else cell.label
    floor = summary.cost_v_floor
    return [
        label + mark(cell),
        _length(summary.length, unit),
        _cost_v(summary.cost_v.value / unit) if summary.cost_v else "–",
        "–" if floor is None else _cost_v(floor / unit),
        f"{100 * summary.share_within:.1f} %",
        str(summary.runs - summary.served),
        _gap(summary),
        _spread(cell.against),
        _seconds(summary.seconds.value),
        f"{summary.runs:,}",
    ]


def _printed_row(cell: Cell) -> list[str]:
    row = cell.printed
    if row is None:
        raise ValueError(f"{cell.label} is not published")
    mark = " †" if cell.impossible else ""
    time = "–" if row.seconds is None else f"{row.seconds:g}"
    if row.total is not None:
        time = f"{show_time(row.total)} in all"
    return [
        f"*{row.method}*",
        "–" if row.cost is None else f"{row.cost:.{2 if row.cost < 1e3 else 0}f}",
        "–" if row.cost_v is None else f"{row.cost_v:.1f}{mark}",
        "–" if cell.floor is None else _cost_v(cell.floor),
        "–" if row.solved is None else f"{100 * row.solved:.3g} %",
        "–" if row.unsolved is None else str(row.unsolved),
        "–",
        "–",
        time,
        "published",
    ]


def _late(cells: Sequence[Cell]) -> str:
    """Say which lines often took longer than their limit; "" if none."""
    shares = [(c.label, c.summary.overrun or 0.0) for c in cells if c.summary]
    late = [
        f"{label} ({100 * share:.0f} %)" for label, share in shares if share > _LATE
    ]
    if not late:
        return ""
    return f"More than 1.1 times the limit, in so many runs: {'; '.join(late)}."


def _explanation(table: Table, cells: Sequence[Cell]) -> str:
    text = (
        "Cost: mean length; Cost_v: with the cost of each vehicle used; both over the "
        "plans that serve everybody within capacity. Floor: the same mean length with "
        "⌈Σq/Q⌉ vehicles for each instance, fewer than which no plan has. Gap: of the "
        "plans within the fleet to reference plans of the same instances, mean and "
        "half of the 95 % interval, with their number where it is not that of the "
        "instances; the reference is near-optimal, not optimal. Above the control: "
        "longer than what packing + search, the same search without the network, finds "
        "in the same time, mean of the differences on the instances that both solve. "
        "Bold: ours with all its parts."
    )
    if table.published is not None:
        source = published(table.published)
        text += f" Italics: published, {source.source}, on "
        text += f"{source.instances.removesuffix('.')}."
    counts = {(cell.set, cell.summary.runs) for cell in cells if cell.summary}
    if len(counts) > len({name for name, _ in counts}):
        text += (
            " Lines with fewer instances took the first of them: compare their gaps, "
            "not their Costs, with the others'."
        )
    measured = [cell.summary for cell in cells if cell.summary]
    if any(summary.served < summary.runs for summary in measured):
        text += (
            " Where a line has instances without a plan, its means are over the "
            "others, which are easier."
        )
    if any("in batches" in cell.label and cell.summary for cell in cells):
        text += (
            " In batches: many instances at once, their time shared equally, which is "
            "not the time that one alone would take."
        )
    if any(cell.impossible for cell in cells):
        text += (
            " † lies below the floor of the whole rejection-sampled test set: if the "
            "means are over all instances, no plans of that length have so low a "
            "Cost_v."
        )
    return text + "\n"


def _length(mean: Mean | None, unit: float) -> str:
    if mean is None:
        return "–"
    value = mean.value / unit
    return f"{value:.1f}" if value >= 1e3 else f"{value:.4f}"


def _cost_v(value: float) -> str:
    return f"{value:,.0f}" if value >= 1e4 else f"{value:.2f}"


def _gap(summary: Summary) -> str:
    mean = summary.gap
    if mean is None:
        return "–"
    text = _spread(mean)
    if mean.count != summary.runs:
        text += f" ({mean.count:,} plans)"
    return f"{text} (of Cost_v)" if summary.objective == "cost-v" else text


def _spread(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    value = f"{mean.value:.3f}".replace("-0.000", "0.000")
    return value if mean.half is None else f"{value} ± {mean.half:.3f}"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 else f"{value:.2g}"


def _measured_fields(cell: Cell) -> dict[str, object]:
    summary, line = cell.summary, cell.line
    if summary is None or line is None:
        raise ValueError(f"{cell.label} is neither measured nor published")
    gap = summary.gap
    return {
        "source": "measured",
        "kind": line.kind,
        "method": summary.method,
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
        "control_percent": cell.against and cell.against.value,
        "control_half": cell.against and cell.against.half,
        "control_instances": cell.against and cell.against.count,
        "seconds": summary.seconds.value,
        "overrun": summary.overrun,
        "machine": "; ".join(summary.machines),
    }


def _printed_fields(cell: Cell) -> dict[str, object]:
    row = cell.printed
    if row is None:
        raise ValueError(f"{cell.label} is not published")
    return {
        "source": "published",
        "kind": "paper" if row.ours else "peer",
        "cost": row.cost,
        "cost_v": row.cost_v,
        "cost_v_floor": cell.floor,
        "no_plan": row.unsolved,
        "share_within": row.solved,
        "seconds": row.seconds,
        "total_seconds": row.total,
    }
