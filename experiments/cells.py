"""
The measured cells of a table.

A cell has the rows of one line of the table, that is of one method, on one set of
instances with one limit.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from experiments.collecting import load_set, read_rows
from experiments.keeping import rounded
from experiments.kept_plans import is_kept
from fixedfleet.evaluate import get_method
from fixedfleet.evaluate.metrics import summarise
from fixedfleet.evaluate.origin import without_outdated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.definitions import Line, Options, Table
    from fixedfleet.evaluate import Method, Results, Row, Summary

__all__ = ["Cell", "Store", "measured_cells"]


@dataclass(frozen=True)
class Cell:
    """
    The results of one line of a table on one set with one limit.

    ``source`` are the rows in their file. ``rows`` are the same, but changed as
    ``reading`` of the line says; see :func:`_counted`. ``summary`` is made from
    ``rows``.
    """

    set: str
    label: str
    summary: Summary
    rows: tuple[Row, ...]
    source: tuple[Row, ...]


class Store:
    """The rows of one file, by method and objective."""

    def __init__(self, results: Results) -> None:
        self.by_method: dict[tuple[str, str], list[Row]] = defaultdict(list)
        rows = read_rows(results)
        if results.path.suffix != ".xz":  # compressed rows have been rounded before
            rows = [rounded(row) for row in rows]
        for row in rows:
            if row.iterations is None:
                self.by_method[row.method, row.objective].append(row)

    def rows_of(self, method: Method) -> list[Row]:
        """Return a method's rows without those of an older network or source file."""
        rows = self.by_method.get((method.name, method.objective), [])
        if not rows or is_kept(method):  # kept plans were made by another program
            return rows
        return without_outdated(rows, [method])


def measured_cells(
    table: Table, name: str, stores: Sequence[Store], options: Options
) -> tuple[list[Cell], list[Line]]:
    """
    Return the measured cells of one set, and the lines of the table without rows.

    All rows of a cell come from one file: the one with most instances, then with most
    rows, or the first of several such files. A table by version has one cell per
    version of fixedfleet, from the first file that has rows of this version: one's own
    rows come before those that are kept.
    """
    cells: list[Cell] = []
    missing: list[Line] = []
    for line in table.lines_of(name):
        method = get_method(line.spec(name))
        chosen = load_set(name, table.count(line, name, options), options)
        place = {name: number for number, name in enumerate(chosen.names)}
        before = len(cells)
        for limit in line.limits or (None,):
            found: dict[str, list[Row]] = {}
            for store in stores:
                rows = [
                    row
                    for row in store.rows_of(method)
                    if row.instance in place
                    if options.seeds is None or row.seed < options.seeds
                    if row.time_limit == (limit if method.limits else None)
                ]
                for label, part in _by_version(table, line, rows).items():
                    known = found.get(label, [])
                    larger = _extent(part) > _extent(known)
                    if not known or (larger and not table.by_version):
                        found[label] = part
            for label, source in sorted(found.items()):
                # The order of rows differs from file to file, and it changes sums of
                # floats. So it is fixed here.
                source.sort(key=lambda row: (place[row.instance], row.seed))
                rows = _counted(line, source)
                summary = summarise(rows, chosen)
                cells.append(Cell(name, label, summary, tuple(rows), tuple(source)))
        if len(cells) == before:
            missing.append(line)
    return cells, missing


def _extent(rows: list[Row]) -> tuple[int, int]:
    """Return the numbers of instances and of rows."""
    return len({row.instance for row in rows}), len(rows)


def _by_version(table: Table, line: Line, rows: list[Row]) -> dict[str, list[Row]]:
    """
    Return the rows of a line, as label → rows.

    The label is that of the line. In a table by version, it is the version of
    fixedfleet that made the rows.
    """
    if not table.by_version:
        return {line.label: rows} if rows else {}
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.made["fixedfleet"]].append(row)
    return dict(sorted(found.items()))


def _counted(line: Line, rows: list[Row]) -> list[Row]:
    """
    Return the rows of a line, changed as its ``reading`` says.

    ``all`` changes nothing. ``raw`` shows the start of the search instead of its
    result. With ``raw`` and ``solved``, an instance counts as unsolved if this start
    exceeds the fleet.
    """
    if line.reading == "all":
        return rows
    found = []
    for row in rows:
        start = _before(row)
        shown = start if line.reading == "raw" else row
        if not start.within:
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
    """Return the row with length and vehicles of the start of the search."""
    length = row.details["start_length"]
    vehicles = round(row.details["start_vehicles"])
    return replace(
        row,
        length=length,
        vehicles=vehicles,
        cost_v=length + vehicles * row.vehicle_cost,
        within=vehicles <= row.fleet,
    )
