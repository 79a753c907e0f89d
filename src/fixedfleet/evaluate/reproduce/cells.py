"""Rows of the store and published figures as the cells of a table."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fixedfleet import generate
from fixedfleet.errors import InputError
from fixedfleet.evaluate.made import current
from fixedfleet.evaluate.methods import get_method
from fixedfleet.evaluate.metrics import paired, summarise
from fixedfleet.evaluate.published import published
from fixedfleet.evaluate.reproduce.collecting import load_set
from fixedfleet.evaluate.reproduce.definitions import customers_of
from fixedfleet.evaluate.reproduce.lines import CONTROLS
from fixedfleet.evaluate.sets import VEHICLE_COSTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fixedfleet.evaluate.metrics import Mean, Summary
    from fixedfleet.evaluate.published import PublishedRow
    from fixedfleet.evaluate.reproduce.definitions import Line, Options, Table
    from fixedfleet.evaluate.rows import Key, Row
    from fixedfleet.evaluate.sets import InstanceSet

__all__ = ["Cell", "Stock", "published_cells", "whole_floor"]

# What says where and in what portions a method runs, not what it does.
_WHERE = re.compile(r"(?<=[:,])(device|batch)=[^,]*,?")


@dataclass(frozen=True)
class Cell:
    """
    A method on a set, measured or published.

    Attributes
    ----------
    set, label
        Which set, and what the table calls the method.
    line, summary, rows
        What was measured, and the rows it comes from.
    machine
        The machine that most rows of the set come from.
    against
        Percentage above the control, in pairs, where both minimise the length in the
        same time on the same machine; None for others.
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
        """Whether some of its rows come from another machine than most of the set."""
        return self.summary is not None and self.summary.machines != (self.machine,)

    @property
    def impossible(self) -> bool:
        """Whether a published Cost_v lies below the floor, rounding allowed for."""
        printed = self.printed
        if printed is None or printed.cost_v is None or self.floor is None:
            return False
        return printed.cost_v + 0.055 < self.floor


class Stock:
    """
    The rows there are, by method.

    Parameters
    ----------
    rows
        Rows of any sets. Of a run that is there from several machines, the one that
        most rows of its set come from is preferred.
    options
        Which instances and which seed are wanted.
    """

    def __init__(self, rows: Iterable[Row], options: Options) -> None:
        self.options = options
        self._by_method: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.seed == options.seed and row.iterations is None:
                self._by_method[_without_place(row.method)].append(row)

    def cells(self, table: Table, name: str) -> tuple[list[Cell], list[str]]:
        """Return the measured cells of a set, and labels of lines without rows."""
        machine = self._machine(table, name)
        known = {}
        if name in table.reference:
            reference = self.rows(table.reference[name], name, machine)
            known = {row.instance: row.length for row in reference if row.length}
        control = self.rows(CONTROLS[0], name, machine)
        cells, missing = [], []
        for line in table.lines_of(name):
            rows = self.rows(line, name, machine)
            if not rows:
                missing.append(line.label)
                continue
            instances = self._instances(line, name)
            if known:
                instances = replace(instances, reference=known)
            summary = summarise(rows, instances)
            cell = Cell(name, line.label, line, summary, tuple(rows), machine)
            cells.append(replace(cell, against=_against(cell, control)))
        return cells, missing

    def rows(self, line: Line, name: str, machine: str = "") -> list[Row]:
        """Return the rows of a line on a set, a run once, from one kind of place."""
        once: dict[Key, Row] = {}
        for row in self._candidates(line, name):
            there = once.get(row.key)
            if there is None or not there.machine == machine != row.machine:
                once[row.key] = row  # of equals, the last
        # Where they were made in several places, those of the commonest count, and
        # of equally common ones those of the machine.
        kinds: dict[tuple[str, float | None], list[Row]] = defaultdict(list)
        for row in once.values():
            kinds[row.method, row.time_limit].append(row)
        return max(
            kinds.values(),
            key=lambda rows: (len(rows), sum(row.machine == machine for row in rows)),
            default=[],
        )

    def _candidates(self, line: Line, name: str) -> list[Row]:
        """Rows that a line may show: of its method, limit, instances and network."""
        try:
            method = get_method(line.method)
        except InputError:  # a spec that this version does not know
            return []
        wanted = set(self._instances(line, name).names)
        limits = (line.time_limit(name, self.options.scale), None)
        of_method = self._by_method.get(_without_place(method.name), ())
        return [
            row
            for row in current(of_method, {row.method: method for row in of_method})
            if row.instance in wanted and row.time_limit in limits
        ]

    def _machine(self, table: Table, name: str) -> str:
        """Return the machine that did most of the runs that a set's lines may show."""
        counts = Counter(
            machine
            for line in table.lines_of(name)
            for machine, _ in {
                (row.machine, row.key) for row in self._candidates(line, name)
            }
        )
        return counts.most_common(1)[0][0] if counts else ""

    def _instances(self, line: Line, name: str) -> InstanceSet:
        count = line.count(name, self.options.instances)
        return load_set(name, count, self.options)


def _against(cell: Cell, control: Sequence[Row]) -> Mean | None:
    """Compare a cell with the control, where that is a comparison."""
    own, base = cell.rows[0], control[0] if control else None
    if base is None or own.method == base.method or cell.elsewhere:
        return None
    if own.objective != base.objective or own.time_limit != base.time_limit:
        return None
    return paired(cell.rows, [row for row in control if row.machine == cell.machine])


def published_cells(table: Table, name: str) -> list[Cell]:
    """Return what the paper prints for a set."""
    if table.published is None:
        return []
    cells = []
    for row in published(table.published).on(name):
        floor = None
        if row.cost is not None and row.cost_v is not None and name.startswith("vrp"):
            floor = row.cost + whole_floor(name)
        cells.append(Cell(name, row.method, printed=row, floor=floor))
    return cells


@cache
def whole_floor(name: str) -> float:
    """Return the vehicle cost that no plan can do without, mean over a whole set."""
    size = customers_of(name)
    batch = generate.test_set(size, reject=name.startswith("vrp"))
    needed = -(-batch.demands.sum(axis=1) // batch.capacity)
    return float(needed.mean()) * VEHICLE_COSTS[size]


def _without_place(name: str) -> str:
    return _WHERE.sub("", name).rstrip(",:")
