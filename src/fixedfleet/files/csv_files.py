"""CSV: instances as a table of locations, plans as a table of stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, get_args

from fixedfleet.distances import Rounding
from fixedfleet.errors import InputError
from fixedfleet.files.csv_table import (
    Table,
    escape_formula,
    format_row,
    read_table,
    unescape_formula,
)
from fixedfleet.files.text import format_number, shorten, to_number, to_whole
from fixedfleet.instance import Instance
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.distances import Metric
    from fixedfleet.files.context import ReadContext

__all__ = ["format_instance", "format_plan", "parse_instance", "parse_plan"]

_NAMES = {
    "x": "x",
    "y": "y",
    "lat": "lat",
    "latitude": "lat",
    "lon": "lon",
    "lng": "lon",
    "long": "lon",
    "longitude": "lon",
    "demand": "demand",
    "name": "name",
    "capacity": "capacity",
    "vehicles": "vehicles",
}
_LIMITS = {"lat": 90.0, "lon": 180.0}
_COMMENTS = ("name", "capacity", "vehicles", "metric", "rounding")


@dataclass(frozen=True)
class _Location:
    """One row of the table."""

    line: int
    point: tuple[float, float]
    demand: float | None
    name: str


def parse_instance(text: str, context: ReadContext) -> Instance:
    """Read an instance from a table with the depot's row and a row per customer."""
    most = None if context.max_customers is None else context.max_customers + 1
    table = read_table(text, _NAMES, max_rows=most)
    context.check_size(len(table.rows) - 1)
    axes, metric = _axes(table)
    locations = [_location(table, row, axes, metric) for row in table.rows]
    depot = _depot(locations, context)
    customers = [place for place in locations if place is not depot]
    if not customers:
        raise InputError("no customers: the table has only the depot's row")
    rounding = _rounding(table, context)
    if table.ignored:
        context.notes.append(
            f"columns ignored: {', '.join(map(shorten, table.ignored))}"
        )
    if unknown := sorted(table.comments.keys() - set(_COMMENTS)):
        context.notes.append(f"comments ignored: {', '.join(unknown)}")
    names = [place.name or str(i) for i, place in enumerate(customers, 1)]
    return Instance(
        depot=depot.point,
        customers=[place.point for place in customers],
        demands=[_demand(place) for place in customers],
        capacity=_capacity(table, context),
        vehicles=_vehicles(table, context),
        names=names if any(place.name for place in customers) else None,
        depot_name=depot.name or "depot",
        name=table.comments.get("name", ""),
        metric=metric,
        rounding=rounding,
    )


def _axes(table: Table) -> tuple[tuple[str, str], Metric]:
    """Return the two columns of coordinates and their metric."""
    pairs = [p for p in (("x", "y"), ("lat", "lon")) if table.columns.keys() & {*p}]
    if len(pairs) != 1 or not {*pairs[0]} <= table.columns.keys():
        raise InputError(
            f"columns {', '.join(table.columns) or 'unknown'}: the header must name "
            "x and y, or lat and lon, and demand"
        )
    if "demand" not in table.columns:
        raise InputError("no column 'demand' in the header")
    metric: Metric = "euclidean" if pairs[0] == ("x", "y") else "great_circle"
    stated = table.comments.get("metric", metric).strip()
    if stated == "geo" and metric == "great_circle":
        metric = "geo"
    elif stated != metric:
        raise InputError(
            f"comment '# metric:' is {shorten(stated)}, not euclidean for columns x "
            "and y, or great_circle or geo for lat and lon"
        )
    return pairs[0], metric


def _location(
    table: Table, row: tuple[int, list[str]], axes: tuple[str, str], metric: Metric
) -> _Location:
    line, cells = row
    values = []
    for axis in axes:
        value = to_number(cells[table.columns[axis]], f"line {line}: {axis}")
        if metric == "great_circle" and abs(value) > _LIMITS[axis]:
            raise InputError(
                f"line {line}: {axis} is {value:g}, not within ±{_LIMITS[axis]:g} "
                "degrees"
            )
        values.append(value)
    demand, cell = None, cells[table.columns["demand"]]
    if cell.strip():
        demand = to_number(cell, f"line {line}: demand")
        if demand < 0:
            raise InputError(f"line {line}: demand is {demand:g}, not at least 0")
    name = cells[table.columns["name"]] if "name" in table.columns else ""
    return _Location(line, (values[0], values[1]), demand, unescape_formula(name))


def _depot(locations: list[_Location], context: ReadContext) -> _Location:
    if not locations:
        raise InputError(
            "no rows under the header: write one for the depot and one per customer"
        )
    if context.depot is None:
        depot = locations[0]
        context.notes.append(f"the depot is the first row (line {depot.line})")
    else:
        found = [place for place in locations if place.name == str(context.depot)]
        if len(found) != 1:
            said = f"{len(found)} rows are" if found else "no row is"
            raise InputError(
                f"{said} named {shorten(str(context.depot))}: the depot is one row"
            )
        depot = found[0]
    if depot.demand:
        raise InputError(
            f"line {depot.line} is the depot and has demand {depot.demand:g}, not 0: "
            "put the depot first, or give depot= its name"
        )
    return depot


