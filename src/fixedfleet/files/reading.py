"""How an instance is read: what the caller asks for, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

from fixedfleet.distances import LengthUnit, Rounding
from fixedfleet.doubts import Doubt, find_doubts
from fixedfleet.errors import InputError, above, check_choice, check_number
from fixedfleet.files.table import Dialect
from fixedfleet.instance import Instance
from fixedfleet.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "ReadOptions",
    "Reading",
    "build_reading",
    "parse_columns",
    "parse_corrections",
]

# What the caller may say instead of the file.
_ASKED = ("rounding", "capacity", "vehicles", "unit", "length_unit")
_QUESTIONS = {
    "capacity": "what a vehicle carries",
    "vehicles": "how many vehicles there are",
}
_ROUNDING = {
    "none": "distances not rounded",
    "round": "distances rounded to the nearest whole number",
    "ceil": "distances rounded up to whole numbers",
    "trunc": "distances rounded down to whole numbers",
}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """
    What the caller says about an instance. It wins over what the file says.

    Parameters
    ----------
    vehicles, capacity, rounding, depot, columns
        As for :func:`fixedfleet.files.read`.
    sheet
        The sheet of an Excel file. Default: the visible one that has the customers.
    corrections
        What the cells of a table should say instead, by row and column:
        ``{14: {"demand": "12"}}``.
    unit, length_unit
        Unit of demands and capacity; unit of distances.
    max_customers
        The largest instance to read. A larger one is refused as soon as its size is
        known, before anything is built from it.
    allow_missing
        If neither caller nor file gives the vehicles or the capacity, read the
        instance with the value 1 and name the field in :attr:`Reading.missing`,
        instead of raising InputError.
    allow_unreadable
        Leave out the rows of a table that cannot be read, and name each in
        :attr:`Reading.doubts`, instead of raising InputError.
    """

    vehicles: int | None = None
    capacity: float | None = None
    rounding: Rounding | None = None
    depot: str | int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    corrections: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    unit: str | None = None
    length_unit: LengthUnit | None = None
    max_customers: int | None = None
    allow_missing: bool = False
    allow_unreadable: bool = False

    def check_size(self, customers: int) -> None:
        """Raise InputError if there are more customers than allowed."""
        if self.max_customers is not None and customers > self.max_customers:
            raise InputError(
                f"too many customers: at most {self.max_customers} are allowed; the "
                "command line (fixedfleet solve) has no limit"
            )


def parse_columns(words: Iterable[str]) -> dict[str, str]:
    """Return headings by column from words of the form demand=Paletten."""
    columns = {}
    for word in words:
        column, equals, heading = word.partition("=")
        if not equals:
            raise InputError(f"columns {word!r} is not of the form demand=Paletten")
        columns[column.strip().lower()] = heading
    return columns


def parse_corrections(words: Iterable[str]) -> dict[int, dict[str, str]]:
    """Return cells by row and column from words of the form 14:demand=12."""
    corrections: dict[int, dict[str, str]] = {}
    for word in words:
        place, equals, text = word.partition("=")
        row, colon, column = place.partition(":")
        if not (equals and colon and row.strip().isdecimal()):
            raise InputError(f"correction {word!r} is not of the form 14:demand=12")
        cells = corrections.setdefault(int(row), {})
        cells[column.strip().lower()] = text
    return corrections


@dataclass(frozen=True, kw_only=True)
class Reading:
    """
    An instance as it was read.

    Attributes
    ----------
    instance
        The instance. What is missing has the value 1 in it.
    notes
        Remarks on how it was read, for example where the fleet comes from.
    missing
        Those of "vehicles" and "capacity" that neither caller nor file gives.
    doubts
        What is probably a mistake in the instance.
    rows
        The row of each location in a table, depot first; None for other formats.
    columns
        The headings of a table's known columns, by column.
    dialect
        How the file separates cells and writes decimals, to write others alike.
    """

    instance: Instance
    notes: list[str]
    missing: list[str]
    doubts: list[Doubt]
    rows: list[int] | None = None
    columns: dict[str, str] = field(default_factory=dict)
    dialect: Dialect = field(default_factory=Dialect)

    def leave_out(self, numbers: Iterable[int]) -> Reading:
        """
        Return the reading without rows of a table; else without customers, by number.

        Raises
        ------
        InputError
            If a row or a customer does not exist, or if no customer is left.
        """
        known = self.rows or range(self.instance.num_customers + 1)
        customers = {row: customer for customer, row in enumerate(known) if customer}
        unread = {doubt.row for doubt in self.doubts if doubt.kind == "unreadable"}
        for number in (wanted := list(numbers)):
            if number not in customers and number not in unread:
                what = "customer in row" if self.rows else "customer"
                raise InputError(f"there is no {what} {number} to leave out")
        found = [customers[number] for number in wanted if number in customers]
        return self.without(found, unread.intersection(wanted))

    def without(
        self, customers: Iterable[int], rows: Iterable[int | None] = ()
    ) -> Reading:
        """
        Return the reading without some customers, which a note names.

        ``rows`` are rows that could not be read: nothing more is said about them.
        """
        unwanted, decided = sorted(set(customers)), set(rows)
        if not unwanted and not decided:
            return self
        doubts = [doubt for doubt in self.doubts if doubt.row not in decided]
        if not unwanted:
            return replace(self, doubts=doubts)
        instance, kept = self.instance.without(unwanted), self.rows
        names = ", ".join(self.instance.name_of(customer) for customer in unwanted)
        if kept is not None:
            decided |= {kept[customer] for customer in unwanted}
            kept = [row for i, row in enumerate(kept) if i not in unwanted]
        note = f"{count(len(unwanted), 'customer')} left out: {names}"
        numbers = {row: number for number, row in enumerate(kept or ())}
        of_reading = [
            replace(doubt, customers=[numbers[doubt.row]] if doubt.customers else [])
            for doubt in doubts
            if doubt.row is not None and doubt.row not in decided
        ]
        return replace(
            self,
            instance=instance,
            notes=[*self.notes, note],
            doubts=[*of_reading, *find_doubts(instance, kept)],
            rows=kept,
        )


def build_reading(
    fields: Mapping[str, Any],
    sources: Mapping[str, str],
    options: ReadOptions,
    notes: Iterable[str] = (),
    *,
    rows: list[int] | None = None,
    doubts: Iterable[Doubt] = (),
    columns: dict[str, str] | None = None,
    dialect: Dialect | None = None,
) -> Reading:
    """
    Build an instance from what a file says and what the caller says.

    ``fields`` are arguments of :class:`Instance` as the file states them, with None for
    a fleet or a capacity that it does not state. ``sources`` says where the file
    states, or should state, the fleet, the capacity and the rounding. ``doubts`` are
    about how the file was read. The others are as in :class:`Reading`.
    """
    stated = {"rounding": "none", **fields}
    given = {name: getattr(options, name) for name in _ASKED}
    asked = {name: value for name, value in given.items() if value not in (None, "")}
    chosen = stated | asked
    check_choice("rounding", chosen["rounding"], get_args(Rounding))
    missing = [name for name in _QUESTIONS if chosen.get(name) is None]
    if missing and not options.allow_missing:
        raise InputError(
            f"the file does not say {_QUESTIONS[missing[0]]}: give {missing[0]}=, or "
            f"add {sources[missing[0]]} to the file"
        )
    for name in _QUESTIONS:
        if stated.get(name) is not None and name not in asked:
            check_number(f"{name} ({sources[name]})", stated[name], above(0))
    instance = Instance(**chosen | dict.fromkeys(missing, 1))
    return Reading(
        instance=instance,
        notes=[*notes, *_explain(stated, asked, sources)],
        missing=missing,
        doubts=[*doubts, *find_doubts(instance, rows)],
        rows=rows,
        columns=columns or {},
        dialect=dialect or Dialect(),
    )


def _explain(
    stated: Mapping[str, Any], asked: Mapping[str, Any], sources: Mapping[str, str]
) -> Iterator[str]:
    """Yield notes that say where rounding, capacity and fleet come from."""
    why = "as asked for" if "rounding" in asked else sources.get("rounding")
    rounding = _ROUNDING[asked.get("rounding", stated["rounding"])]
    yield f"{rounding} ({why})" if why else rounding
    if "capacity" in asked and stated.get("capacity") not in (None, asked["capacity"]):
        said = check_number("capacity", stated["capacity"])
        yield f"capacity {asked['capacity']:g}, as asked for; the file says {said:g}"
    if "vehicles" in asked:
        yield f"fleet of {count(asked['vehicles'], 'vehicle')}, as asked for"
    elif stated.get("vehicles") is not None:
        fleet = count(stated["vehicles"], "vehicle")
        yield f"fleet of {fleet} taken from {sources['vehicles']}"
