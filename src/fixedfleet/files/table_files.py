"""Read and write instances as tables of their locations, in CSV and Excel."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from fixedfleet.doubts import DEPOT_NAME, Doubt
from fixedfleet.errors import InputError, check_choice
from fixedfleet.files.address_columns import (
    ADDRESS_HEADINGS,
    ADDRESS_SETS,
    add_coordinates,
    addresses_of,
    has_addresses,
    place_rows,
)
from fixedfleet.files.excel import format_excel
from fixedfleet.files.reading import build_reading
from fixedfleet.files.stops import axes_of
from fixedfleet.files.table import (
    Column,
    TableError,
    format_csv,
    list_headings,
    read_table,
    split_heading,
)
from fixedfleet.files.text import format_number, shorten, to_whole
from fixedfleet.files.times import (
    format_time,
    parse_duration,
    parse_time,
    parse_window,
)
from fixedfleet.files.vehicle_table import (
    SHEET,
    find_fleet_sheet,
    parse_vehicle_types,
    vehicle_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from fixedfleet.distances import Metric
    from fixedfleet.files.reading import Reading, ReadOptions
    from fixedfleet.files.table import Table
    from fixedfleet.instance import Instance

    Row = list[str | float]

__all__ = [
    "COLUMNS",
    "format_text_table",
    "format_workbook",
    "further_cells",
    "further_headings",
    "instance_rows",
    "parse_instance",
]

# The headings by which each column is recognised, in lower case and without a unit.
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
    **ADDRESS_HEADINGS,
    "minutes": ("minutes", "service", "service time", "service minutes", "minuten",
                "standzeit", "entladezeit", "servicezeit", "stoppzeit"),
    "from": ("from", "earliest", "von", "ab", "frühestens", "fruehestens",
             "lieferung ab", "lieferung von", "anlieferung ab", "anlieferung von",
             "lieferzeit von", "lieferzeit ab"),
    "to": ("to", "latest", "until", "bis", "spätestens", "spaetestens",
           "lieferung bis", "anlieferung bis", "lieferzeit bis"),
    "window": ("window", "time window", "delivery window", "delivery time",
               "lieferfenster", "zeitfenster", "lieferzeit", "anlieferzeit",
               "anlieferfenster"),
    "priority": ("priority", "prio", "priorität", "prioritaet"),
}  # fmt: skip
COLUMNS = tuple(_HEADINGS)
_NAMES = {heading: column for column in COLUMNS for heading in _HEADINGS[column]}
_AMOUNTS = ("x", "y", "demand", "capacity")  # degrees are never thousands
_NUMBERS = ("lat", "lon", "coordinates", *_AMOUNTS)
_AXES = (("lat", "lon"), ("x", "y"))
_NEEDED = [{*pair, "demand"} for pair in (*_AXES, ("coordinates",))]
_NEEDED_WITH_ADDRESSES = [*_NEEDED, *({*few, "demand"} for few in ADDRESS_SETS)]
_LIMITS = {"lat": 90.0, "lon": 180.0}
_LETTERS = {"lat": "NS", "lon": "EOW"}  # O stands for Ost, German for east
_COMMENTS = {
    "name", "capacity", "vehicles", "metric", "rounding", "detour", "unit",
    "length_unit", "speed",
}  # fmt: skip
_OF_DAY = ("minutes", "from", "to", "window", "priority")
_MOST_NAMED = 10  # the largest number of rows in a message


def parse_instance(content: str | bytes, options: ReadOptions) -> Reading:
    """Read an instance from a table with the depot's row and a row per customer."""
    for column in options.columns:
        check_choice("column", column, COLUMNS, field="columns")
    # The depot and one customer more than allowed show that the table is too long, so
    # further rows need not be read.
    most = None if options.max_customers is None else options.max_customers + 2
    table = read_table(
        content,
        _NAMES,
        numbers=_NUMBERS,
        amounts=_AMOUNTS,
        needed=_NEEDED if options.geocode is None else _NEEDED_WITH_ADDRESSES,
        chosen=_chosen(options.columns),
        sheet=options.sheet,
        max_rows=most,
    )
    options.check_size(len(table.rows) - 1)
    _split_coordinates(table)
    by_address = has_addresses(table) and "x" not in table.places
    if by_address and options.geocode is not None:
        add_coordinates(table)
    axes, metric = _axes(table)
    _correct(table, options.corrections)
    table = _without_remarks(table, axes)
    remarks = {}
    if by_address and options.geocode is not None:
        remarks = place_rows(table, options.geocode)
    rows = _Rows(table, axes, metric, remarks)
    order = [_depot_of(rows, options.depot), *rows.customers]
    order = list(dict.fromkeys(order))  # the depot may also be among the customers
    doubts = _unreadable(rows, order, options)
    demands = [rows.demands[i] or 0.0 for i in order[1:]]
    places = [rows.points[i] for i in order]
    table = table.only(order)
    times = _Times(table, options, metric)
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
        "detour": table.number(comments.get("detour", "1"), "comment '# detour:'"),
        "vehicles": vehicles and to_whole(vehicles, fleet_place),
        "capacity": capacity and table.number(capacity, capacity_place),
        "unit": comments.get("unit", rows.unit).strip(),
        "length_unit": comments.get("length_unit", "").strip(),
        "columns": _further(table, axes, times.used),
        **times.fields,
        **_fleet_of_sheet(content, options, table.notes, doubts),
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
        doubts=[*doubts, *times.doubts],
        columns={name: table.column(name).heading for name in table.places},
        dialect=table.dialect,
    )


