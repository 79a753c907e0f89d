"""The tables that ``tables.toml`` defines, and the options of the command."""

from __future__ import annotations

import tomllib
from collections.abc import Callable  # noqa: TC003  # check_settings reads annotations
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from experiments import RESULTS
from fixedfleet.errors import InputError, at_least, check_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Line", "Options", "Table", "customers_of", "load_tables"]

_FILE = Path(__file__).parent / "tables.toml"


@dataclass(frozen=True, kw_only=True)
class Options:
    """
    The options of ``python -m experiments``; its ``--help`` explains them.

    Raises
    ------
    InputError
        If a number is out of range, or if the reference file does not exist.
    """

    instances: Annotated[int | None, at_least(1)] = None
    seeds: Annotated[int | None, at_least(1)] = None
    out: Path = Path("build/experiments")
    work: Path = Path("runs/experiments")
    processes: Annotated[int | None, at_least(1)] = None
    reference: Path = RESULTS / "rows-reference.jsonl.xz"
    display: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.reference.is_file():
            raise InputError(f"reference: there is no file {self.reference}")

    def say(self, line: str) -> None:
        """Print a line of progress, if ``display`` is given."""
        if self.display is not None:
            self.display(line)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a table, that is a method; ``tables.toml`` explains the fields."""

    label: str
    method: str
    limits: tuple[float, ...] = ()
    most: int | None = None
    reading: Literal["all", "solved", "raw"] = "all"
    sets: tuple[str, ...] | None = None

    def spec(self, name: str) -> str:
        """Return the method's spec for a set, with its number of customers for {N}."""
        return self.method.replace("{N}", str(customers_of(name)))


@dataclass(frozen=True, kw_only=True)
class Table:
    """
    A table: its sets, its lines, and the notes below it.

    ``tables.toml`` explains the fields. If the paper has such a table, its numbers are
    in ``published.toml`` under the same ``name``.
    """

    name: str
    title: str
    parts: Mapping[str, tuple[str, ...]]
    lines: tuple[Line, ...]
    instances: Mapping[str, int] | int = 1000
    columns: tuple[str, ...] = ("length", "Cost_v", "within")
    layout: Literal["sizes", "limits"] = "sizes"
    picture: Literal["", "vehicles", "gaps"] = ""
    unit: Mapping[str, float] = field(default_factory=dict)
    keep_plans: bool = False
    by_version: bool = False
    notes: tuple[str, ...] = ()

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the sets in all parts of the table."""
        return tuple(name for part in self.parts.values() for name in part)

    def lines_of(self, name: str) -> list[Line]:
        """Return the lines of the table that are run on this set."""
        return [line for line in self.lines if line.sets is None or name in line.sets]

    def count(self, line: Line, name: str, options: Options) -> int:
        """Return on how many instances of a set a line is run; they are the first."""
        own = (
            self.instances if isinstance(self.instances, int) else self.instances[name]
        )
        counts = (own, line.most, options.instances)
        return min(count for count in counts if count is not None)


_LINE_KEYS = {field.name for field in fields(Line)}
_TABLE_KEYS = {field.name for field in fields(Table)} - {"name"}


@cache
def load_tables() -> dict[str, Table]:
    """Return all tables by their names."""
    with _FILE.open("rb") as file:
        raw = tomllib.load(file)
    named = {name: _line(f"line {name}", line) for name, line in raw["lines"].items()}
    return {name: _table(name, table, named) for name, table in raw["tables"].items()}


def _table(name: str, raw: dict[str, Any], named: Mapping[str, Line]) -> Table:
    what = f"table {name}"
    _check_keys(what, raw, _TABLE_KEYS)
    lines = [
        named[line] if isinstance(line, str) else _line(what, line)
        for line in raw["lines"]
    ]
    parts = {heading: tuple(sets) for heading, sets in raw["parts"].items()}
    tuples = {key: tuple(raw[key]) for key in ("columns", "notes") if key in raw}
    return Table(**raw | tuples | {"name": name, "parts": parts, "lines": tuple(lines)})


def _line(what: str, raw: dict[str, Any]) -> Line:
    _check_keys(what, raw, _LINE_KEYS)
    tuples: dict[str, Any] = {
        key: tuple(raw[key]) for key in ("limits", "sets") if key in raw
    }
    return Line(**raw | tuples)


def _check_keys(what: str, raw: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise InputError if a table or line of ``tables.toml`` has an unknown key."""
    if unknown := sorted(set(raw) - set(known)):
        raise InputError(f"{_FILE.name}: {what}: unknown key {unknown[0]!r}")


def customers_of(name: str) -> int:
    """Return the number of customers in a set's name: 20 in vrp20."""
    return int(name.lstrip("abcdefghijklmnopqrstuvwxyz"))
