"""The text about a plan that commands print."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fixedfleet.cli.console import printable
from fixedfleet.files.stops import vehicle_names
from fixedfleet.wording import (
    count,
    decimals,
    describe_lines,
    length_unit,
    with_unit,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.result import Result

__all__ = ["report_result", "report_tours"]

_WIDTH = 88
_DIGITS = 6  # significant digits of lengths


def report_result(result: Result, asked: Instance, notes: Sequence[str]) -> str:
    """
    Return the text about a result: the tours, a table of them, totals and the verdict.

    ``asked`` is the instance with the fleet that the user asked for. With --guarantee,
    the result may be for a larger fleet. ``notes`` say how the file was read.
    """
    name = f"{printable(asked.name)}: " if asked.name else ""
    vehicles = count(asked.vehicles, "vehicle")
    lines = [
        f"{name}{count(asked.num_customers, 'customer')}, {vehicles} of "
        f"{_capacity(asked)}",
        *(f"note: {note}" for note in notes),
        "",
    ]
    if result.plan is None:
        lines.append("no plan")
    else:
        lines += [
            *report_tours(result.plan, result.instance),
            _total(result, result.plan),
        ]
    if result.proof:
        lines += _wrap(result.proof)
    lines += map(printable, str(result.verdict).splitlines())
    if result.instance.vehicles > asked.vehicles:
        lines.append(_larger_fleet(result, vehicles))
    if result.partial is not None:
        lines.append("")
        if result.plan is None:
            lines += report_tours(result.partial, asked)
        lines += _unserved(result, asked)
    if result.interrupted:
        lines.append("interrupted: this is the best plan found so far")
    return "\n".join(lines)


def _capacity(instance: Instance) -> str:
    """
    Return the vehicles' capacity, "capacity 850 kg"; for a mixed fleet, "3 types".
    """
    if instance.has_mixed_fleet:
        return count(len(instance.fleet), "type")
    return f"capacity {with_unit(str(instance.capacity), printable(instance.unit))}"


def report_tours(plan: Plan, instance: Instance) -> list[str]:
    """Return lines: the customers of each tour by name, then a table of all tours."""
    lines = []
    for number, tour in enumerate(plan, 1):
        stops = " → ".join(printable(instance.label_of(customer)) for customer in tour)
        lines += _wrap(f"tour {number}: {stops}")
    return [*lines, "", _tour_table(plan, instance), ""]


def _tour_table(plan: Plan, instance: Instance) -> str:
    loads, lengths = plan.load_units(instance), plan.tour_lengths(instance)
    total = plan.length(instance)
    places = decimals(total, _DIGITS)

    def row(label: str, stops: int, load: int, room: int, length: float) -> list[str]:
        amount, share = instance.amount(load), f"{load / room:.1%}"
        return [label, str(stops), str(amount), share, f"{length:.{places}f}"]

    rooms = [
        instance.type_capacity_units[index] for index in plan.type_indices(instance)
    ]
    weight = with_unit("load", printable(instance.unit))
    way = with_unit("length", length_unit(instance))
    further = _further_columns(plan, instance)
    rows = [["tour", "stops", weight, "utilisation", way, *further]]
    tours = zip(plan, loads, rooms, lengths, strict=True)
    for number, (tour, load, room, length) in enumerate(tours):
        cells = [column[number] for column in further.values()]
        rows.append([*row(str(number + 1), len(tour), load, room, length), *cells])
    capacities = zip(instance.type_capacity_units, instance.fleet, strict=True)
    stops, fleet = sum(map(len, plan)), sum(c * one.count for c, one in capacities)
    rows.append([*row("all", stops, sum(loads), fleet, total), *[""] * len(further)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) for cell, width in zip(cells, widths, strict=True)
        ).rstrip()
        for cells in rows
    )


def _further_columns(plan: Plan, instance: Instance) -> dict[str, list[str]]:
    """
    Return the columns of the table of tours about vehicles and times, by heading.

    Each column has a text per tour. The vehicles are shown if the instance has vehicle
    types, and the times if it has travel times.
    """
    columns: dict[str, list[str]] = {}
    if instance.vehicle_types is not None:
        names = vehicle_names(plan, instance)
        columns["vehicle"] = [printable(name) for name in names]
    if instance.has_travel_times:
        times, clock = plan.timetable(instance), instance.clock
        columns["departs"] = [clock(one.departure) for one in times]
        columns["returns"] = [clock(one.end) for one in times]
        if instance.windows is not None:
            columns["waits"] = [clock(one.waiting) for one in times]
    return columns


def _total(result: Result, plan: Plan) -> str:
    instance, places = result.instance, decimals(result.length, _DIGITS)
    length = with_unit(f"{result.length:.{places}f}", length_unit(instance))
    if lines := describe_lines(instance):
        length += f" ({lines})"
    fleet = count(instance.vehicles, "vehicle")
    said = f"total: {plan.vehicles} of {fleet}, length {length}"
    if instance.has_mixed_fleet and not result.vehicle_cost:
        said += f", cost {result.cost:.{places}f}"
    if result.vehicle_cost:
        said += f", Cost_v {result.cost_v:.{places}f} at {result.vehicle_cost:g} each"
    return said


def _larger_fleet(result: Result, vehicles: str) -> str:
    """
    Return a sentence that says for which larger fleet the plan is, and why.

    ``vehicles`` is the fleet that the user asked for, in words, such as "3 vehicles".
    """
    proven = "that suffices" if result.verdict.smallest_is_proven else "found"
    why = f"a fleet of {vehicles} does not suffice"
    if result.verdict.status != "impossible":
        why = f"no plan for {vehicles} was found"
    return (
        f"{why}: this plan is for the smallest fleet {proven}, "
        f"{result.instance.vehicles} vehicles"
    )


def _unserved(result: Result, asked: Instance) -> list[str]:
    """Return lines that name the customers left unserved by the fleet asked for."""
    names = ", ".join(printable(asked.label_of(c)) for c in result.unserved)
    verb = "is" if len(result.unserved) == 1 else "are"
    if result.plan is not None:
        verb = "would be"
    return _wrap(
        f"with {count(asked.vehicles, 'vehicle')} {len(result.unserved)} of "
        f"{count(asked.num_customers, 'customer')} {verb} left out: {names}"
    )


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="    ")
