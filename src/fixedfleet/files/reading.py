"""Options for reading an instance, and the instance that was read, with notes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from fixedfleet.distances import LengthUnit, Rounding
from fixedfleet.doubts import Doubt, find_doubts
from fixedfleet.errors import InputError, above, at_least, check_choice, check_number
from fixedfleet.files.table import Dialect
from fixedfleet.files.vehicle_table import add_shift
from fixedfleet.instance import Instance, VehicleType
from fixedfleet.wording import count, length_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fixedfleet.files.address_columns import Geocode

__all__ = [
    "DIMACS",
    "ReadOptions",
    "Reading",
    "build_reading",
    "parse_columns",
    "parse_corrections",
]

# Options that replace what the file says.
_ASKED = ("rounding", "detour", "capacity", "vehicles", "unit", "length_unit")
_OF_TABLES = ("columns", "sheet", "corrections")  # options that only a table can follow
_QUESTIONS = {
    "capacity": "what a vehicle carries",
    "vehicles": "how many vehicles there are",
}
_OF_DAY = ("speed", "service_minutes", "shift")
DIMACS = "dimacs"  # the rounding of the DIMACS challenge for time windows
# The speed that is assumed until travel times by road are known, in kilometres or miles
# per hour.
_SPEED_BEFORE_ROADS = 40.0
_ROUNDING = {
    "none": "distances not rounded",
    "round": "distances rounded to the nearest whole number",
    "ceil": "distances rounded up to whole numbers",
    "trunc": "distances rounded down to whole numbers",
    DIMACS: "distances rounded down to one decimal",
}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """
    Options for reading an instance. They take precedence over what the file says.

    Parameters
    ----------
    vehicles, capacity, rounding, depot, columns
        As for :func:`fixedfleet.files.read`.
    sheet
        The sheet of an Excel file. Default: the visible one that has the customers.
    corrections
        Texts that replace cells of a table, by row and column:
        ``{14: {"demand": "12"}}``.
    unit, length_unit
        Unit of demands and capacity; unit of distances.
    detour
        The factor by which great-circle distances are multiplied.
    geocode
        A function that returns latitude and longitude of the addresses in a table, such
        as :func:`fixedfleet.addresses.geocoder` makes.
    by_road
        Whether travel times by road will be added (:func:`fixedfleet.with_roads`).
        Until then, travel times between latitudes and longitudes follow from an assumed
        speed, so that service times, time windows and shifts are kept.
    vehicle_types
        The fleet, instead of vehicles and capacity.
    speed
        Distance per hour. Without it, and without travel times in the file, service
        times, time windows and shifts are not considered, and :attr:`Reading.doubts`
        says so.
    service_minutes
        The service time, in minutes, of customers for which the file states none.
    shift
        The shift of vehicles for which the file states none: (from, to), in minutes
        since midnight. A shift from 0 only says how long the shift is. It is refused if
        customers have time windows.
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
    rounding: Rounding | Literal["dimacs"] | None = None
    depot: str | int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    corrections: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    unit: str | None = None
    length_unit: LengthUnit | None = None
    detour: float | None = None
    geocode: Geocode | None = None
    by_road: bool = False
    vehicle_types: Sequence[VehicleType] | None = None
    speed: float | None = None
    service_minutes: float | None = None
    shift: tuple[float, float] | None = None
    max_customers: int | None = None
    allow_missing: bool = False
    allow_unreadable: bool = False

    def refuse(self, why: str, *names: str) -> None:
        """
        Raise InputError if any of these options is given.

        The message says why, and names all of them that are given.
        """
        given = [name for name in names if getattr(self, name) not in (None, "", {})]
        if given:
            listed = " and ".join(f"{{field:{name}}}" for name in given)
            raise InputError(f"{why}: leave {listed} out", given[0])

    def refuse_table_options(self) -> None:
        """Raise InputError if an option is given that only a table can follow."""
        self.refuse("only a table has columns and rows", *_OF_TABLES)

    def check_size(self, customers: int) -> None:
        """Raise InputError if there are more customers than allowed."""
        if self.max_customers is not None and customers > self.max_customers:
            raise InputError(
                f"too many customers: at most {self.max_customers} are allowed; the "
                "command line (fixedfleet solve) has no limit"
            )


def parse_columns(words: Iterable[str]) -> dict[str, str]:
    """Return {column: heading} from words of the form demand=Paletten."""
    columns = {}
    for word in words:
        column, equals, heading = word.partition("=")
        if not equals:
            message = f"columns {word!r} is not of the form demand=Paletten"
            raise InputError(message, "columns")
        columns[column.strip().lower()] = heading
    return columns