def _chosen(columns: Mapping[str, str]) -> dict[str, str]:
    """
    Return {name of the column: heading} with the headings that the caller chose.

    If lat and lon have the same heading, both coordinates are in one column: the result
    has the name coordinates instead of lat and lon.
    """
    lat, lon = columns.get("lat"), columns.get("lon")
    if lat is None or lat != lon:
        return dict(columns)
    others = {c: h for c, h in columns.items() if c not in ("lat", "lon")}
    return {**others, "coordinates": lat}


def _split_coordinates(table: Table) -> None:
    """Split a column with both coordinates, such as 51.05, 13.73, into two columns."""
    if "coordinates" not in table.places or {"lat", "lon"} <= table.places.keys():
        return
    heading, cells, _ = table.columns[table.places["coordinates"]]
    pairs = [_pair(cell) for cell in cells]
    for axis in (0, 1):
        texts = [pair[axis] for pair in pairs]
        table.places[("lat", "lon")[axis]] = len(table.columns)
        table.columns.append(Column(heading, texts, texts))


def _pair(cell: str) -> tuple[str, str]:
    """Return the two coordinates in a cell; if it does not hold two, the cell twice."""
    plain = cell.strip().strip("()[]")
    for separator in (";", "/", ", ", " ", ","):
        parts = [part.strip(" ,") for part in plain.split(separator)]
        if len(parts) == 2 and all(parts):
            return parts[0], parts[1]
    return cell, cell


def _axes(table: Table) -> tuple[tuple[str, str], Metric]:
    """
    Return the names of the columns with coordinates, and the metric.

    If a table has lat and lon as well as x and y, lat and lon are used.
    """
    headings = [column.heading for column in table.columns]
    said = list_headings(headings)
    pairs = [pair for pair in _AXES if {*pair} <= table.places.keys()]
    message, field = "", None
    if not pairs and has_addresses(table):
        field = "geocoder"
        message = (
            "the table has addresses, but no latitudes and longitudes: say who finds "
            "places for addresses with {field}, or add columns lat and lon"
        )
    elif not pairs:
        message = (
            f"{said}: name the columns of the place lat and lon, or x and y; or say "
            "which they are, with {field}"
        )
    elif "demand" not in table.places:
        message = (
            f"no column 'demand': {said}; name one demand, or say which it is, with "
            "{field}"
        )
    if message:
        raise TableError(message, headings, table.places, table.sheets, field=field)
    metrics = ("great_circle", "geo") if "lat" in pairs[0] else ("euclidean",)
    metric = table.comments.get("metric", metrics[0]).strip()
    check_choice("metric", metric, metrics)
    return pairs[0], cast("Metric", metric)


