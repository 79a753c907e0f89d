"""Instances as a table of locations, plans as a table of stops: CSV and Excel."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fixedfleet.errors import InputError, check_choice
from fixedfleet.files.reading import build_reading
from fixedfleet.files.stops import Stop, axes_of, plan_of
from fixedfleet.files.table import (
    TableError,
    list_headings,
    read_table,
    split_heading,
)
from fixedfleet.files.text import format_number, shorten, to_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fixedfleet.distances import Metric
    from fixedfleet.files.reading import Reading, ReadOptions
    from fixedfleet.files.table import Table
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

    Row = list[str | float]

__all__ = ["COLUMNS", "instance_rows", "parse_instance", "parse_plan", "plan_rows"]

# The headings of each column, in lower case and without a unit.
_HEADINGS = {
    "x": ("x",),
    "y": ("y",),
    "lat": ("lat", "latitude", "breite", "breitengrad", "geobreite"),
    "lon": ("lon", "lng", "long", "longitude", "länge", "laenge", "längengrad",
            "laengengrad", "geolänge", "geolaenge"),
    "demand": ("demand", "quantity", "qty", "amount", "weight", "menge", "liefermenge",
               "bedarf", "gewicht", "anzahl"),
    "name": ("name", "kunde", "kundenname", "firma", "customer name"),
    "capacity": ("capacity", "kapazität"),
    "vehicles": ("vehicles", "fahrzeuge"),
}  # fmt: skip
COLUMNS = tuple(_HEADINGS)
_NAMES = {heading: column for column in COLUMNS for heading in _HEADINGS[column]}
_NUMBERS = ("x", "y", "lat", "lon", "demand", "capacity")
_AXES = (("lat", "lon"), ("x", "y"))
_LIMITS = {"lat": 90.0, "lon": 180.0}
_COMMENTS = {
    "name", "capacity", "vehicles", "metric", "rounding", "unit", "length_unit",
}  # fmt: skip
_UNSERVED = "unserved"  # in the column "tour" of a plan


def parse_instance(content: str | bytes, options: ReadOptions) -> Reading:
    """Read an instance from a table with the depot's row and a row per customer."""
    for column in options.columns:
        check_choice("column", column, COLUMNS)
    # With the depot and one customer too many, the table is seen to be too long.
    most = None if options.max_customers is None else options.max_customers + 2
    table = read_table(
        content, _NAMES, numbers=_NUMBERS, chosen=options.columns, max_rows=most
    )
    options.check_size(len(table.rows) - 1)
    axes, metric = _axes(table)
    _move_depot(table, options)
    depot, *customers = zip(
        *(_coordinates(table, axis, metric) for axis in axes), strict=True
    )
    depot_name, *names = table.column("name").cells
    numbered = [name or str(i) for i, name in enumerate(names, 1)]
    comments = table.comments
    vehicles, fleet_place = _constant(table, "vehicles")
    capacity, capacity_place = _constant(table, "capacity")
    unit = split_heading(table.column("demand").heading)[1]
    fields = {
        "depot": depot,
        "customers": customers,
        "demands": _demands(table),
        "names": numbered if any(names) else None,
        "depot_name": depot_name or "depot",
        "name": comments.get("name", ""),
        "metric": metric,
        "rounding": comments.get("rounding", "none").strip(),
        "vehicles": vehicles and to_whole(vehicles, fleet_place),
        "capacity": capacity and table.number(capacity, capacity_place),
        "unit": comments.get("unit", unit).strip(),
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
        dialect=table.dialect,
    )


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
        raise TableError(message, headings, table.places)
    metrics = ("great_circle", "geo") if "lat" in pairs[0] else ("euclidean",)
    metric = table.comments.get("metric", metrics[0]).strip()
    check_choice("metric", metric, metrics)
    return pairs[0], cast("Metric", metric)


def _move_depot(table: Table, options: ReadOptions) -> None:
    """Make the depot's row the first one."""
    if len(table.rows) < 2:
        raise InputError(
            "no customers: write a row for the depot and one per customer under the "
            "headings"
        )
    if options.depot is None:
        table.notes.append(f"the depot is the first row (row {table.rows[0]})")
        return
    names = table.column("name").cells
    found = [i for i, name in enumerate(names) if name == str(options.depot)]
    if len(found) != 1:
        said = f"{len(found)} rows are" if found else "no row is"
        raise InputError(
            f"{said} named {shorten(str(options.depot))}: the depot is one row"
        )
    table.rows.insert(0, table.rows.pop(found[0]))
    for column in table.columns:
        column.cells.insert(0, column.cells.pop(found[0]))


def _coordinates(table: Table, axis: str, metric: Metric) -> list[float]:
    values = []
    numbers = table.numbers(axis, degrees=axis in _LIMITS)
    for row, value in zip(table.rows, numbers, strict=True):
        what = f"row {row}: {table.column(axis).heading}"
        if value is None:
            raise InputError(f"{what} is empty, so the place is not known")
        if metric == "great_circle" and abs(value) > _LIMITS[axis]:
            swapped = abs(value) <= _LIMITS["lon"]
            raise InputError(
                f"{what} is {value:g}, not within ±{_LIMITS[axis]:g} degrees; "
                f"{'are lat and lon swapped' if swapped else 'is a decimal sign lost'}?"
            )
        values.append(value)
    return values


def _demands(table: Table) -> list[float]:
    """Return the demands of the customers; the depot, in the first row, has none."""
    depot, *demands = table.numbers("demand")
    if depot:
        raise InputError(
            f"row {table.rows[0]} is the depot and has demand {depot:g}, not 0: put "
            "the depot first, or give depot= its name"
        )
    for row, demand in zip(table.rows[1:], demands, strict=True):
        what = f"row {row}: {table.column('demand').heading}"
        if demand is None:
            raise InputError(
                f"{what} is empty; only the depot has no demand, and there is one "
                f"depot, in row {table.rows[0]}"
            )
        if demand < 0:
            raise InputError(f"{what} is {demand:g}, not at least 0")
    return [demand or 0.0 for demand in demands]


def _further(table: Table, axes: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns that planning does not need, by heading; plans repeat them."""
    columns: dict[str, list[str]] = {}
    unused = {axis for pair in _AXES for axis in pair} - {*axes}
    known = {place for name, place in table.places.items() if name not in unused}
    for place, (heading, cells) in enumerate(table.columns):
        if place in known:
            continue
        if heading:
            columns[_free_heading(heading, columns)] = cells
        elif any(cell.strip() for cell in cells):  # spreadsheets leave empty columns
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


def parse_plan(content: str | bytes, instance: Instance | None = None) -> Plan:
    """
    Read a plan from the columns tour, stop and customer.

    With an instance, the other columns say which of its customers is meant
    (:func:`fixedfleet.files.stops.plan_of`).
    """
    names = ("tour", "stop", "customer")
    table = read_table(content, {name: name for name in names}, numbers=names)
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
        texts = {column.heading: column.cells[i] for column in others}
        tours[tour][stop] = Stop(f"row {row}", customer, texts)
    inner = ([stop for _, stop in sorted(tours[t].items())] for t in sorted(tours))
    return plan_of(inner, instance)
