"""Instances as a table of locations, plans as a table of stops: CSV and Excel."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, cast

from fixedfleet.doubts import DEPOT_NAME, Doubt
from fixedfleet.errors import InputError, check_choice
from fixedfleet.files.reading import build_reading
from fixedfleet.files.stops import Stop, axes_of, plan_of
from fixedfleet.files.table import (
    Column,
    TableError,
    list_headings,
    read_table,
    split_heading,
)
from fixedfleet.files.text import format_number, shorten, to_whole
from fixedfleet.wording import length_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fixedfleet.distances import Metric
    from fixedfleet.files.reading import Reading, ReadOptions
    from fixedfleet.files.table import Table
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

    Row = list[str | float]

__all__ = [
    "COLUMNS",
    "instance_rows",
    "parse_instance",
    "parse_plan",
    "plan_rows",
    "total_rows",
]

# The headings of each column, in lower case and without a unit.
_HEADINGS = {
    "x": ("x",),
    "y": ("y",),
    "lat": ("lat", "latitude", "breite", "breitengrad", "geobreite"),
    "lon": ("lon", "lng", "long", "longitude", "länge", "laenge", "längengrad",
            "laengengrad", "geolänge", "geolaenge"),
    "coordinates": ("coordinates", "coords", "lat/lon", "lat, lon", "latlon", "gps",
                    "koordinaten", "geokoordinaten", "gps-koordinaten"),
    "demand": ("demand", "quantity", "qty", "amount", "weight", "menge", "liefermenge",
               "bedarf", "gewicht", "gew", "anzahl"),
    "name": ("name", "kunde", "kundenname", "firma", "customer name"),
    "capacity": ("capacity", "kapazität"),
    "vehicles": ("vehicles", "fahrzeuge"),
}  # fmt: skip
COLUMNS = tuple(_HEADINGS)
_NAMES = {heading: column for column in COLUMNS for heading in _HEADINGS[column]}
_NUMBERS = ("x", "y", "lat", "lon", "coordinates", "demand", "capacity")
_AXES = (("lat", "lon"), ("x", "y"))
_NEEDED = [{*pair, "demand"} for pair in (*_AXES, ("coordinates",))]
_LIMITS = {"lat": 90.0, "lon": 180.0}
_LETTERS = {"lat": "NS", "lon": "EOW"}  # O is the German east
_COMMENTS = {
    "name", "capacity", "vehicles", "metric", "rounding", "unit", "length_unit",
}  # fmt: skip
_UNSERVED = "unserved"  # in the column "tour" of a plan
_MOST_NAMED = 10  # rows in a message


def parse_instance(content: str | bytes, options: ReadOptions) -> Reading:
    """Read an instance from a table with the depot's row and a row per customer."""
    for column in options.columns:
        check_choice("column", column, COLUMNS)
    # With the depot and one customer too many, the table is seen to be too long.
    most = None if options.max_customers is None else options.max_customers + 2
    table = read_table(
        content,
        _NAMES,
        numbers=_NUMBERS,
        needed=_NEEDED,
        chosen=_chosen(options.columns),
        sheet=options.sheet,
        max_rows=most,
    )
    options.check_size(len(table.rows) - 1)
    _split_coordinates(table)
    axes, metric = _axes(table)
    _correct(table, options.corrections)
    rows = _Rows(table, axes, metric)
    order = [_depot_of(rows, options.depot), *rows.customers]
    order = list(dict.fromkeys(order))  # the depot is no customer
    doubts = _unreadable(rows, order, options)
    demands = [rows.demands[i] or 0.0 for i in order[1:]]
    places = [rows.points[i] for i in order]
    table = table.only(order)
    depot_name, *names = table.column("name").shown
    numbered = [name or str(i) for i, name in enumerate(names, 1)]
    comments = table.comments
    vehicles, fleet_place = _constant(table, "vehicles")
    capacity, capacity_place = _constant(table, "capacity")
    fields = {
        "depot": places[0],
        "customers": places[1:],
        "demands": demands,
        "names": numbered if any(names) else None,
        "depot_name": depot_name or "depot",
        "name": comments.get("name", ""),
        "metric": metric,
        "rounding": comments.get("rounding", "none").strip(),
        "vehicles": vehicles and to_whole(vehicles, fleet_place),
        "capacity": capacity and table.number(capacity, capacity_place),
        "unit": comments.get("unit", rows.unit).strip(),
        "length_unit": comments.get("length_unit", "").strip(),
        "columns": _further(table, axes),
    }
    for column, heading in options.columns.items():
        table.notes.append(f"column {shorten(heading)} is the {column}, as asked for")
    if unknown := sorted(comments.keys() - _COMMENTS):
        table.notes.append(f"comments ignored: {', '.join(unknown)}")
    return build_reading(
        fields,
        {"vehicles": fleet_place, "capacity": capacity_place},
        options,
        table.notes,
        rows=table.rows,
        doubts=doubts,
        columns={name: table.column(name).heading for name in table.places},
        dialect=table.dialect,
    )


