"""How an instance is read: what the caller asks for, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from fixedfleet.distances import LengthUnit, Rounding
from fixedfleet.doubts import Doubt, find_doubts
from fixedfleet.errors import InputError, check_choice
from fixedfleet.files.table import Dialect
from fixedfleet.instance import Instance
from fixedfleet.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Draft", "ReadOptions", "Reading", "Stated", "complete"]

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
    unit, length_unit
        Unit of demands and capacity; unit of distances.
    max_customers
        The largest instance to read. A larger one is refused as soon as its size is
        known, before anything is built from it.
    allow_missing
        If neither caller nor file gives the vehicles or the capacity, read the
        instance with the value 1 and name the field in :attr:`Reading.missing`,
        instead of raising InputError.
    """

    vehicles: int | None = None
    capacity: float | None = None
    rounding: Rounding | None = None
    depot: str | int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    unit: str | None = None
    length_unit: LengthUnit | None = None
    max_customers: int | None = None
    allow_missing: bool = False

    def __post_init__(self) -> None:
        if self.rounding is not None:
            check_choice("rounding", self.rounding, get_args(Rounding))

    def check_size(self, customers: int) -> None:
        """Raise InputError if there are more customers than allowed."""
        if self.max_customers is not None and customers > self.max_customers:
            raise InputError(
                f"too many customers: at most {self.max_customers} are allowed; the "
                "command line (fixedfleet solve) has no limit"
            )


class Stated(NamedTuple):
    """A value and the place that states it; for None, how to state it in the file."""

    value: Any
    where: str


@dataclass(frozen=True, kw_only=True)
class Draft:
    """
    What a file says, before the caller's options are applied.

    The attributes that :class:`Reading` has as well mean the same.
    """

    fields: dict[str, Any]  # arguments of Instance, except the next three
    vehicles: Stated
    capacity: Stated
    rounding: Stated
    notes: list[str] = field(default_factory=list)
    rows: list[int] | None = None
    dialect: Dialect = field(default_factory=Dialect)


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
    dialect
        How the file separates cells and writes decimals, to write others alike.
    """

    instance: Instance
    notes: list[str]
    missing: list[str]
    doubts: list[Doubt]
    rows: list[int] | None = None
    dialect: Dialect = field(default_factory=Dialect)

    def without(self, customers: Iterable[int]) -> Reading:
        """Return the reading without some customers, which a note names."""
        unwanted = sorted(set(customers))
        if not unwanted:
            return self
        instance, rows = self.instance.without(unwanted), self.rows
        names = ", ".join(self.instance.name_of(customer) for customer in unwanted)
        if rows is not None:
            rows = [row for i, row in enumerate(rows) if i not in unwanted]
        return replace(
            self,
            instance=instance,
            notes=[
                *self.notes,
                f"{count(len(unwanted), 'customer')} left out: {names}",
            ],
            doubts=find_doubts(instance, rows),
            rows=rows,
        )


def complete(draft: Draft, options: ReadOptions) -> Reading:
    """Apply the caller's options to what a file says, and build the instance."""
    notes = list(draft.notes)
    rounding, why = draft.rounding
    if options.rounding is not None:
        rounding, why = options.rounding, "as asked for"
    notes.append(_ROUNDING[rounding] + (f" ({why})" if why else ""))
    values = {
        "capacity": _capacity(draft.capacity, options, notes),
        "vehicles": _vehicles(draft.vehicles, options, notes),
    }
    missing = [name for name, value in values.items() if value is None]
    if missing and not options.allow_missing:
        raise InputError(
            f"the file does not say {_QUESTIONS[missing[0]]}: give {missing[0]}=, or "
            f"{getattr(draft, missing[0]).where}"
        )
    told = {"unit": options.unit, "length_unit": options.length_unit}
    fields = draft.fields | {key: value for key, value in told.items() if value}
    instance = Instance(
        **fields | values | dict.fromkeys(missing, 1), rounding=rounding
    )
    return Reading(
        instance=instance,
        notes=notes,
        missing=missing,
        doubts=find_doubts(instance, draft.rows),
        rows=draft.rows,
        dialect=draft.dialect,
    )


def _vehicles(stated: Stated, options: ReadOptions, notes: list[str]) -> int | None:
    """Return the caller's fleet, else the file's, and note which one it is."""
    if options.vehicles is not None:
        notes.append(f"fleet of {count(options.vehicles, 'vehicle')}, as asked for")
        return options.vehicles
    if stated.value is None:
        return None
    said = f"fleet of {count(stated.value, 'vehicle')} taken from {stated.where}"
    if stated.value < 1:
        raise InputError(f"{said}, not at least 1")
    notes.append(said)
    return int(stated.value)


def _capacity(stated: Stated, options: ReadOptions, notes: list[str]) -> float | None:
    """Return the caller's capacity, else the file's; note it if they differ."""
    found, asked = stated.value, options.capacity
    if asked is not None:
        if found not in (None, asked):
            notes.append(f"capacity {asked:g}, as asked for; the file says {found:g}")
        return asked
    if found is None:
        return None
    if found <= 0:
        raise InputError(f"{stated.where} is {found:g}, not above 0")
    return float(found)