def _correct(table: Table, corrections: Mapping[int, Mapping[str, str]]) -> None:
    """Replace cells of a table by the caller's corrections {row: {column: text}}."""
    for row, cells in corrections.items():
        if row not in table.rows:
            raise InputError(f"there is no row {row} to correct", "corrections")
        for column, text in cells.items():
            known = list(table.places)
            check_choice("column", column, known, field="corrections")
            place = table.rows.index(row)
            table.column(column).cells[place] = text
            table.column(column).shown[place] = text
            heading = table.column(column).heading
            table.notes.append(f"row {row}: {heading} is {shorten(text)}, as asked for")


def _without_remarks(table: Table, axes: Sequence[str]) -> Table:
    """
    Return the table without sums, and without remarks below the last customer.

    A remark is a row with one cell only. Notes name the rows.
    """
    ignored: list[int] = []
    filled = [
        [cells[i].strip() for _, cells, _ in table.columns if cells[i].strip()]
        for i in range(len(table.rows))
    ]
    for i in reversed(range(len(table.rows))):
        placed = any(table.column(axis).cells[i].strip() for axis in axes)
        below = len(ignored) == len(table.rows) - 1 - i
        if not placed and (table.is_sum(i) or (below and len(filled[i]) == 1)):
            ignored.append(i)
    for i in reversed(ignored):
        text = shorten(filled[i][0])
        table.notes.append(f"row {table.rows[i]} is not a customer: {text}")
    return table.only([i for i in range(len(table.rows)) if i not in set(ignored)])


class _Rows:
    """The coordinates and demands of all rows, and why some rows cannot be read."""

    def __init__(
        self,
        table: Table,
        axes: Sequence[str],
        metric: Metric,
        remarks: Mapping[int, tuple[str, str]],
    ) -> None:
        self.table, self.axes, self._metric = table, axes, metric
        self.remarks = remarks  # (address, remark on its place) by position of the row
        self.names = table.column("name").shown
        self.addresses = addresses_of(table)  # for messages about a place
        # For each row, the reasons why cells cannot be read, by column.
        self.faults: list[dict[str, str]] = [{} for _ in table.rows]
        # Notes on demands such as "ca. 40", by position of the row.
        self.guesses: dict[int, str] = {}
        columns = [self._read(axis, self._coordinate) for axis in axes]
        self.points = list(zip(*columns, strict=True))
        self.unit = split_heading(table.column("demand").heading)[1]
        self.demands = self._read("demand", self._demand)
        # Rows without a demand: one of them may be the depot.
        self.idle = [
            i
            for i, faults in enumerate(self.faults)
            if not self.demands[i] and not faults
        ]

    @property
    def customers(self) -> list[int]:
        """The positions of the rows that have a demand and can be read."""
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
        # If lat and lon are in one column, both have the same fault: say it once.
        said = list(dict.fromkeys(self.faults[i].values()))
        if self.demands[i] is None and "demand" not in self.faults[i]:
            heading = self.table.column("demand").heading
            said.append(f"{heading} is empty, and only the depot has no demand")
        address = self.addresses[i]
        is_placed = {*self.axes}.isdisjoint(self.faults[i])
        if address and not is_placed and i not in self.remarks:
            said.append(f"the address is {shorten(address, 60)}")
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
                    _, remark = self.remarks.get(i, ("", ""))
                    self.faults[i][column] = remark or f"{heading} is empty"
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
    """
    Return the position of the depot's row.

    ``asked`` is the name of the depot that the caller gives, if any. Otherwise the
    depot is the first row if it has no demand, or else the only row without a demand.
    If several rows have no demand, it is the one whose name says so, such as "Depot". A
    note in the table then says which row it is. Raise InputError if no row fits.
    """
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
                f"{said} named {shorten(str(asked))}: the depot is one row", "depot"
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
        # The caller may choose any row with a unique name as the depot.
        counts = Counter(rows.names)
        names = [name for name in rows.names if name and counts[name] == 1]
        raise TableError(
            f"row {table.rows[depot]} is the depot and has demand {demand:g}, not 0: "
            "put the depot first, or give {field} its name",
            depots=names,
        )
    if demand:
        table.notes.append(f"the demand of the depot, {demand:g}, is ignored")
    return depot


