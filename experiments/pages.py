"""Cells of a table as a page of Markdown and as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Any

from experiments.definitions import title_of
from experiments.published import published
from experiments.trainings import read_curve, read_json_lines
from experiments.versions import command, recorded
from fixedfleet.evaluate.tables import NOTHING, csv_table, markdown_table, show_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.cells import Cell
    from experiments.definitions import Options, Table
    from experiments.published import PublishedRow
    from experiments.trainings import Training
    from fixedfleet.evaluate.metrics import Mean

__all__ = ["count_vehicles", "render_page", "show_time", "trainings_part"]

_LATE = 0.05  # if a larger share of runs exceeds its limit, the page says so
_CSV = (
    "table", "set", "source", "kind", "label", "method", "objective", "time_limit",
    "seed", "instances", "trainings", "no_plan", "share_within", "excess_vehicles",
    "vehicles", "vehicles_used", "cost", "cost_half", "cost_half_trainings", "cost_v",
    "cost_v_half", "cost_v_floor", "gap_percent", "gap_half", "gap_of", "gap_instances",
    "control_percent", "control_half", "control_instances", "seconds", "total_seconds",
    "overrun", "machine", "network", "decoding", "repair", "search", "left_early",
    "left_full",
)  # fmt: skip
_PARTS = ("network", "decoding", "repair", "search")
_LEFT = ("left_early", "left_full")

Fields = dict[str, Any]
Column = Callable[[Fields, float], str]


def render_page(
    table: Table,
    cells: Sequence[Cell],
    printed: Sequence[PublishedRow],
    notes: Sequence[str],
    options: Options,
    references: Mapping[str, float] | None = None,
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
        What the paper prints.
    notes
        What to say below, after the table's own notes.
    options
        What was asked for.
    references
        By set, the mean length of the reference plans of all its instances, if it is
        known: published lengths get a gap to it.
    """
    parts, numbers = [f"# {table.title}\n"], []
    for name in table.sets:
        of_set = [cell for cell in cells if cell.set == name]
        mean = (references or {}).get(name)
        found = [_printed_fields(row, mean) for row in printed if row.set == name]
        found += [_measured_fields(cell) | {"seed": options.seed} for cell in of_set]
        if not found:
            continue
        numbers += [fields | {"table": table.name} for fields in found]
        unit = table.unit.get(name, 1.0)
        shown = _main_part(table, found, unit)
        if table.picture == "gaps":
            shown = _gaps_by_limit([cell for cell in cells if cell.set == name])
        parts.append(f"## {title_of(name)}\n\n{shown}")
        late = "" if table.picture == "gaps" else _late(of_set)  # its cells say so
        remarks = (_parts_part(found), _elsewhere(of_set), late)
        parts += [f"{remark}\n" for remark in remarks if remark]
    parts.append(_explanation(table, cells, printed) + "\n")
    if below := [*table.notes, *notes]:
        parts.append("\n".join(f"- {note}" for note in below) + "\n")
    parts.append(_origin(table, cells, options))
    rows = [[row.get(name) for name in _CSV] for row in numbers]
    return "\n".join(parts), csv_table(_CSV, rows)


def _gaps_by_limit(cells: Sequence[Cell]) -> str:
    """Return a set's gaps in %, one line per method and one column per time limit."""
    limits = sorted({cell.summary.time_limit or 0.0 for cell in cells})
    gaps: dict[str, dict[float, str]] = {}
    for cell in cells:
        shown = show_mean(cell.summary.gap, 2)
        if cell.summary.share_within < 1:
            shown += f", {100 * cell.summary.share_within:.1f} % solved"
        limit, seconds = cell.summary.time_limit or 0.0, cell.summary.seconds.value
        if seconds > 1.1 * limit:
            shown += f" ({_short_time(seconds)})"
        line = gaps.setdefault(_label(_measured_fields(cell), 1.0), {})
        line[limit] = shown
    headings = [_short_time(limit) if limit else "no limit" for limit in limits]
    body = [
        [label, *(line.get(limit, NOTHING) for limit in limits)]
        for label, line in gaps.items()
    ]
    return markdown_table(["time limit", *headings], body)


