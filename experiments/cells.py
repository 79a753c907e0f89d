"""Rows as the measured cells of a table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from experiments.collecting import load_set, row_files
from fixedfleet.evaluate.methods import get_method
from fixedfleet.evaluate.metrics import paired, summarise
from fixedfleet.evaluate.origin import current

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.definitions import Line, Options, Table
    from fixedfleet.evaluate import InstanceSet, Results, Row, Summary
    from fixedfleet.evaluate.metrics import Mean

__all__ = ["Cell", "measured_cells", "read_stores"]

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
    machine
        The machine of the set: see :func:`measured_cells`.
    against
        Percentage above the control, mean of the pairs, if both minimise the same in
        the same time on the same machine; None otherwise.
    """

    set: str
    line: Line
    summary: Summary
    rows: tuple[Row, ...]
    machine: str
    against: Mean | None = None

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
        for row in results.rows():
            if row.seed == options.seed and row.iterations is None:
                self.by_method[row.method, row.objective].append(row)
        self.machine = results.machine


def read_stores(options: Options) -> list[Store]:
    """Read the files of rows in the working folder."""
    return [Store(results, options) for results in row_files(options)]


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
        for limit in table.limits_of(line, name, options):
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
    for line, _, rows in found:
        instances = _with_reference(table, line, name, stores, options)
        summary = summarise(rows, instances)
        cell = Cell(name, line, summary, tuple(rows), machine)
        cells.append(replace(cell, against=_against(cell, stores)))
    return cells, missing


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
                for row in current(rows, [method])
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
    (limit,) = table.limits_of(reference, name, options)
    _, rows = _rows(reference, name, limit, stores, options)
    known = {row.instance: row.length for row in rows if row.length}
    return replace(instances, reference=known) if known else instances


def _against(cell: Cell, stores: Sequence[Store]) -> Mean | None:
    """Compare a cell with the control: same objective, time and machine."""
    own = cell.rows[0]
    if own.method == _CONTROL or cell.elsewhere or own.time_limit is None:
        return None
    control = [
        row
        for store in stores
        for row in store.by_method.get((_CONTROL, own.objective), ())
        if row.time_limit == own.time_limit and row.machine == cell.machine
    ]
    return paired(cell.rows, control)