def _chosen(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the headings that the caller chose; lat and lon may share a column."""
    lat, lon = columns.get("lat"), columns.get("lon")
    if lat is None or lat != lon:
        return dict(columns)
    others = {c: h for c, h in columns.items() if c not in ("lat", "lon")}
    return {**others, "coordinates": lat}


def _split_coordinates(table: Table) -> None:
    """Make two columns of one that has both coordinates: 51.05, 13.73."""
    if "coordinates" not in table.places or {"lat", "lon"} <= table.places.keys():
        return
    heading, cells, _ = table.columns[table.places["coordinates"]]
    pairs = [_pair(cell) for cell in cells]
    for axis in (0, 1):
        texts = [pair[axis] for pair in pairs]
        table.places[("lat", "lon")[axis]] = len(table.columns)
        table.columns.append(Column(heading, texts, texts))


def _pair(cell: str) -> tuple[str, str]:
    """Return the two coordinates in a cell; the cell itself twice if it has not two."""
    plain = cell.strip().strip("()[]")
    for separator in (";", "/", ", ", " ", ","):
        parts = [part.strip(" ,") for part in plain.split(separator)]
        if len(parts) == 2 and all(parts):
            return parts[0], parts[1]
    return cell, cell


def _axes(table: Table) -> tuple[tuple[str, str], Metric]:
    """Return the columns of coordinates, preferably lat and lon, and the metric."""
    headings = [column.heading for column in table.columns]
    said = list_headings(headings)
    pairs = [pair for pair in _AXES if {*pair} <= table.places.keys()]
    message = ""
    if not pairs:
        message = (
            f"{said}: name the columns of the place lat and lon, or x and y; or say "
            "which they are, with columns="
        )
    elif "demand" not in table.places:
        message = (
            f"no column 'demand': {said}; name one demand, or say which it is, with "
            "columns="
        )
    if message:
        raise TableError(message, headings, table.places, table.sheets)
    metrics = ("great_circle", "geo") if "lat" in pairs[0] else ("euclidean",)
    metric = table.comments.get("metric", metrics[0]).strip()
    check_choice("metric", metric, metrics)
    return pairs[0], cast("Metric", metric)


def _correct(table: Table, corrections: Mapping[int, Mapping[str, str]]) -> None:
    """Replace cells by what the caller says instead, by row and column."""
    for row, cells in corrections.items():
        if row not in table.rows:
            raise InputError(f"there is no row {row} to correct")
        for column, text in cells.items():
            check_choice("column", column, list(table.places))
            place = table.rows.index(row)
            table.column(column).cells[place] = text
            table.column(column).shown[place] = text
            heading = table.column(column).heading
            table.notes.append(f"row {row}: {heading} is {shorten(text)}, as asked for")


class _Rows:
    """The places and demands of all rows, and why some cannot be read."""

    def __init__(self, table: Table, axes: Sequence[str], metric: Metric) -> None:
        self.table, self.axes, self._metric = table, axes, metric
        self.names = table.column("name").shown
        self.faults: list[dict[str, str]] = [{} for _ in table.rows]  # by column
        self.guesses: dict[int, str] = {}  # demands such as "ca. 40"
        columns = [self._read(axis, self._coordinate) for axis in axes]
        self.points = list(zip(*columns, strict=True))
        self.unit = split_heading(table.column("demand").heading)[1]
        self.demands = self._read("demand", self._demand)
        # The depot is the only row without a demand.
        self.idle = [
            i
            for i, faults in enumerate(self.faults)
            if not self.demands[i] and not faults
        ]

    @property
    def customers(self) -> list[int]:
        """The rows that can be customers."""
        return [
            i
            for i, demand in enumerate(self.demands)
            if demand is not None and not self.faults[i]
        ]

    def named(self, i: int) -> str:
        """Return a row's number and name, for messages."""
        name = self.names[i].strip()
        return f"row {self.table.rows[i]}" + (f" ({name[:40]})" if name else "")

    def fault_of(self, i: int) -> str:
        """Return why a row is not a customer; an empty text if it is one."""
        said = list(dict.fromkeys(self.faults[i].values()))  # both of one column once
        if self.demands[i] is None and "demand" not in self.faults[i]:
            heading = self.table.column("demand").heading
            said.append(f"{heading} is empty, and only the depot has no demand")
        return f"{self.named(i)}: {'; '.join(said)}" if said else ""

    def _read(
        self, column: str, read: Callable[[str, int, str], float]
    ) -> list[float | None]:
        heading, cells, _ = self.table.column(column)
        values: list[float | None] = []
        for i, cell in enumerate(cells):
            value = None
            try:
                if cell.strip():
                    value = read(column, i, cell)
                elif column != "demand":
                    self.faults[i][column] = f"{heading} is empty"
            except InputError as error:
                self.faults[i][column] = str(error)
            values.append(value)
        return values

    def _coordinate(self, axis: str, _row: int, cell: str) -> float:
        heading = self.table.column(axis).heading
        if axis not in _LIMITS:
            return self.table.number(cell, heading)
        value = self.table.degrees(cell, heading, _LETTERS[axis])
        if self._metric == "great_circle" and abs(value) > _LIMITS[axis]:
            swapped = abs(value) <= _LIMITS["lon"]
            raise InputError(
                f"{heading} is {value:g}, not within ±{_LIMITS[axis]:g} degrees; "
                f"{'are lat and lon swapped' if swapped else 'is a decimal sign lost'}?"
            )
        return value

    def _demand(self, column: str, row: int, cell: str) -> float:
        heading = self.table.column(column).heading
        value, unit, is_guess = self.table.quantity(cell, heading)
        if value < 0:
            raise InputError(f"{heading} is {value:g}, not at least 0")
        self.unit = self.unit or unit
        if unit and unit.casefold() != self.unit.casefold():
            raise InputError(
                f"{heading} is {shorten(cell.strip())}, but others are in {self.unit}"
            )
        if is_guess:
            self.guesses[row] = (
                f"{heading} {shorten(cell.strip())} was read as {value:g}"
            )
        return value


def _depot_of(rows: _Rows, asked: str | int | None) -> int:
    """Return the row of the depot, and note why it is."""
    table = rows.table
    if len(table.rows) < 2:
        raise InputError(
            "no customers: write a row for the depot and one per customer under the "
            "headings"
        )
    if asked is not None:
        found = [i for i, name in enumerate(rows.names) if name == str(asked)]
        if len(found) != 1:
            said = f"{len(found)} rows are" if found else "no row is"
            raise InputError(
                f"{said} named {shorten(str(asked))}: the depot is one row"
            )
    elif 0 in rows.idle:
        table.notes.append(f"the depot is the first row (row {table.rows[0]})")
        return 0
    else:
        like = [i for i in rows.idle if DEPOT_NAME.search(rows.names[i])]
        found = like if len(like) == 1 else rows.idle
        if len(found) != 1 or rows.faults[0]:
            found = [0]
        else:
            table.notes.append(
                f"the depot is {rows.named(found[0])}, which has no demand"
            )
    (depot,) = found
    demand = rows.demands[depot]
    if fault := "; ".join(rows.faults[depot].values()):
        raise InputError(f"row {table.rows[depot]}: {fault}; this row is the depot")
    if demand and asked is None:
        # Any row with a place may be the depot, if its name is unique.
        counts = Counter(rows.names)
        names = [name for name in rows.names if name and counts[name] == 1]
        raise TableError(
            f"row {table.rows[depot]} is the depot and has demand {demand:g}, not 0: "
            "put the depot first, or give depot= its name",
            depots=names,
        )
    if demand:
        table.notes.append(f"the demand of the depot, {demand:g}, is ignored")
    return depot


def _unreadable(rows: _Rows, order: Sequence[int], options: ReadOptions) -> list[Doubt]:
    """
    Return a doubt for each row that is not a customer, and for each guess.

    Without the caller's consent, or if they are more than half of the customers' rows,
    raise InputError with all of them.
    """
    table = rows.table
    read = set(order)
    bad = [i for i in range(len(table.rows)) if i not in read]
    said = [rows.fault_of(i) for i in bad]
    many = 2 * len(bad) > len(table.rows) - 1
    if bad and (many or not options.allow_unreadable):
        if len(said) == 1:
            raise InputError(said[0])
        more = f" and {len(said) - _MOST_NAMED} more" * (len(said) > _MOST_NAMED)
        listed = ". ".join(said[:_MOST_NAMED])
        raise InputError(f"{len(bad)} rows cannot be read: {listed}{more}")
    if bad:
        table.notes.append(f"rows left out, because they cannot be read: {len(bad)}")
    doubts = [
        Doubt(
            kind="unreadable",
            customers=[],
            text=text,
            row=table.rows[i],
            columns=list(rows.faults[i]) or ["demand"],
        )
        for i, text in zip(bad, said, strict=True)
    ]
    numbers = {place: number for number, place in enumerate(order)}
    doubts += [
        Doubt(
            kind="guess",
            customers=[numbers[i]],
            text=f"{rows.named(i)}: {said}",
            row=table.rows[i],
            columns=["demand"],
        )
        for i, said in rows.guesses.items()
        if numbers.get(i)
    ]
    return doubts


def _further(table: Table, axes: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that planning does not need, by heading; plans repeat them."""
    columns: dict[str, list[str]] = {}
    unused = {axis for pair in (*_AXES, ("coordinates",)) for axis in pair} - {*axes}
    if axes == ("lat", "lon") and table.column("lat").heading == (
        table.column("coordinates").heading
    ):
        unused -= {"coordinates"}
    known = {place for name, place in table.places.items() if name not in unused}
    for place, (heading, _, shown) in enumerate(table.columns):
        if place in known:
            continue
        if heading:
            columns[_free_heading(heading, columns)] = shown
        elif any(cell.strip() for cell in shown):  # spreadsheets leave empty columns
            table.notes.append("a column without a heading was ignored")
    if columns:
        table.notes.append(f"further columns: {', '.join(columns)}")
    return columns


def _free_heading(heading: str, used: Iterable[str]) -> str:
    """Return the heading, with a number after it if it is in use."""
    taken = {other.casefold() for other in used}
    free, number = heading, 2
    while free.casefold() in taken:
        free, number = f"{heading} {number}", number + 1
    return free


def _constant(table: Table, key: str) -> tuple[str | None, str]:
    """Return what a comment or a column says for all vehicles, and where."""
    if key in table.comments:
        return table.comments[key], f"comment '# {key}:'"
    said: str | None = None
    for row, text in zip(table.rows, table.column(key).cells, strict=True):
        cell = text.strip()
        if cell and cell != (said or cell):
            raise InputError(
                f"row {row}: {key} is {shorten(cell)}, above it is {shorten(said)}; "
                "all vehicles are alike"
            )
        said = cell or said
    if said is None:
        return None, f"the line '# {key}: …'"
    return said, f"column {table.column(key).heading}"


def instance_rows(instance: Instance) -> list[Row]:
    """Return an instance as a table, depot first, after comments with the fleet."""
    if instance.matrix is not None:
        raise InputError("a table cannot hold distances: write .json or .vrp")
    given = (instance.depot_name, *(instance.names or ()))
    if "" in given:
        raise InputError(
            f"a table cannot hold the empty name of location {given.index('')} (0 is "
            "the depot): write .json"
        )
    comments = {
        "name": instance.name,
        "capacity": format_number(instance.capacity),
        "vehicles": instance.vehicles,
        "metric": instance.metric,
        "rounding": instance.rounding,
        "unit": instance.unit,
        "length_unit": instance.length_unit,
    }
    rows: list[Row] = [[f"# {key}: {said}"] for key, said in comments.items() if said]
    named = instance.names is not None or instance.depot_name != "depot"
    own = [*axes_of(instance), "demand", *(["name"] if named else [])]
    rows.append([*own, *_further_headings(instance, own)])
    names = (instance.depot_name, *(instance.names or [""] * instance.num_customers))
    demands = (0, *instance.demands)
    for location, point in enumerate(instance.coordinates):
        cells: Row = [*point, demands[location], *([names[location]] if named else [])]
        rows.append([*cells, *_further_cells(instance, location)])
    return rows


def _further_headings(instance: Instance, own: Sequence[str]) -> list[str]:
    used = list(own)
    for heading in instance.columns:
        if not heading.strip() or heading != heading.strip():
            raise InputError(f"a table cannot hold the heading {shorten(heading)}")
        used.append(_free_heading(heading, used))
    return used[len(own) :]


def _further_cells(instance: Instance, location: int) -> list[str]:
    return [texts[location] for texts in instance.columns.values()]


def plan_rows(plan: Plan, instance: Instance) -> list[Row]:
    """Return a plan as a table: a row per stop, then the unserved customers."""
    axes = axes_of(instance) if instance.has_coordinates else ()
    own = ["tour", "stop", "customer", "name", "demand", *axes]

    def row(tour: str | int, stop: str | int, customer: int) -> Row:
        point = instance.coordinates[customer] if axes else ()
        name, demand = instance.name_of(customer), instance.demands[customer - 1]
        further = _further_cells(instance, customer)
        return [tour, stop, customer, name, demand, *point, *further]

    rows: list[Row] = [[*own, *_further_headings(instance, own)]]
    for number, tour in enumerate(plan, 1):
        rows += [row(number, stop, customer) for stop, customer in enumerate(tour, 1)]
    rows += [row(_UNSERVED, "", customer) for customer in plan.unserved(instance)]
    return rows


def total_rows(plan: Plan, instance: Instance) -> list[Row]:
    """Return a row per tour with its stops, load and length, and a row for all."""
    loads, lengths = plan.loads(instance), plan.tour_lengths(instance)
    room, unit = instance.capacity, instance.unit
    way = "length" + (f" ({length_unit(instance)})" if length_unit(instance) else "")
    amount = f"load ({unit})" if unit else "load"
    rows: list[Row] = [["tour", "stops", amount, "capacity", "room left", way]]
    tours = zip(plan, loads, lengths, strict=True)
    for number, (tour, load, length) in enumerate(tours, 1):
        left = _difference(room, load)
        rows.append([number, len(tour), load, room, left, round(length, 3)])
    all_room, all_load = room * plan.vehicles, math.fsum(loads)
    sums: Row = ["all", sum(map(len, plan)), all_load, all_room]
    rows.append([*sums, _difference(all_room, all_load), round(sum(lengths), 3)])
    return rows


def _difference(room: float, load: float) -> float:
    """Return what is left of the room, without the rounding errors of a sum."""
    return round(room - load, 6)


def parse_plan(content: str | bytes, instance: Instance | None = None) -> Plan:
    """
    Read a plan from the columns tour, stop and customer.

    With an instance, the other columns say which of its customers is meant
    (:func:`fixedfleet.files.stops.plan_of`).
    """
    names = ("tour", "stop", "customer")
    table = read_table(
        content, {name: name for name in names}, numbers=names, needed=[names]
    )
    for name in names:
        if name not in table.places:
            raise InputError(f"no column {name!r} in the header of a plan")
    others = [column for column in table.columns if column.heading not in names]
    tours: dict[int, dict[int, Stop]] = {}
    columns = [table.column(name).cells for name in names]
    for i, (row, *cells) in enumerate(zip(table.rows, *columns, strict=True)):
        if cells[0].strip() == _UNSERVED:
            continue
        tour, stop, customer = (
            to_whole(cell, f"row {row}: {name}", least=int(name == "customer"))
            for cell, name in zip(cells, names, strict=True)
        )
        if stop in tours.setdefault(tour, {}):
            raise InputError(f"row {row}: a second stop {stop} of tour {tour}")
        texts = {column.heading: column.shown[i] for column in others}
        tours[tour][stop] = Stop(f"row {row}", customer, texts)
    inner = ([stop for _, stop in sorted(tours[t].items())] for t in sorted(tours))
    return plan_of(inner, instance)