def trainings_part(table: Table, options: Options) -> str:
    """Return how a table's trainings ended, beside what the paper says."""
    body = []
    lines = read_json_lines(options.work / "trainings" / "violation.jsonl")
    tested = {
        line["network"]: f"{line['violation']:.4f} ({line['instances']:,} instances)"
        for line in lines
    }
    for training, label in table.trainings.items():
        curve = read_curve(training, options.work)
        if curve is not None:
            ends = (curve.loss, curve.validation, curve.violation)
            body.append(
                [
                    f"{training.preset}, {label}{_seed(training)}",
                    f"{curve.loss[-1][0]:.3g}",
                    show_time(curve.seconds),
                    *(f"{end[-1][1]:.4f}" if end else NOTHING for end in ends),
                    tested.get(training.name, NOTHING),
                ]
            )
    if not body:
        return ""
    source = published(table.name)
    for row in source.rows if source else ():
        if row.violation is not None:
            dashes = [NOTHING] * 5
            body.append([f"*{row.method}*", *dashes, f"{row.violation:.3f}"])
    headings = ("training", "epochs", "time", "loss", "held out")
    shown = markdown_table((*headings, "violation held out", "violation"), body)
    return (
        f"\n## How the trainings ended\n\n{shown}\n"
        "Held out: the loss on labels that were not trained on, when it was last "
        "measured. Violation: the load of the pseudo-greedy plan above the capacity, "
        "mean over the vehicles, as a share of the capacity; in the last column on the "
        "test set, at the end. Time: spent in training steps; longer where trainings "
        "share a GPU.\n"
    )


def _seed(training: Training) -> str:
    return "" if training.seed is None else f", seed {training.seed}"


def show_time(seconds: float | None) -> str:
    """Write a time in the unit that suits it."""
    if seconds is None:
        return NOTHING
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _short_time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def count_vehicles(cell: Cell) -> Counter[int]:
    """Count the plans of a cell by the number of vehicles that they use."""
    return Counter(row.vehicles for row in cell.rows if row.vehicles is not None)


def _measured_fields(cell: Cell) -> Fields:
    summary, against, spread = cell.summary, cell.against, cell.spread
    trainings = 1 if spread is None else spread.count
    length = spread or summary.length  # with several trainings, the mean of their means
    details = [row.details for row in cell.rows if row.details]
    parts = {
        name: fmean(known)
        for name in (*_PARTS, *_LEFT)
        if (known := [one[name] for one in details if name in one])
    }
    return parts | {
        "set": cell.set,
        "label": cell.label,
        "source": "measured",
        "kind": cell.line.kind,
        "mark": " ‡" if cell.elsewhere else "",
        "method": summary.method,
        "objective": summary.objective,
        "time_limit": summary.time_limit,
        "instances": summary.runs // trainings,
        "trainings": trainings if spread else None,
        "no_plan": round((summary.runs - summary.served) / trainings),
        "share_within": summary.share_within,
        "excess_vehicles": summary.excess,
        "vehicles": summary.vehicles and summary.vehicles.value,
        "vehicles_used": " ".join(
            f"{size}:{count}" for size, count in sorted(count_vehicles(cell).items())
        ),
        "cost": length and length.value,
        "cost_half": summary.length and summary.length.half,
        "cost_half_trainings": spread and spread.half,
        "cost_v": summary.cost_v and summary.cost_v.value,
        "cost_v_half": summary.cost_v and summary.cost_v.half,
        "cost_v_floor": summary.cost_v_floor,
        **_mean_fields("gap", summary.gap),
        "gap_of": "cost" if cell.gap_of == "length" else "cost_v",
        **_mean_fields("control", against),
        "seconds": summary.seconds.value,
        "overrun": summary.overrun,
        "machine": "; ".join(summary.machines),
    }


