"""The numbers in the paper's tables, to be shown beside the measured ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PublishedRow", "PublishedTable", "published"]

_FILE = Path(__file__).parent / "published.toml"


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """
    The paper's numbers for one method on one set; None where the paper has none.

    ``published.toml`` explains the fields.
    """

    method: str
    set: str
    cost: float | None = None
    cost_v: float | None = None
    vehicles: float | None = None
    seconds: float | None = None
    total: float | None = None
    epoch: float | None = None
    solved: float | None = None
    unsolved: int | None = None
    violation: float | None = None
    capacity: float | None = None
    vehicle_cost: float | None = None
    bound: bool = False


@dataclass(frozen=True)
class PublishedTable:
    """A table of the paper: its number, its instances, and its rows."""

    source: str
    instances: str
    rows: tuple[PublishedRow, ...]

    def on(self, name: str) -> tuple[PublishedRow, ...]:
        """Return the rows of one set, in the paper's order."""
        return tuple(row for row in self.rows if row.set == name)


def published(name: str) -> PublishedTable | None:
    """Return the paper's numbers for a table; None if the paper has no such table."""
    return _tables().get(name)


@cache
def _tables() -> dict[str, PublishedTable]:
    with _FILE.open("rb") as file:
        tables = tomllib.load(file)
    return {
        name: PublishedTable(
            source=raw["source"],
            instances=raw["instances"],
            rows=tuple(PublishedRow(**row) for row in raw["rows"]),
        )
        for name, raw in tables.items()
    }
