"""Rows of the store and published figures as the cells of a table."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fixedfleet import generate
from fixedfleet.errors import InputError
from fixedfleet.evaluate.methods import get_method
from fixedfleet.evaluate.metrics import summarise
from fixedfleet.evaluate.published import published
from fixedfleet.evaluate.reproduce.collecting import load_set
from fixedfleet.evaluate.reproduce.definitions import customers_of
from fixedfleet.evaluate.sets import VEHICLE_COSTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fixedfleet.evaluate.metrics import Summary
    from fixedfleet.evaluate.published import PublishedRow
    from fixedfleet.evaluate.reproduce.definitions import Line, Options, Table
    from fixedfleet.evaluate.rows import Row
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
    printed, floor
        What is published instead, and the floor of its Cost_v on the whole set.
    """

    set: str
    label: str
    line: Line | None = None
    summary: Summary | None = None
    rows: tuple[Row, ...] = ()
    printed: PublishedRow | None = None
    floor: float | None = None

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
        Rows of any sets.
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
        known = {}
        if name in table.reference:
            reference = self.rows(table.reference[name], name)
            known = {row.instance: row.length for row in reference if row.length}
        cells, missing = [], []
        for line in table.lines_of(name):
            rows = self.rows(line, name)
            if not rows:
                missing.append(line.label)
                continue
            instances = self._instances(line, name)
            if known:
                instances = replace(instances, reference=known)
            summary = summarise(rows, instances)
            cells.append(Cell(name, line.label, line, summary, tuple(rows)))
        return cells, missing

    def rows(self, line: Line, name: str) -> list[Row]:
        """Return the rows of a line on a set, from one kind of place."""
        try:
            method = _without_place(get_method(line.method).name)
        except InputError:  # a spec that this version does not know
            return []
        wanted = set(self._instances(line, name).names)
        limits = (line.time_limit(name, self.options.scale), None)
        found = [
            row
            for row in self._by_method.get(method, ())
            if row.instance in wanted and row.time_limit in limits
        ]
        # Where rows were made in several places, those of the commonest count.
        kinds = Counter((row.method, row.time_limit) for row in found).most_common(1)
        return [
            row
            for row in found
            if kinds and (row.method, row.time_limit) == kinds[0][0]
        ]

    def _instances(self, line: Line, name: str) -> InstanceSet:
        count = line.count(name, self.options.instances)
        return load_set(name, count, self.options)


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
