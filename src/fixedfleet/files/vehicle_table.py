"""A fleet as a table: a row for each vehicle type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.files.excel import excel_sheets, is_excel
from fixedfleet.files.table import TableError, list_headings, read_table
from fixedfleet.files.text import to_whole
from fixedfleet.files.times import format_time, parse_time, parse_window
from fixedfleet.instance import VehicleType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fixedfleet.files.table import Table

    Row = list[str | float]

__all__ = [
    "SHEET",
    "add_shift",
    "find_fleet_sheet",
    "parse_vehicle_types",
    "vehicle_rows",
]

SHEET = "vehicles"
_SHEETS = {SHEET, "fleet", "vehicle types", "fahrzeuge", "fuhrpark", "flotte"}
# The headings by which each column is recognised, in lower case and without a unit.
_HEADINGS = {
    "name": ("name", "type", "vehicle", "vehicle type", "fahrzeug", "fahrzeugtyp",
             "typ", "bezeichnung", "kennzeichen"),
    "driver": ("driver", "fahrer", "fahrerin", "fahrer/in"),
    "count": ("count", "number", "vehicles", "quantity", "anzahl", "stück", "stueck"),
    "capacity": ("capacity", "payload", "kapazität", "kapazitaet", "nutzlast",
                 "zuladung", "ladung"),
    "fixed_cost": ("fixed cost", "fixed costs", "cost per use", "cost per day",
                   "fixkosten", "kosten je einsatz", "kosten pro einsatz",
                   "kosten je tag", "kosten pro tag", "tagessatz"),
    "cost_per_distance": ("cost per distance", "cost per km", "cost per mile",
                          "kosten je km", "kosten pro km", "kosten/km", "€/km",
                          "kilometerkosten", "kilometersatz"),
    "from": ("from", "shift from", "start", "shift start", "von", "ab",
             "schichtbeginn", "schicht von", "schicht ab", "beginn", "arbeitsbeginn",
             "dienstbeginn"),
    "to": ("to", "until", "shift to", "end", "shift end", "bis", "schichtende",
           "schicht bis", "ende", "arbeitsende", "dienstende"),
    "shift": ("shift", "working hours", "schicht", "arbeitszeit"),
}  # fmt: skip
_NAMES = {heading: column for column in _HEADINGS for heading in _HEADINGS[column]}
_NUMBERS = ("count", "capacity", "fixed_cost", "cost_per_distance")


def find_fleet_sheet(content: str | bytes) -> str | None:
    """Return the title of the sheet that holds the fleet; None if there is none."""
    if not isinstance(content, bytes) or not is_excel(content):
        return None
    titles = (sheet.title for sheet in excel_sheets(content))
    return next((one for one in titles if one.strip().casefold() in _SHEETS), None)


def parse_vehicle_types(
    content: str | bytes, sheet: str | None = None
) -> tuple[list[VehicleType], list[str]]:
    """
    Return the vehicle types in a table, and notes on how it was read.

    Only the column capacity is required. Rows without a capacity are ignored. If a row
    has no number of vehicles, it stands for one vehicle.
    """
    if sheet is None:
        sheet = find_fleet_sheet(content)
    table = read_table(
        content,
        _NAMES,
        numbers=_NUMBERS,
        amounts=_NUMBERS,
        needed=[("capacity",)],
        sheet=sheet,
    )
    if "capacity" not in table.places:
        headings = [column.heading for column in table.columns]
        raise TableError(
            f"no column 'capacity' for the vehicles: {list_headings(headings)}"
        )
    types = [
        _parse_row(table, place)
        for place in range(len(table.rows))
        if table.column("capacity").cells[place].strip() and not table.is_sum(place)
    ]
    if not types:
        raise InputError("no vehicles: write a row with a capacity for each type")
    notes = []
    known = {*table.places.values()}
    unused = [
        column.heading
        for place, column in enumerate(table.columns)
        if place not in known and column.heading
    ]
    if unused:
        notes.append(f"columns of the vehicles ignored: {', '.join(unused)}")
    return types, notes


def _parse_row(table: Table, place: int) -> VehicleType:
    where = f"row {table.rows[place]} of the vehicles: "

    def cell(column: str) -> str:
        return table.column(column).cells[place].strip()

    def said(column: str) -> str:
        return where + table.column(column).heading

    numbers = {
        column: table.number(table.column(column).cells[place], said(column))
        for column in _NUMBERS
        if column != "count" and cell(column)
    }
    shift = parse_window(cell("shift"), said("shift")) if cell("shift") else None
    if cell("from") or cell("to"):
        shift = (
            parse_time(cell("from"), said("from")) if cell("from") else None,
            parse_time(cell("to"), said("to")) if cell("to") else None,
        )
    if shift is not None and shift[1] is None:
        raise InputError(f"{where}the shift has no end: write from and to")
    try:
        return VehicleType(
            name=_name(*(table.column(c).shown[place] for c in ("driver", "name"))),
            count=to_whole(cell("count") or "1", said("count"), 1),
            shift=None if shift is None else (shift[0] or 0.0, shift[1] or 0.0),
            **numbers,
        )
    except InputError as error:
        message = str(error)
        raise InputError(
            message if message.startswith(where) else where + message
        ) from None


def _name(driver: str, vehicle: str) -> str:
    """Return the name of a vehicle and its driver: Emil (DD-HF 101)."""
    driver, vehicle = driver.strip(), vehicle.strip()
    return f"{driver} ({vehicle})" if driver and vehicle else driver or vehicle


def vehicle_rows(types: Sequence[VehicleType]) -> list[Row]:
    """Return a fleet as a table that :func:`parse_vehicle_types` reads again."""
    rows: list[Row] = [
        ["name", "count", "capacity", "fixed cost", "cost per distance", "from", "to"]
    ]
    for one in types:
        shift = [""] * 2 if one.shift is None else map(format_time, one.shift)
        costs = one.fixed_cost, one.cost_per_distance
        rows.append([one.name, one.count, one.capacity, *costs, *shift])
    return rows


def add_shift(
    types: Iterable[VehicleType], shift: tuple[float, float]
) -> list[VehicleType]:
    """Return the vehicle types, and give this shift to those that have none."""
    return [
        one if one.shift is not None else replace(one, shift=shift) for one in types
    ]
