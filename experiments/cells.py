"""Rows and published figures as the cells of a table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from experiments.collecting import load_set, row_files
from experiments.definitions import customers_of
from experiments.published import published
from fixedfleet import generate
from fixedfleet.evaluate.methods import get_method
from fixedfleet.evaluate.metrics import paired, summarise
from fixedfleet.evaluate.origin import current
from fixedfleet.evaluate.sets import VEHICLE_COSTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.definitions import Line, Options, Table
    from experiments.published import PublishedRow
    from fixedfleet.evaluate import InstanceSet, Results, Row, Summary
    from fixedfleet.evaluate.metrics import Mean

__all__ = ["Cell", "measured_cells", "published_cells", "read_stores", "whole_floor"]

_CONTROL = "packing+auto"


@dataclass(frozen=True)
class Cell:
    """
    A method on a set with one limit, measured or published.

    Attributes
    ----------
    set, label
        The set, and what the table calls the method.
    line, summary, rows
        What was measured, and the rows it comes from.
    machine
        The machine of the set: see :func:`measured_cells`.
    against
        Percentage above the control, mean of the pairs, if both minimise the same in
        the same time on the same machine; None otherwise.
    printed, floor
        What is published instead, and the floor of its Cost_v on the whole set.
    """

    set: str
    label: str
    line: Line | None = None
    summary: Summary | None = None
    rows: tuple[Row, ...] = ()
    machine: str = ""
    against: Mean | None = None
    printed: PublishedRow | None = None
    floor: float | None = None

    @property
    def elsewhere(self) -> bool:
        """Whether its rows come from another machine or from a GPU."""
        return self.summary is not None and self.summary.machines != (self.machine,)

    @property
    def impossible(self) -> bool:
        """Whether a published Cost_v lies below the floor, beyond rounding."""
        printed = self.printed
        if printed is None or printed.cost_v is None or self.floor is None:
            return False
        return printed.cost_v + 0.055 < self.floor


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
    found: list[tuple[Line, float, Store, list[Row]]] = []
    missing: list[Line] = []
    for line in table.lines_of(name):
        before = len(found)
        for limit in table.limits_of(line, name, options):
            store, rows = _rows(line, name, limit, stores, options)
            if rows:
                found.append((line, limit, store, rows))
            if rows and rows[0].time_limit is None:
                break  # the method takes no limit: all limits have the same rows
        if len(found) == before:
            missing.append(line)
    of_set = [store for _, _, store, _ in found]
    machine = next((store.machine for store in stores if store in of_set), "")
    cells = []
    for line, limit, _, rows in found:
        instances = _with_reference(table, line, name, stores, options)
        summary = summarise(rows, instances)
        cell = Cell(name, line.label, line, summary, tuple(rows), machine)
        cells.append(replace(cell, against=_against(cell, limit, stores)))
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


def _against(cell: Cell, limit: float, stores: Sequence[Store]) -> Mean | None:
    """Compare a cell with the control: same objective, time and machine."""
    own = cell.rows[0]
    if own.method == _CONTROL or cell.elsewhere or own.time_limit is None:
        return None
    control = [
        row
        for store in stores
        for row in store.by_method.get((_CONTROL, own.objective), ())
        if row.time_limit == limit and row.machine == cell.machine
    ]
    return paired(cell.rows, control)


def published_cells(table: Table, name: str) -> list[Cell]:
    """Return what the paper prints for a set."""
    source = published(table.name)
    cells = []
    for row in source.on(name) if source else ():
        floor = None
        if row.cost is not None and row.cost_v is not None and name.startswith("vrp"):
            floor = row.cost + whole_floor(name)
        cells.append(Cell(name, row.method, printed=row, floor=floor))
    return cells


@cache
def whole_floor(name: str) -> float:
    """Return the smallest possible cost of vehicles, mean over a whole set."""
    size = customers_of(name)
    batch = generate.test_set(size, reject=name.startswith("vrp"))
    return float(batch.minimum_vehicles.mean()) * VEHICLE_COSTS[size]