def _mean_fields(name: str, mean: Mean | None) -> Fields:
    if mean is None:
        return {}
    return {
        f"{name}_percent": mean.value,
        f"{name}_half": mean.half,
        f"{name}_instances": mean.count,
    }


def _printed_fields(row: PublishedRow, reference: float | None) -> Fields:
    gap = None
    if reference is not None and row.cost is not None:
        gap = 100 * (row.cost / reference - 1)
    return {
        "set": row.set,
        "label": row.method,
        "source": "published",
        "kind": "paper" if row.ours else "peer",
        "cost": row.cost,
        "cost_v": row.cost_v,
        "vehicles": row.vehicles,
        "mark_cost_v": " †" if row.impossible else "",
        "cost_v_floor": row.floor,
        "no_plan": row.unsolved,
        "share_within": row.solved,
        "gap_percent": gap,
        "seconds": row.seconds,
        "total_seconds": row.total,
    }


# The columns of a page. Each function gets the fields of a line and the set's unit.


def _label(line: Fields, _unit: float) -> str:
    if line["source"] == "published":
        return f"*{line['label']}*"
    label = f"**{line['label']}**" if line["kind"] == "ours" else line["label"]
    return f"{label}{line['mark']}"


def _cost(line: Fields, unit: float) -> str:
    value = line["cost"]
    if value is None:
        return NOTHING
    if line["source"] == "published":  # in two decimals, in logs in three
        digits = 0 if value >= 1e3 else 2 if round(value, 2) == value else 3
        return f"{value:.{digits}f}"
    text = f"{value / unit:.1f}" if value / unit >= 1e3 else f"{value / unit:.4f}"
    if line.get("cost_half_trainings") is not None:
        half = line["cost_half_trainings"] / unit
        text += f" ± {half:.4f} over {line['trainings']} trainings"
    return text


def _cost_v(line: Fields, unit: float) -> str:
    value = line["cost_v"]
    if value is not None and line["source"] == "published":
        return f"{value:.1f}{line['mark_cost_v']}"
    return _priced(value, unit)


def _floor(line: Fields, unit: float) -> str:
    return _priced(line["cost_v_floor"], unit if line["source"] == "measured" else 1.0)


def _priced(value: float | None, unit: float) -> str:
    if value is None:
        return NOTHING
    value = value / unit
    return f"{value:,.0f}" if value >= 1e4 else f"{value:.2f}"


def _within(line: Fields, _unit: float) -> str:
    share = line["share_within"]
    if share is None:
        return NOTHING
    digits = "3g" if line["source"] == "published" else "1f"
    return f"{100 * share:.{digits}} %"


def _gap(line: Fields, _unit: float) -> str:
    text = _percent(line, "gap")
    if text == NOTHING or line["source"] == "published":
        return text
    if line["gap_instances"] != line["instances"]:
        text += f" ({line['gap_instances']:,} plans)"
    return f"{text} (of Cost_v)" if line["gap_of"] == "cost_v" else text


def _percent(line: Fields, name: str) -> str:
    value, half = line.get(f"{name}_percent"), line.get(f"{name}_half")
    if value is None:
        return NOTHING
    digits = 1 if line["source"] == "published" else 3
    text = f"{round(value, digits) + 0.0:.{digits}f}"  # no minus zero
    return text if half is None else f"{text} ± {half:.{digits}f}"


def _time(line: Fields, _unit: float) -> str:
    if line.get("total_seconds") is not None:
        return f"{show_time(line['total_seconds'])} in total"
    value = line["seconds"]
    if value is None:
        return NOTHING
    if line["source"] == "published":
        return f"{value:g}"
    return f"{value:.3f}" if value >= 0.01 else f"{value:.2g}"


def _used(line: Fields, _unit: float) -> str:
    if not line.get("vehicles_used"):
        return NOTHING
    counts = [part.split(":") for part in line["vehicles_used"].split()]
    total = sum(int(count) for _, count in counts)
    return ", ".join(f"{size}: {100 * int(n) / total:.1f} %" for size, n in counts)


