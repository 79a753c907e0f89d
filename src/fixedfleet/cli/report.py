"""Results in words and tables."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from fixedfleet.cli.common import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.solve import Result

__all__ = ["report_result", "table"]

_WIDTH = 88


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align cells to the right under their headers."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (header, *rows)
    )


def report_result(result: Result, asked: Instance, notes: Sequence[str]) -> str:
    """Say what came out: the tours, a table of them, the total and the verdict."""
    name = f"{printable(asked.name)}: " if asked.name else ""
    lines = [
        f"{name}{_count(asked.num_customers, 'customer')}, "
        f"{_count(asked.vehicles, 'vehicle')} of capacity {asked.capacity}",
        *(f"note: {note}" for note in notes),
        "",
    ]
    if result.plan is not None:
        lines += [*_tours(result.plan, result.instance), ""]
        lines += [_tour_table(result.plan, result.instance), ""]
        lines += [_total(result)]
    else:
        lines += ["no plan"]
    lines += [printable(line) for line in str(result.verdict).splitlines()]
    if result.instance.vehicles > asked.vehicles:
        lines.append(_widened(result, asked))
    if result.partial is not None:
        lines += ["", *_left_out(result, asked)]
    if result.interrupted:
        lines.append("interrupted: this is the best found so far")
    return "\n".join(lines)


def _widened(result: Result, asked: Instance) -> str:
    """Say for which larger fleet the plan is, and why."""
    verdict = result.verdict
    proven = " that suffices" if verdict.smallest_is_proven else " found"
    why = f"{_count(asked.vehicles, 'vehicle')} will not do"
    if verdict.status != "impossible":
        why = f"no plan for {_count(asked.vehicles, 'vehicle')} was found"
    return (
        f"{why}: this plan is for the smallest fleet{proven}, "
        f"{result.instance.vehicles} vehicles"
    )


def _left_out(result: Result, asked: Instance) -> list[str]:
    """Say who is left out within the fleet asked for; its tours if no others are."""
    plan = result.partial
    if plan is None:
        raise RuntimeError("nobody is left out")
    names = ", ".join(printable(asked.name_of(c)) for c in result.unserved)
    lines = []
    if result.plan is None:
        lines += [*_tours(plan, asked), "", _tour_table(plan, asked), ""]
    would = "is" if len(result.unserved) == 1 else "are"
    if result.plan is not None:
        would = "would be"
    lines += textwrap.wrap(
        f"with {_count(asked.vehicles, 'vehicle')} {len(result.unserved)} of "
        f"{_count(asked.num_customers, 'customer')} {would} left out: {names}",
        _WIDTH,
        subsequent_indent="    ",
    )
    return lines


def _tours(plan: Plan, instance: Instance) -> list[str]:
    lines = []
    for number, tour in enumerate(plan, 1):
        stops = " → ".join(printable(instance.name_of(customer)) for customer in tour)
        lines += textwrap.wrap(
            f"tour {number}: {stops}", _WIDTH, subsequent_indent="    "
        )
    return lines


def _tour_table(plan: Plan, instance: Instance) -> str:
    lengths, units = plan.tour_lengths(instance), plan.load_units(instance)
    decimals = _decimals(plan.length(instance))
    rows = [
        [
            str(number),
            str(len(tour)),
            str(instance.amount(load)),
            f"{load / instance.capacity_units:.1%}",
            f"{length:.{decimals}f}",
        ]
        for number, (tour, load, length) in enumerate(
            zip(plan, units, lengths, strict=True), 1
        )
    ]
    carried = sum(units)
    fleet = instance.vehicles * instance.capacity_units
    rows.append(
        [
            "all",
            str(sum(map(len, plan))),
            str(instance.amount(carried)),
            f"{carried / fleet:.1%}",
            f"{plan.length(instance):.{decimals}f}",
        ]
    )
    length = f"length{_unit(instance)}"
    return table(("tour", "stops", "load", "utilisation", length), rows)


def _total(result: Result) -> str:
    plan, instance = result.plan, result.instance
    if plan is None:
        raise RuntimeError("a total of no plan")
    decimals = _decimals(result.length)
    said = (
        f"total: {plan.vehicles} of {_count(instance.vehicles, 'vehicle')}, length "
        f"{result.length:.{decimals}f}{_unit(instance)}"
    )
    if result.vehicle_cost:
        said += f", Cost_v {result.cost_v:.{decimals}f} at {result.vehicle_cost:g} each"
    return said


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _unit(instance: Instance) -> str:
    return " km" if instance.metric in ("great_circle", "geo") else ""


def _decimals(length: float) -> int:
    """Digits after the point that give a length six digits in all."""
    if not 0 < length < math.inf:
        return 0
    return min(6, max(0, 5 - math.floor(math.log10(length))))
