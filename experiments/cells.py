"""Rows as the measured cells of a table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from experiments.collecting import load_set, read_rows, row_files
from experiments.keeping import rounded
from experiments.published import whole_names
from fixedfleet.evaluate import get_method
from fixedfleet.evaluate.metrics import Mean, summarise
from fixedfleet.evaluate.origin import without_outdated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.definitions import Line, Options, Table
    from fixedfleet.evaluate import InstanceSet, Results, Row, Summary
    from fixedfleet.evaluate.methods import Objective

__all__ = ["Cell", "measured_cells", "read_stores", "reference_mean"]

_CONTROL = "packing+auto"


@dataclass(frozen=True)
class Cell:
    """
    A line of a table, measured on one set with one limit.

    Attributes
    ----------
    set, line
        The set and the line.
    summary, rows
        What was measured, and the rows it comes from.
    source
        The same rows as the files have them: of each training, and with the plans
        beyond the fleet that the line does not count.
    machine
        The machine of the set: see :func:`measured_cells`.
    against
        Percentage above the control, mean of the pairs, if both minimise the same in
        the same time on the same machine; None otherwise.
    spread
        The mean lengths of several trainings, if the line is about more than one.
    gap_of
        What the gap compares, lengths or Cost_v.
    """

    set: str
    line: Line
    summary: Summary
    rows: tuple[Row, ...]
    source: tuple[Row, ...]
    machine: str
    against: Mean | None = None
    spread: Mean | None = None
    gap_of: Objective = "length"

    @property
    def label(self) -> str:
        """What the table calls the method."""
        return self.line.label

    @property
    def elsewhere(self) -> bool:
        """Whether its rows come from another machine or from a GPU."""
        return self.summary.machines != (self.machine,)


class Store:
    """The rows of one file, all of one machine, by method and objective."""

    def __init__(self, results: Results, options: Options) -> None:
        self.by_method: dict[tuple[str, str], list[Row]] = defaultdict(list)
        rows = read_rows(results)
        if results.path.suffix != ".xz":  # rows that are kept are rounded already
            rows = [rounded(row) for row in rows]
        for row in rows:
            if row.seed == options.seed and row.iterations is None:
                self.by_method[row.method, row.objective].append(row)
        self.machine = results.machine


def read_stores(options: Options, name: str = "") -> list[Store]:
    """Read the files of rows in the working folder, first that of a table."""
    return [Store(results, options) for results in row_files(options, name)]


def measured_cells(
    table: Table, name: str, stores: Sequence[Store], options: Options
) -> tuple[list[Cell], list[Line]]:
    """
    Return the measured cells of a set, and the lines without rows.

    All rows of a line come from one file: the one with most of them, or the first of
    several such files. The set's machine is that of the first file with rows of it.
    """
    found: list[tuple[Line, Store, list[Row]]] = []
    missing: list[Line] = []
    for line in table.lines_of(name):
        before = len(found)
        for limit in table.limits_of(line, name):
            store, rows = _rows(line, name, limit, stores, options)
            if rows:
                found.append((line, store, rows))
            if rows and rows[0].time_limit is None:
                break  # the method takes no limit: all limits have the same rows
        if len(found) == before:
            missing.append(line)
    of_set = [store for _, store, _ in found]
    machine = next((store.machine for store in stores if store in of_set), "")
    cells = []
    for group in _by_label(found):
        line, rows, spread = _together(group)
        instances = _with_reference(table, line, name, stores, options)
        summary, gap_of = summarise(rows, instances), rows[0].objective
        if name in table.reference and gap_of != "length":
            # The reference line has lengths only.
            lengths = [replace(row, objective="length") for row in rows]
            summary = replace(summary, gap=summarise(lengths, instances).gap)
            gap_of = "length"
        source = tuple(row for _, part in group for row in part)
        cell = Cell(
            set=name,
            line=line,
            summary=summary,
            rows=tuple(rows),
            source=source,
            machine=machine,
            spread=spread,
            gap_of=gap_of,
        )
        cells.append(replace(cell, against=_against(cell, instances, stores)))
    return cells, missing


def _by_label(
    found: Sequence[tuple[Line, Store, list[Row]]],
) -> list[list[tuple[Line, list[Row]]]]:
    """Group the trainings that a table shows in one line: same label, same limit."""
    groups: dict[tuple[str, float | None], list[tuple[Line, list[Row]]]]
    groups = defaultdict(list)
    for line, _, rows in found:
        groups[line.label, rows[0].time_limit].append((line, rows))
    return list(groups.values())


def _together(
    group: Sequence[tuple[Line, list[Row]]],
) -> tuple[Line, list[Row], Mean | None]:
    """Return the rows of several trainings as those of one, and their spread."""
    first = group[0][0]
    parts = [_counted(line, rows) for line, rows in group]
    if len(parts) == 1:
        return first, parts[0], None
    name = ", ".join(rows[0].method for rows in parts)
    means = [[row.length for row in rows if row.length] for rows in parts]
    together = [
        replace(row, method=name, seed=number)
        for number, rows in enumerate(parts)
        for row in rows
    ]
    return first, together, Mean.of([fmean(lengths) for lengths in means if lengths])


def _counted(line: Line, rows: list[Row]) -> list[Row]:
    """
    Return a line's rows as it counts them.

    It may be about the plans before the search, and plans beyond the fleet may not
    count, there or at the end.
    """
    found = []
    for row in rows:
        start = _before(row) if line.before or line.solved == "before" else row
        counts = start.within if line.solved == "before" else row.within
        shown = start if line.before else row
        if line.solved and not counts:
            shown = replace(
                shown,
                length=None,
                cost_v=None,
                vehicles=None,
                served=False,
                within=False,
            )
        found.append(shown)
    return found


def _before(row: Row) -> Row:
    """Return the row of the plan that the search began with."""
    length = row.details["start_length"]
    vehicles = round(row.details["start_vehicles"])
    return replace(
        row,
        length=length,
        vehicles=vehicles,
        cost_v=length + vehicles * row.vehicle_cost,
        within=vehicles <= row.fleet,
    )


def reference_mean(table: Table, name: str, stores: Sequence[Store]) -> float | None:
    """Return the mean length of a set's reference plans; None if one is missing."""
    line = table.reference.get(name)
    if line is None or name.startswith("uchoa"):
        return None
    for store in stores:
        for spec in line.specs:
            method = get_method(spec)
            rows = store.by_method.get((method.name, method.objective), [])
            known = {row.instance: row.length for row in rows if row.within}
            wanted = whole_names(name) if known else frozenset()
            if wanted and wanted <= known.keys():
                return fmean(known[instance] or 0.0 for instance in wanted)
    return None