def parse_corrections(words: Iterable[str]) -> dict[int, dict[str, str]]:
    """Return {row: {column: text}} from words of the form 14:demand=12."""
    corrections: dict[int, dict[str, str]] = {}
    for word in words:
        place, equals, text = word.partition("=")
        row, colon, column = place.partition(":")
        if not (equals and colon and row.strip().isdecimal()):
            message = f"correction {word!r} is not of the form 14:demand=12"
            raise InputError(message, "corrections")
        cells = corrections.setdefault(int(row), {})
        cells[column.strip().lower()] = text
    return corrections


@dataclass(frozen=True, kw_only=True)
class Reading:
    """
    An instance that was read from a file, with notes and doubts about it.

    Attributes
    ----------
    instance
        The instance. A field that is named in ``missing`` has the value 1.
    notes
        Remarks on how the file was read, for example where the fleet comes from.
    missing
        Those of "vehicles" and "capacity" that neither caller nor file gives.
    doubts
        Probable mistakes in the file or the instance.
    rows
        The row number of each location in a table, depot first; None for other formats.
    columns
        The heading of each recognised column of a table, by the name of the column.
    dialect
        The delimiter and decimal sign of a CSV file, for writing plans the same way.
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
        Return the reading without the rows of the table that have these numbers.

        If the file is not a table, ``numbers`` are the numbers of customers.

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
                message = f"there is no {what} {number} to leave out"
                raise InputError(message, "leave_out")
        found = [customers[number] for number in wanted if number in customers]
        return self.without(found, unread.intersection(wanted))

    def without(
        self, customers: Iterable[int], rows: Iterable[int | None] = ()
    ) -> Reading:
        """
        Return the reading without these customers, with a note that names them.

        ``rows`` are the row numbers of other rows that the caller leaves out because
        they cannot be read. A :class:`Doubt` about one of these rows is dropped.
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
    Return the reading of an instance from the file's values and the caller's options.

    ``fields`` are arguments of :class:`Instance` as the file states them, with None for
    a fleet or a capacity that it does not state. ``sources`` says where the file
    states, or should state, the fleet, the capacity and the rounding. ``doubts`` are
    about how the file was read. The other parameters are as in :class:`Reading`.
    """
    stated, notes = {"rounding": "none", **fields}, list(notes)
    given = {name: getattr(options, name) for name in _ASKED}
    asked = {name: value for name, value in given.items() if value not in (None, "")}
    chosen = stated | asked
    check_choice("rounding", chosen["rounding"], (*get_args(Rounding), DIMACS))
    _choose_fleet(chosen, asked, options, notes)
    has_types = chosen.get("vehicle_types") is not None
    missing = [name for name in _QUESTIONS if chosen.get(name) is None]
    missing = [] if has_types else missing
    if missing and not options.allow_missing:
        raise InputError(
            f"the file does not say {_QUESTIONS[missing[0]]}: give {{field}}, or add "
            f"{sources[missing[0]]} to the file",
            missing[0],
        )
    for name in _QUESTIONS:
        if stated.get(name) is not None and name not in asked:
            check_number(f"{name} ({sources[name]})", stated[name], above(0))
    chosen |= dict.fromkeys(missing, 1)
    unused = _choose_times(chosen, options)
    instance = _build(chosen)
    return Reading(
        instance=instance,
        notes=[
            *notes,
            *_explain(stated, asked, sources),
            *_explain_day(instance, options),
        ],
        missing=missing,
        doubts=[*doubts, *unused, *find_doubts(instance, rows)],
        rows=rows,
        columns=columns or {},
        dialect=dialect or Dialect(),
    )


def _choose_fleet(
    chosen: dict[str, Any],
    asked: Mapping[str, Any],
    options: ReadOptions,
    notes: list[str],
) -> None:
    """
    Decide whether the fleet consists of vehicle types or of identical vehicles.

    ``chosen`` has the arguments of :class:`Instance`; the decision changes it.
    ``asked`` has those of vehicles and capacity that the caller gives. If the vehicle
    types of the file are not used, this is added to ``notes``.
    """
    types, fleet = chosen.get("vehicle_types"), ("vehicles", "capacity")
    if options.vehicle_types is not None:
        chosen["vehicle_types"] = list(options.vehicle_types)
        chosen |= {name: asked.get(name) for name in fleet}
        if types is not None:
            notes.append("the file's vehicle types are not used: others are asked for")
    elif types is not None:
        given = [name for name in fleet if name in asked]
        if len(given) == 1:
            other = fleet[given[0] == "vehicles"]
            raise InputError(
                "the file states vehicle types: leave {field} out, or give "
                f"{{field:{other}}} as well",
                given[0],
            )
        if given:
            chosen["vehicle_types"] = None
            notes.append("the file's vehicle types are not used: others are asked for")


def _choose_times(chosen: dict[str, Any], options: ReadOptions) -> list[Doubt]:
    """
    Complete the times in ``chosen``, which has the arguments of :class:`Instance`.

    If neither the file nor the caller gives a speed or travel times, all other times
    are removed from ``chosen``. If any were given, the result is a list with one
    :class:`Doubt`, which names them. Otherwise the result is empty.
    """
    names = ("service_times", "windows")
    types = chosen.get("vehicle_types")
    given = {name: chosen.get(name) is not None for name in names}
    shift = options.shift or chosen.pop("depot_hours", None)
    chosen.pop("depot_hours", None)
    shifts = shift is not None or any(one.shift is not None for one in types or ())
    has_unit = chosen.get("time_unit") or not (any(given.values()) or shifts)
    if not has_unit and chosen.get("speed") is not None:
        options.refuse("the file states times without a unit", *_OF_DAY)
    if options.speed is not None:
        speed = check_number("speed", options.speed, above(0))
        if chosen.get("time_matrix") is not None:
            options.refuse("the file states travel times", "speed")
        chosen |= {"speed": speed / 60, "time_unit": "min"}
    is_timed = chosen.get("speed") is not None or chosen.get("time_matrix") is not None
    if options.by_road and chosen.get("metric") == "great_circle" and not is_timed:
        chosen |= {"speed": _SPEED_BEFORE_ROADS / 60, "time_unit": "min"}
    if chosen.get("speed") is None and chosen.get("time_matrix") is None:
        given |= {"minutes per stop": options.service_minutes is not None}
        given |= {"shifts": shifts}
        chosen |= dict.fromkeys(names) | {"time_unit": ""}
        if types is not None:
            chosen["vehicle_types"] = [replace(one, shift=None) for one in types]
        words = [name.replace("_", " ") for name, is_given in given.items() if is_given]
        if not words:
            return []
        text = f"{' and '.join(words)} are not considered: give a speed"
        return [Doubt(kind="windows", customers=[], text=text)]
    if options.service_minutes is not None:
        minutes = check_number(
            "minutes per stop",
            options.service_minutes,
            at_least(0),
            field="service_minutes",
        )
        count_of = len(chosen["demands"])
        known = chosen.get("service_times") or [None] * count_of
        chosen["service_times"] = [minutes if one is None else one for one in known]
    elif chosen.get("service_times") is not None:
        chosen["service_times"] = [one or 0.0 for one in chosen["service_times"]]
    if shift is not None:
        if options.shift is not None and shift[0] == 0 and given["windows"]:
            raise InputError(
                "the shift does not say when it begins, but customers have windows: "
                "give its begin and its end",
                "shift",
            )
        if types is None:
            fleet = {
                "count": chosen.pop("vehicles"),
                "capacity": chosen.pop("capacity"),
            }
            types = [VehicleType(**fleet)]
        chosen["vehicle_types"] = add_shift(types, shift)
    return []


def _build(fields: Mapping[str, Any]) -> Instance:
    """
    Return the instance with these arguments.

    With the rounding ``dimacs``, it has a matrix of rounded distances.
    """
    if fields["rounding"] != DIMACS:
        return Instance(**fields)
    instance = Instance(**{**fields, "rounding": "none"})
    matrix = np.floor(10 * instance.distances) / 10
    return replace(instance, matrix=matrix)


def _explain_day(instance: Instance, options: ReadOptions) -> Iterator[str]:
    """Yield notes on vehicle types, on the speed and on the minutes per stop."""
    if instance.vehicle_types is not None and len(instance.fleet) > 1:
        types = count(len(instance.fleet), "vehicle type")
        asked = ", as asked for" if options.vehicle_types is not None else ""
        yield f"fleet of {count(instance.vehicles, 'vehicle')} of {types}{asked}"
    in_minutes = instance.time_unit == "min" and not options.by_road
    if in_minutes and instance.speed is not None:
        unit = length_unit(instance)
        per_hour = f" {unit}/h" if unit else " per hour"
        yield f"travel times from distances at {60 * instance.speed:g}{per_hour}"
    if options.service_minutes is not None and instance.service_times is not None:
        yield f"{options.service_minutes:g} minutes per stop where the file has none"


def _explain(
    stated: Mapping[str, Any], asked: Mapping[str, Any], sources: Mapping[str, str]
) -> Iterator[str]:
    """
    Yield notes that say where rounding, capacity and fleet come from.

    ``stated`` has the values of the file, ``asked`` has those that the caller gives
    instead, and ``sources`` has the places in the file.
    """
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
