"""Write and read plans as tables of their stops, in CSV and Excel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.files.plan_words import to_english, translate
from fixedfleet.files.stops import Stop, axes_of, plan_of, vehicle_names, with_vehicles
from fixedfleet.files.table import bare_heading, read_table
from fixedfleet.files.table_files import further_cells, further_headings
from fixedfleet.files.text import to_whole
from fixedfleet.plan import Plan
from fixedfleet.wording import describe_lines, length_unit, with_unit

if TYPE_CHECKING:
    from fixedfleet.files.plan_words import Language
    from fixedfleet.instance import Instance

    Row = list[str | float]

__all__ = ["parse_plan", "plan_rows", "total_rows"]

_UNSERVED = "unserved"  # stands in the column "tour" of a plan


def plan_rows(plan: Plan, instance: Instance, language: Language = "en") -> list[Row]:
    """
    Return a plan as a table: a row per stop, then the unserved customers.

    With vehicle types, each row has the name of the vehicle. With travel times, it has
    the times of the stop and the customer's time window.
    """
    axes = axes_of(instance) if instance.has_coordinates else ()
    typed, timed = instance.vehicle_types is not None, instance.has_travel_times
    own = [
        *("tour", "stop", "customer", "name", "demand"),
        *(["vehicle"] if typed else []),
        *(["arrival", "service begins", "departure"] if timed else []),
        *(["window"] if instance.windows is not None else []),
        *axes,
    ]

    def row(tour: str | int, stop: str | int, customer: int, of_day: Row) -> Row:
        point = instance.coordinates[customer] if axes else ()
        name, demand = instance.name_of(customer), instance.demands[customer - 1]
        further = further_cells(instance, customer)
        cells = [tour, stop, customer, name, demand, *of_day]
        if instance.windows is not None:
            cells.append(_window_text(instance, customer, language))
        return [*cells, *point, *further]

    written = [translate(word, language) for word in own]
    # No further column may be taken for one of a plan's own, in any language.
    further = further_headings(instance, [*own, *written])
    rows: list[Row] = [[*written, *further]]
    vehicles = vehicle_names(plan, instance)
    times = plan.timetable(instance) if timed else None
    clock = instance.clock
    for number, tour in enumerate(plan, 1):
        for place, customer in enumerate(tour):
            of_day: Row = [vehicles[number - 1]] if typed else []
            if times is not None:
                stop = times[number - 1].stops[place]
                of_day += map(clock, (stop.arrival, stop.begin, stop.departure))
            rows.append(row(number, place + 1, customer, of_day))
    empty: Row = [""] * (typed + 3 * timed)
    unserved = translate(_UNSERVED, language)
    rows += [row(unserved, "", c, empty) for c in plan.unserved(instance)]
    return rows


def _window_text(instance: Instance, customer: int, language: Language) -> str:
    """Return the window of a customer, such as 08:00-12:00; "" if it is open."""
    if instance.windows is None:
        return ""
    begin, end = instance.windows[customer - 1].tolist()
    if math.isinf(end):
        word = translate("from", language)
        return f"{word} {instance.clock(begin)}" if begin else ""
    if not begin:
        return f"{translate('until', language)} {instance.clock(end)}"
    return f"{instance.clock(begin)}-{instance.clock(end)}"


def total_rows(plan: Plan, instance: Instance, language: Language = "en") -> list[Row]:
    """
    Return a row per tour with its stops, load and length, and a last row with totals.

    With vehicle types, each row also has the vehicle. With a mixed fleet, it has the
    cost of the tour. With travel times, it has the times of departure and return.
    """
    loads, lengths = plan.loads(instance), plan.tour_lengths(instance)
    rooms, unit = [one.capacity for one in plan.types(instance)], instance.unit
    lines = _lines_text(instance, language)
    said = ", ".join(filter(None, (length_unit(instance), lines)))
    further = _totals_of_day(plan, instance)
    own = ["tour", "stops", "load", "capacity", "room left", "length"]
    units = {"load": unit, "length": said}
    rows: list[Row] = [
        [
            with_unit(translate(word, language), f"({units[word]})")
            if units.get(word)
            else translate(word, language)
            for word in (*own, *further)
        ]
    ]
    tours = zip(plan, loads, rooms, lengths, strict=True)
    for number, (tour, load, room, length) in enumerate(tours, 1):
        left = _difference(room, load)
        cells: Row = [number, len(tour), load, room, left, round(length, 3)]
        rows.append([*cells, *(column[number - 1] for column in further.values())])
    all_room, all_load = math.fsum(rooms), math.fsum(loads)
    sums: Row = [translate("all", language), sum(map(len, plan)), all_load, all_room]
    sums += [_difference(all_room, all_load), round(sum(lengths), 3)]
    rows.append([*sums, *(column[-1] for column in further.values())])
    return rows


def _lines_text(instance: Instance, language: Language) -> str:
    """Return how lengths are measured, such as "straight line times 1.3"."""
    lines, *factor = describe_lines(instance).split(" times ")
    if not lines:
        return ""
    between = f" {translate('times', language)} "
    text = between.join([translate(lines, language), *factor])
    return text.replace(".", ",") if language == "de" else text


def _totals_of_day(plan: Plan, instance: Instance) -> dict[str, Row]:
    """
    Return the columns for vehicles, costs and times, by heading.

    Each column has a cell per tour and a last cell for the row with totals.
    """
    columns: dict[str, Row] = {}
    if instance.vehicle_types is not None:
        columns["vehicle"] = [*vehicle_names(plan, instance), ""]
    if instance.has_mixed_fleet:
        tours = zip(plan.tours, plan.type_indices(instance), strict=True)
        costs = [Plan([tour], [index]).cost(instance) for tour, index in tours]
        columns["cost"] = [*(round(c, 3) for c in costs), round(sum(costs), 3)]
    if instance.has_travel_times:
        times, clock = plan.timetable(instance), instance.clock
        columns["departure"] = [*(clock(one.departure) for one in times), ""]
        columns["return"] = [*(clock(one.end) for one in times), ""]
    return columns


def _difference(room: float, load: float) -> float:
    """Return capacity minus load, without the rounding errors of a sum."""
    return round(room - load, 6)


def parse_plan(content: str | bytes, instance: Instance | None = None) -> Plan:
    """
    Read a plan from the columns tour, stop and customer, in English or German.

    With an instance, the other columns identify the customer of each stop
    (:func:`fixedfleet.files.stops.plan_of`).
    """
    names = ("tour", "stop", "customer")
    known = {name: name for name in names}
    known |= {bare_heading(translate(name, "de")): name for name in names}
    table = read_table(content, known, numbers=names, needed=[names])
    for name in names:
        if name not in table.places:
            raise InputError(f"no column {name!r} in the header of a plan")
    taken = [table.places[name] for name in names]
    others = [column for i, column in enumerate(table.columns) if i not in taken]
    if bare_heading(table.column("stop").heading) != "stop":  # a German plan
        others = [one._replace(heading=to_english(one.heading)) for one in others]
    vehicles: dict[int, str] = {}  # by tour
    tours: dict[int, dict[int, Stop]] = {}
    columns = [table.column(name).cells for name in names]
    for i, (row, *cells) in enumerate(zip(table.rows, *columns, strict=True)):
        if to_english(cells[0]) == _UNSERVED:
            continue
        tour, stop, customer = (
            to_whole(cell, f"row {row}: {name}", least=int(name == "customer"))
            for cell, name in zip(cells, names, strict=True)
        )
        if stop in tours.setdefault(tour, {}):
            raise InputError(f"row {row}: a second stop {stop} of tour {tour}")
        texts = {column.heading: column.shown[i] for column in others}
        tours[tour][stop] = Stop(f"row {row}", customer, texts)
        vehicles.setdefault(tour, texts.get("vehicle", ""))
    inner = ([stop for _, stop in sorted(tours[t].items())] for t in sorted(tours))
    plan = plan_of(inner, instance)
    return with_vehicles(plan, [vehicles[tour] for tour in sorted(tours)], instance)