def _rows(
    line: Line, name: str, limit: float, stores: Sequence[Store], options: Options
) -> tuple[Store, list[Row]]:
    """Return a line's rows, of its method, limit, instances and network."""
    wanted = set(load_set(name, line.count(name, options), options).names)
    best: list[Row] = []
    best_store = stores[0]
    for store in stores:
        for spec in line.specs:
            method = get_method(spec)
            rows = store.by_method.get((method.name, method.objective), [])
            own = [
                row
                for row in without_outdated(rows, [method])
                if row.instance in wanted
                and row.time_limit == (limit if method.limits else None)
            ]
            if len(own) > len(best):
                best_store, best = store, own
    return best_store, best


def _with_reference(
    table: Table, line: Line, name: str, stores: Sequence[Store], options: Options
) -> InstanceSet:
    """Return a line's instances, with the reference that the table has for them."""
    instances = load_set(name, line.count(name, options), options)
    if name not in table.reference:
        return instances
    reference = table.reference[name]
    (limit,) = table.limits_of(reference, name)
    _, rows = _rows(reference, name, limit, stores, options)
    known = {row.instance: row.length for row in rows if row.length}
    return replace(instances, reference=known) if known else instances


def _against(
    cell: Cell, instances: InstanceSet, stores: Sequence[Store]
) -> Mean | None:
    """Compare a cell with the control: same objective, time and machine."""
    own = cell.rows[0]
    if own.method == _CONTROL or cell.elsewhere or own.time_limit is None:
        return None
    costs = {
        row.instance: row.cost
        for store in reversed(stores)  # the first one counts
        for row in store.by_method.get((_CONTROL, own.objective), ())
        if row.time_limit == own.time_limit and row.machine == cell.machine
        if row.within and row.cost
    }
    controls = replace(instances, reference=costs, reference_cost_v=costs)
    return summarise(cell.rows, controls).gap