def _unreadable(rows: _Rows, order: Sequence[int], options: ReadOptions) -> list[Doubt]:
    """
    Return a :class:`Doubt` about each row that cannot be read, and about each guess.

    A guess is a demand such as "ca. 40", or a place whose address is doubtful.
    ``order`` has the positions of the rows that were read, depot first. Raise
    InputError if any row cannot be read and the options do not allow unreadable rows,
    or if more than half of the customers' rows cannot be read.
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
            address=rows.remarks.get(i, ("", ""))[0],
        )
        for i, text in zip(bad, said, strict=True)
    ]
    numbers = {place: number for number, place in enumerate(order)}
    guesses = [(i, ["demand"], "", said) for i, said in rows.guesses.items()]
    guesses += [(i, ["lat", "lon"], *both) for i, both in rows.remarks.items()]
    doubts += [
        Doubt(
            kind="guess",
            customers=[number] if (number := numbers[i]) else [],
            text=f"{rows.named(i)}: {said}",
            row=table.rows[i],
            columns=columns,
            address=address,
        )
        for i, columns, address, said in guesses
        if numbers.get(i) or (address and i in numbers)
    ]
    return doubts


class _Times:
    """
    The service times, time windows and priorities in a table with the depot first.

    Times are read if there is a speed, or if roads between latitudes and longitudes
    will give travel times. Otherwise their columns are kept as further columns, and
    a :class:`Doubt` warns about them. A cell that cannot be read is treated like an
    empty one, and a doubt says so.

    ``fields`` are arguments of :class:`Instance`, and ``used`` has the names of the
    columns that they were read from.
    """

    def __init__(self, table: Table, options: ReadOptions, metric: Metric) -> None:
        self.table = table
        self.doubts: list[Doubt] = []
        self.fields: dict[str, Any] = {}
        self.used: set[str] = set()
        if self._is_filled("priority"):
            self._take(["priority"], "priorities", self._priority)
        speed = table.comments.get("speed")
        by_road = options.by_road and metric == "great_circle"
        if speed is None and options.speed is None and not by_road:
            self._warn_about_times()
            return
        if speed is not None:
            hourly = table.number(speed, "comment '# speed:'")
            self.fields |= {"speed": hourly / 60}
        self.fields["time_unit"] = "min"
        if self._is_filled("minutes"):
            self._take(["minutes"], "service_times", self._minutes)
        ends = [name for name in ("from", "to", "window") if self._is_filled(name)]
        if ends:
            self._take(ends, "windows", self._window)

    def _warn_about_times(self) -> None:
        """
        Add a :class:`Doubt` if the table has times: without a speed, they are ignored.
        """
        names = filter(self._is_filled, ("minutes", "from", "to"))
        headings = [repr(self.table.column(name).heading) for name in names]
        if headings:
            verb = "columns {} look" if len(headings) > 1 else "column {} looks"
            text = verb.format(" and ".join(headings)) + (
                " like times, which plans do not consider: give a speed"
            )
            self.doubts.append(Doubt(kind="windows", customers=[], text=text))

    def _is_filled(self, name: str) -> bool:
        return name in self.table.places and any(map(str.strip, self._cells(name)))

    def _cells(self, name: str) -> list[str]:
        return self.table.column(name).cells

    def _take(
        self, names: Sequence[str], field: str, read: Callable[[int], Any]
    ) -> None:
        """
        Read a field of the instance from columns, and add a note that says so.

        ``names`` are the columns, ``field`` is the argument of :class:`Instance`, and
        ``read`` returns the value in the row at a position.
        """
        self.used |= {*names}
        depot, *values = [self._try(read, place, names) for place in self._places()]
        if field == "windows" and depot is not None:
            begin, end = depot
            self.fields["depot_hours"] = (
                begin or 0.0,
                2 * 24 * 60.0 if end is None else end,
            )
        if field != "windows" or any(values):
            self.fields[field] = values
        headings = ", ".join(self.table.column(name).heading for name in names)
        said = "larger numbers are served first if vehicles are missing"
        words = {"priorities": f"priorities ({said})", "service_times": "service times"}
        self.table.notes.append(f"{words.get(field, field)} from column {headings}")

    def _places(self) -> range:
        return range(len(self.table.rows))

    def _try(self, read: Callable[[int], Any], place: int, names: Sequence[str]) -> Any:
        try:
            return read(place)
        except InputError as error:
            row = self.table.rows[place]
            self.doubts.append(
                Doubt(
                    kind="windows",
                    customers=[],
                    text=f"row {row}: {error}; it is not considered",
                    row=row,
                    columns=list(names),
                )
            )
            return 0.0 if names == ["priority"] else None

    def _priority(self, place: int) -> float:
        cell = self._cells("priority")[place].strip()
        heading = self.table.column("priority").heading
        return self.table.number(cell, heading) if cell else 0.0

    def _minutes(self, place: int) -> float | None:
        cell = self._cells("minutes")[place].strip()
        if not cell:
            return None
        return parse_duration(cell, self.table.column("minutes").heading)

    def _window(self, place: int) -> tuple[float | None, float | None] | None:
        whole, begin, end = (
            self._cells(name)[place].strip() for name in ("window", "from", "to")
        )
        window: tuple[float | None, float | None] = (None, None)
        if whole:
            window = parse_window(whole, self.table.column("window").heading)
        if begin:
            heading = self.table.column("from").heading
            window = parse_time(begin, heading), window[1]
        if end:
            window = window[0], parse_time(end, self.table.column("to").heading)
        if window[0] is not None and window[1] is not None and window[1] < window[0]:
            raise InputError(f"the window ends at {end}, before it begins at {begin}")
        return window if any(one is not None for one in window) else None


def _fleet_of_sheet(
    content: str | bytes, options: ReadOptions, notes: list[str], doubts: list[Doubt]
) -> dict[str, Any]:
    """
    Return {"vehicle_types": types} from the sheet of an Excel file that has the fleet.

    The result is empty if there is no such sheet, if it is not used, or if the caller
    gives vehicle types. A note says that a sheet without capacities is not used. A
    sheet with a fault is added to ``doubts``, because its fleet would be missed.
    """
    sheet = find_fleet_sheet(content)
    if sheet is None or options.vehicle_types is not None:
        return {}
    try:
        types, further = parse_vehicle_types(content, sheet)
    except InputError as error:
        text = f"sheet {shorten(sheet)} is not used: {error}"
        if isinstance(error, TableError):
            notes.append(text)
        else:
            doubts.append(Doubt(kind="fleet", customers=[], text=text))
        return {}
    notes += [f"vehicle types from sheet {shorten(sheet)}", *further]
    return {"vehicle_types": types}


def _further(
    table: Table, axes: Sequence[str], used: Collection[str]
) -> dict[str, list[str]]:
    """
    Return the columns that planning does not need, by heading.

    They are copied into the tables of plans. ``used`` has the names of the columns
    with times and priorities that were read.
    """
    columns: dict[str, list[str]] = {}
    unused = {axis for pair in (*_AXES, ("coordinates",)) for axis in pair} - {*axes}
    unused |= {*_OF_DAY} - {*used}
    if axes == ("lat", "lon") and table.column("lat").heading == (
        table.column("coordinates").heading
    ):
        unused -= {"coordinates"}
    unused |= ADDRESS_HEADINGS.keys()
    known = {place for name, place in table.places.items() if name not in unused}
    for place, (heading, _, shown) in enumerate(table.columns):
        if place in known:
            continue
        if heading:
            columns[_free_heading(heading, columns)] = shown
        elif any(cell.strip() for cell in shown):  # an empty column needs no note
            table.notes.append("a column without a heading was ignored")
    if columns:
        table.notes.append(f"further columns: {', '.join(columns)}")
    return columns


def _free_heading(heading: str, used: Iterable[str]) -> str:
    """Return the heading, with a number after it if ``used`` already has it."""
    taken = {other.casefold() for other in used}
    free, number = heading, 2
    while free.casefold() in taken:
        free, number = f"{heading} {number}", number + 1
    return free


def _constant(table: Table, key: str) -> tuple[str | None, str]:
    """
    Return the value that a comment or a column states for all vehicles, and its place.

    If the table states none, the value is None, and the place is where to write it.
    The place is for messages.
    """
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


def format_text_table(instance: Instance) -> str:
    """
    Return an instance as CSV.

    Raise InputError if it has vehicle types, because these need a second table.
    """
    if instance.vehicle_types is not None:
        raise InputError("a CSV file cannot hold vehicle types: write .xlsx or .json")
    return format_csv(instance_rows(instance))


def format_workbook(instance: Instance) -> bytes:
    """Return an instance as an Excel file, with a sheet for the vehicle types."""
    types = instance.vehicle_types
    further = {} if types is None else {SHEET: vehicle_rows(types)}
    return format_excel(instance_rows(instance), further)


def instance_rows(instance: Instance) -> list[Row]:
    """
    Return an instance as a table: comments, headings, the depot, then the customers.

    The comments state the fleet. Vehicle types are left out: they need another table.
    """
    if instance.matrix is not None:
        raise InputError("a table cannot hold distances: write .json or .vrp")
    if instance.time_matrix is not None:
        raise InputError("a table cannot hold travel times: write .json")
    times = _time_columns(instance)
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
        "detour": "" if instance.detour == 1 else format_number(instance.detour),
        "unit": instance.unit,
        "length_unit": instance.length_unit,
        "speed": "" if instance.speed is None else format_number(60 * instance.speed),
    }
    if instance.vehicle_types is not None:
        comments |= {"capacity": "", "vehicles": ""}
    rows: list[Row] = [[f"# {key}: {said}"] for key, said in comments.items() if said]
    named = instance.names is not None or instance.depot_name != "depot"
    own = [*axes_of(instance), "demand", *(["name"] if named else []), *times]
    rows.append([*own, *further_headings(instance, own)])
    names = (instance.depot_name, *(instance.names or [""] * instance.num_customers))
    demands = (0, *instance.demands)
    for location, point in enumerate(instance.coordinates):
        cells: Row = [*point, demands[location], *([names[location]] if named else [])]
        cells += [column[location] for column in times.values()]
        rows.append([*cells, *further_cells(instance, location)])
    return rows


def _time_columns(instance: Instance) -> dict[str, Row]:
    """
    Return the columns minutes, from, to and priority, by heading.

    Columns for which the instance has no values are left out. Raise InputError if the
    times of the instance are not in minutes.
    """
    if instance.speed is not None and (
        instance.time_unit != "min" or 60 * instance.speed / 60 != instance.speed
    ):
        raise InputError("a table has times in minutes only: write .json")
    columns: dict[str, Row] = {}
    if instance.service_times is not None:
        columns["minutes"] = ["", *instance.service_times.tolist()]
    if instance.windows is not None:
        begins, ends = instance.windows.T.tolist()
        columns["from"] = ["", *(format_time(time) if time else "" for time in begins)]
        columns["to"] = ["", *("" if math.isinf(t) else format_time(t) for t in ends)]
    if instance.priorities is not None:
        columns["priority"] = ["", *instance.priorities.tolist()]
    return columns


def further_headings(instance: Instance, own: Sequence[str]) -> list[str]:
    """
    Return the headings of the columns that planning does not need.

    They differ from the headings in ``own``. Raise InputError for a heading that a
    table cannot hold.
    """
    used = list(own)
    for heading in instance.columns:
        if not heading.strip() or heading != heading.strip():
            raise InputError(f"a table cannot hold the heading {shorten(heading)}")
        used.append(_free_heading(heading, used))
    return used[len(own) :]


def further_cells(instance: Instance, location: int) -> list[str]:
    """Return the cells of a location in the columns that planning does not need."""
    return [texts[location] for texts in instance.columns.values()]