def _demand(place: _Location) -> float:
    if place.demand is None:
        raise InputError(f"line {place.line}: demand is missing")
    return place.demand


def _rounding(table: Table, context: ReadContext) -> Rounding:
    stated = table.comments.get("rounding", "none").strip()
    if stated not in get_args(Rounding):
        raise InputError(
            f"comment '# rounding:' is {shorten(stated)}, not one of "
            f"{', '.join(get_args(Rounding))}"
        )
    return context.choose_rounding(cast("Rounding", stated))


def _constant(table: Table, key: str) -> tuple[str | None, str]:
    """Return what a comment or a column says for all vehicles, and where."""
    if key in table.comments:
        return table.comments[key], f"comment '# {key}:'"
    said: str | None = None
    where = f"column {key}"
    for line, cells in table.rows if key in table.columns else ():
        cell = cells[table.columns[key]].strip()
        if not cell:
            continue
        if said is not None and cell != said:
            raise InputError(
                f"line {line}: {key} is {shorten(cell)}, above it is {shorten(said)}; "
                "all vehicles are alike"
            )
        said = cell
    return said, where


def _capacity(table: Table, context: ReadContext) -> float:
    said, where = _constant(table, "capacity")
    capacity = None if said is None else to_number(said, where)
    remedy = "begin the file with '# capacity: …'"
    return context.choose_capacity(capacity, where, remedy)


def _vehicles(table: Table, context: ReadContext) -> int:
    said, where = _constant(table, "vehicles")
    vehicles = None if said is None else to_whole(said, where)
    return context.choose_vehicles(vehicles, where, "begin it with '# vehicles: …'")


def format_instance(instance: Instance) -> str:
    """
    Write an instance as a table, depot first, after comments with the fleet.

    Raises
    ------
    InputError
        If CSV cannot hold the instance: a matrix, or an empty name.
    """
    if instance.matrix is not None:
        raise InputError("CSV cannot hold a distance matrix: write .json or .vrp")
    comments = {
        "name": instance.name,
        "capacity": format_number(instance.capacity),
        "vehicles": str(instance.vehicles),
        "metric": instance.metric,
        "rounding": instance.rounding,
    }
    lines = [
        format_row([f"# {key}: {value}"]) for key, value in comments.items() if value
    ]
    given = (instance.depot_name, *(instance.names or ()))
    if "" in given:
        raise InputError(
            f"CSV cannot hold the empty name of location {given.index('')} (0 is the "
            "depot): write .json"
        )
    named = instance.names is not None or instance.depot_name != "depot"
    header = [*_axes_of(instance), "demand", *(["name"] if named else [])]
    lines.append(format_row(header))
    names = (instance.depot_name, *(instance.names or [""] * instance.num_customers))
    for point, demand, name in zip(
        instance.coordinates, (0, *instance.demands), names, strict=True
    ):
        cells = [*map(format_number, point), format_number(demand)]
        lines.append(format_row([*cells, escape_formula(name)] if named else cells))
    return "".join(lines)


def _axes_of(instance: Instance) -> tuple[str, str]:
    return ("lat", "lon") if instance.geographic else ("x", "y")


def format_plan(plan: Plan, instance: Instance) -> str:
    """Write a plan as a table with one row per stop."""
    axes = _axes_of(instance) if instance.has_coordinates else ()
    lines = [format_row(("tour", "stop", "customer", "name", "demand", *axes))]
    for number, tour in enumerate(plan, 1):
        for stop, customer in enumerate(tour, 1):
            point = instance.coordinates[customer] if axes else ()
            cells = (
                *map(str, (number, stop, customer)),
                escape_formula(instance.name_of(customer)),
                format_number(instance.demands[customer - 1]),
                *map(format_number, point),
            )
            lines.append(format_row(cells))
    return "".join(lines)


def parse_plan(text: str) -> Plan:
    """Read a plan from the columns tour, stop and customer; others are ignored."""
    names = ("tour", "stop", "customer")
    table = read_table(text, {name: name for name in names})
    for name in names:
        if name not in table.columns:
            raise InputError(f"no column {name!r} in the header of a plan")
    tours: dict[int, dict[int, int]] = {}
    for line, cells in table.rows:
        tour, stop, customer = (
            to_whole(cells[table.columns[name]], f"line {line}: {name}")
            for name in names
        )
        if customer < 1:
            raise InputError(f"line {line}: customer is 0, not a number from 1")
        if stop in tours.setdefault(tour, {}):
            raise InputError(f"line {line}: a second stop {stop} of tour {tour}")
        tours[tour][stop] = customer
    return Plan([c for _, c in sorted(tours[t].items())] for t in sorted(tours))
