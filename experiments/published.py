"""The paper's figures as data, to be shown beside the measured ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from experiments.definitions import customers_of
from fixedfleet import generate
from fixedfleet.evaluate.sets import VEHICLE_COSTS

__all__ = [
    "PublishedRow",
    "PublishedTable",
    "published",
    "vehicle_floor",
    "whole_names",
]

_FILE = Path(__file__).parent / "published.toml"


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """
    What the paper prints for one method on one set; None where it prints nothing.

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
    ours: bool = False

    @property
    def floor(self) -> float | None:
        """The smallest mean Cost_v at this length on a rejection-sampled test set."""
        if self.cost is None or self.cost_v is None or not self.set.startswith("vrp"):
            return None
        return self.cost + vehicle_floor(self.set)

    @property
    def impossible(self) -> bool:
        """Whether its Cost_v lies below the floor, beyond rounding."""
        if self.cost_v is None or self.floor is None:
            return False
        return self.cost_v + 0.055 < self.floor


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
    """Return the paper's figures for a table; None if the paper has no such table."""
    return _tables().get(name)


@cache
def vehicle_floor(name: str) -> float:
    """Return the smallest possible cost of vehicles, mean over a whole test set."""
    size = customers_of(name)
    batch = generate.test_set(size, reject=name.startswith("vrp"))
    return float(batch.minimum_vehicles.mean()) * VEHICLE_COSTS[size]


@cache
def whole_names(name: str) -> frozenset[str]:
    """Return the names of all instances of a test set, as rows have them."""
    size = customers_of(name)
    batch = generate.test_set(size, reject=False)
    kept = batch.minimum_vehicles <= (batch.vehicles if name.startswith("vrp") else 99)
    return frozenset(f"test{size}/{row}" for row in kept.nonzero()[0].tolist())


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
