"""Turn the cells of a table into a Markdown page and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.definitions import Options
from experiments.published import published
from fixedfleet.evaluate.tables import NOTHING, markdown_table, show_mean, to_csv
from fixedfleet.version import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from experiments.cells import Cell
    from experiments.definitions import Table
    from experiments.published import PublishedRow
    from fixedfleet.evaluate import Row, Summary
    from fixedfleet.evaluate.metrics import Mean

__all__ = ["render_page"]

# Entries of `Row.made` that are not versions.
_NOT_VERSIONS = {"network", "network_file", "program", "source", "spec"}
# Commits in rows that are not in the history: their work was rebased into 894a8a6.
_REBASED = {"030d5cc", "34640a8", "5ce072c"}
_NOT_RECORDED = "not recorded"  # also the machine of a file of rows without one


def render_page(
    table: Table, cells: Sequence[Cell], notes: Sequence[str], options: Options
) -> tuple[str, str]:
    """
    Return a table as a Markdown page, and its numbers as CSV.

    Parameters
    ----------
    table
        The table.
    cells
        The measured cells of the table.
    notes
        Sentences to print below the table, after the table's own notes.
    options
        The options of the command.
    """
    parts = [f"# {table.title}\n"]
    timed = table.layout == "limits"
    render = _by_limit if timed else _by_size
    mixed = timed and len({row.machine for cell in cells for row in cell.rows}) > 1
    for heading, sets in table.parts.items():
        of_part = [cell for cell in cells if cell.set in sets]
        if of_part:
            parts.append(f"## {heading}\n\n{render(table, sets, of_part)}")
            parts.append(_counts(sets, of_part, with_machines=mixed) + "\n")
    parts.append(_explanation(table) + "\n")
    if below := [*table.notes, *notes]:
        parts.append("\n".join(f"- {note}" for note in below) + "\n")
    parts.append(_origin(table, cells, options))
    numbers = to_csv([cell.summary for cell in cells], [cell.label for cell in cells])
    return "\n".join(parts), numbers


def _by_size(table: Table, sets: Sequence[str], cells: Sequence[Cell]) -> str:
    """
    Return a part of a table in the paper's layout: a line per method, columns per set.

    The paper's own numbers come first, in italics.
    """
    source = published(table.name)
    printed: dict[str, dict[str, PublishedRow]] = {}
    for row in source.rows if source else ():
        printed.setdefault(row.method, {})[row.set] = row
    measured: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        measured.setdefault(cell.label, {})[cell.set] = cell
    body = []
    for label, rows in printed.items():
        if rows.keys() & set(sets):
            found = [rows.get(name) for name in sets]
            body.append([f"*{label}*"] + [
                NOTHING if row is None else _PRINTED[column](row)
                for row in found
                for column in table.columns
            ])  # fmt: skip
    for label, line in measured.items():
        shown = [label + _fewer(line, cells)]
        for name in sets:
            unit = table.unit.get(name, 1.0)
            shown += [
                _MEASURED[column](line[name].summary, unit) if name in line else NOTHING
                for column in table.columns
            ]
        body.append(shown)
    headings = ["method"]
    for name in sets:
        first, *others = table.columns
        headings += [f"{name.upper()}: {first}", *others]
    return markdown_table(headings, body)


def _fewer(line: Mapping[str, Cell], cells: Sequence[Cell]) -> str:
    """
    Return a remark such as " (first 100)" if a line has fewer instances than others.

    Otherwise return "".
    """
    counts = {name: _instances(cell) for name, cell in line.items()}
    most = {name: max(_instances(c) for c in cells if c.set == name) for name in line}
    if counts == most:
        return ""
    said = dict.fromkeys(f"{count:,}" for count in counts.values())
    return f" (first {', '.join(said)})"


def _instances(cell: Cell) -> int:
    """Return the number of instances of a cell; each may have rows of several seeds."""
    return len({row.instance for row in cell.rows})


def _by_limit(_table: Table, _sets: Sequence[str], cells: Sequence[Cell]) -> str:
    """Return gaps in %, one line per method and one column per time limit."""
    limits = sorted({cell.summary.time_limit or 0.0 for cell in cells})
    gaps: dict[str, dict[float, str]] = {}
    for cell in cells:
        shown = show_mean(cell.summary.gap, 2)
        if cell.summary.share_within < 1:
            shown += f", {100 * cell.summary.share_within:.1f} % solved"
        limit, seconds = cell.summary.time_limit or 0.0, cell.summary.seconds.value
        if seconds > 1.1 * limit:
            shown += f" ({_short_time(seconds)})"
        label = f"**{cell.label}**" if cell.label == "fixedfleet" else cell.label
        gaps.setdefault(label, {})[limit] = shown
    headings = [_short_time(limit) for limit in limits]
    body = [
        [label, *(line.get(limit, NOTHING) for limit in limits)]
        for label, line in gaps.items()
    ]
    return markdown_table(["time limit", *headings], body)


def _short_time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _counts(
    sets: Sequence[str], cells: Sequence[Cell], *, with_machines: bool = False
) -> str:
    """Return a sentence with the number of instances and seeds of each set."""
    said = []
    for name in sets:
        rows = [row for cell in cells if cell.set == name for row in cell.rows]
        instances = len({row.instance for row in rows})
        seeds = len({row.seed for row in rows})
        machines = " and ".join(sorted({row.machine for row in rows}))
        if rows:
            said.append(
                f"{name}: {instances:,} instances"
                + (f", {seeds} seeds each" if seeds > 1 else "")
                + (f", on {machines}" if with_machines else "")
            )
    return f"{'; '.join(said)}."


_MEASURED: dict[str, Callable[[Summary, float], str]] = {
    "length": lambda s, unit: _mean(s.length, 3, unit),
    "Cost_v": lambda s, unit: _mean(s.cost_v, 1, unit),
    "vehicles": lambda s, _unit: _mean(s.vehicles, 3),
    "within": lambda s, _unit: f"{100 * s.share_within:.1f} %",
    "gap %": lambda s, _unit: show_mean(s.gap, 2),
    "seconds": lambda s, _unit: f"{s.seconds.value:.2g}",
    "processor seconds": lambda s, _unit: (
        NOTHING if s.cpu_seconds is None else f"{s.cpu_seconds.value:.2g}"
    ),
}
_PRINTED: dict[str, Callable[[PublishedRow], str]] = {
    "length": lambda row: NOTHING if row.cost is None else f"{row.cost:g}",
    "Cost_v": lambda row: _number(row.cost_v, 1),
    "vehicles": lambda row: _number(row.vehicles, 3),
    "within": lambda row: (
        NOTHING if row.solved is None else f"{100 * row.solved:.3g} %"
    ),
    "gap %": lambda _row: NOTHING,
    "seconds": lambda row: NOTHING if row.seconds is None else f"{row.seconds:g}",
    "processor seconds": lambda _row: NOTHING,
}


def _mean(mean: Mean | None, digits: int, unit: float = 1.0) -> str:
    return _number(None if mean is None else mean.value / unit, digits)


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _explanation(table: Table) -> str:
    if table.layout == "limits":
        return (
            "Percentage of the plans within the fleet above near-optimal plans of the "
            "same instances: mean and half of the 95 % interval over the instances, "
            "the seeds of each averaged first. In brackets: the mean time, if it is "
            "more than 1.1 times the limit. Solved: the share of runs with a plan "
            f"within the fleet, if not all. {table.name}.csv has all figures."
        )
    said = {
        "length": "Length, Cost_v: means over the plans that serve all customers; "
        "Cost_v adds the cost of each vehicle used.",
        "within": "Within: the share of all instances with a plan within the fleet.",
        "gap %": "Gap: mean percentage above near-optimal plans, where they are known, "
        "and half of its 95 % interval.",
        "seconds": "Seconds: per instance.",
        "processor seconds": "Processor seconds: per instance, of all threads.",
    }
    text = " ".join(said[column] for column in table.columns if column in said)
    if source := published(table.name):
        instances = source.instances.removesuffix(".")
        text += f" Italics: published, {source.source}, on {instances}."
    return f"{text} {table.name}.csv has all figures."


def _origin(table: Table, cells: Sequence[Cell], options: Options) -> str:
    """Return the machines, the versions and the command that made the rows."""
    rows = [row for cell in cells for row in cell.rows]
    machines = sorted({row.machine for row in rows})
    command = f"python -m experiments {table.name}"
    if options.instances is not None:
        command += f" --instances {options.instances}"
    seeds = len({row.seed for row in rows})
    if seeds > 1:
        command += f" --seeds {seeds}"
    if options.reference != Options.reference:
        command += " --reference FILE"
    versions = _versions(rows)
    origin = f"Measured on {'; '.join(machines)}. Versions: {versions}."
    if {versions, *machines} == {_NOT_RECORDED}:
        origin = "The machine and the versions were not recorded."
    rebased = sorted({row.made.get("commit", "") for row in rows} & _REBASED)
    if rebased:
        origin += f" Not in the history, but in 894a8a6: {' and '.join(rebased)}."
    return f"{origin}\n\n    {command}\n"


def _versions(rows: Iterable[Row]) -> str:
    """Return a list, as text, of the versions with which rows were made."""
    found: dict[str, set[str]] = {}
    for made in {frozenset(row.made.items()) for row in rows}:
        for name, version in made:
            if name not in _NOT_VERSIONS:
                found.setdefault(name, set()).add(version)
    if set().union(*found.values()) <= {UNKNOWN}:
        return _NOT_RECORDED
    return ", ".join(f"{k} {' and '.join(sorted(v))}" for k, v in sorted(found.items()))