def _shown(
    name: str, say: Callable[[Any], str] = str
) -> Callable[[Fields, float], str]:
    """Return the column of a field as it is."""

    def column(line: Fields, _unit: float) -> str:
        return NOTHING if line.get(name) is None else say(line[name])

    return column


_COLUMNS: dict[str, Column] = {
    "method": _label,
    "Cost": _cost,
    "Cost_v": _cost_v,
    "floor of Cost_v": _floor,
    "vehicles": _shown("vehicles", "{:.3f}".format),
    "vehicles used": _used,
    "within the fleet": _within,
    "no plan": _shown("no_plan"),
    "gap, %": _gap,
    "above the control, %": lambda line, _unit: _percent(line, "control"),
    "seconds per instance": _time,
    "instances": _shown("instances", "{:,}".format),
}


def _main_part(table: Table, lines: Sequence[Fields], unit: float) -> str:
    columns = dict(_COLUMNS)
    if not table.vehicles:
        del columns["vehicles"]
    if table.picture != "vehicles":
        del columns["vehicles used"]
    body = []
    for line in lines:
        row = [show(line, unit) for show in columns.values()]
        if line["source"] == "published":
            row[-1] = "published"
        body.append(row)
    return markdown_table(list(columns), body)


def _parts_part(lines: Sequence[Fields]) -> str:
    """Return the time of each part, and what the decoder left out, if it is known."""
    # Lines of the same plans, with and without those beyond the fleet, are shown once.
    by_method = {
        (line["method"], line["objective"]): line for line in lines if "network" in line
    }
    body = [
        [
            _label(line, 1.0),
            *(_shown(name, lambda s: f"{1e3 * s:.3g}")(line, 1.0) for name in _PARTS),
            *(_shown(name, "{:.3f}".format)(line, 1.0) for name in _LEFT),
        ]
        for line in by_method.values()
    ]
    if not body:
        return ""
    headings = ("part, ms per instance", *_PARTS, "left, early return", "left, no room")
    return markdown_table(headings, body)


def _explanation(
    table: Table, cells: Sequence[Cell], printed: Sequence[PublishedRow]
) -> str:
    if table.picture == "gaps":
        sizes = sorted({cell.summary.runs for cell in cells})
        return (
            "Percentage of the plans within the fleet above reference plans of the "
            "same instances, which are near-optimal, not optimal: mean and half of the "
            "95 % interval. In brackets: the mean time, if it is more than 1.1 times "
            "the limit. Solved: the share of the instances with a plan within the "
            "fleet, if not all. Each figure is over the first "
            f"{' or '.join(f'{size:,}' for size in sizes)} instances of the set. "
            f"{table.name}.csv has all figures. Bold: ours."
        )
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
        text += (
            f"{source.instances.removesuffix('.')}; a gap of a published Cost is to "
        )
        text += "the mean length of the reference plans of the whole set."
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
    if any(row.details for cell in cells for row in cell.rows):
        text += (
            " Left: customers per instance that the decoder leaves out before any "
            "repair, because every vehicle with room for them had returned to the "
            "depot, or because no vehicle has room."
        )
    if any(cell.spread for cell in cells):
        text += (
            " Over several trainings: the mean of the networks, ± half of the 95 % "
            "interval over them."
        )
    if any(row.impossible for row in printed):
        text += (
            " † lies below the floor of the whole rejection-sampled test set: if the "
            "means are over all instances, no plans of that length have so low a "
            "Cost_v."
        )
    return text


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


def _origin(table: Table, cells: Sequence[Cell], options: Options) -> str:
    """Say on what machine, with what and how the rows were made."""
    machines = sorted({row.machine for cell in cells for row in cell.rows})
    rows = [row for cell in cells for row in cell.rows]
    on_gpu = any("device=cuda" in row.method for row in rows)
    return (
        f"Measured on {'; '.join(machines)}, seed {options.seed}. "
        f"Versions: {recorded(rows)}.\n\n"
        f"    {command(table, options, on_gpu)}\n"
    )
