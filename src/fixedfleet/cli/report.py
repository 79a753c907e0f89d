"""Results in words, tables and JSON."""

from __future__ import annotations

import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

from fixedfleet.cli.common import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.solve import Result

__all__ = ["as_json", "describe_fleet", "describe_result", "report_result", "table"]

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
        proven = " that suffices" if result.verdict.smallest_is_proven else " found"
        lines.append(
            f"{_count(asked.vehicles, 'vehicle')} will not do: this plan is for the "
            f"smallest fleet{proven}, {result.instance.vehicles} vehicles"
        )
    if result.interrupted:
        lines.append("interrupted: this is the best found so far")
    return "\n".join(lines)


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


def as_json(document: dict[str, Any]) -> str:
    """Lay a document out as JSON that any reader takes."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def describe_fleet(
    instance: Instance, verdict: FleetVerdict, notes: Sequence[str]
) -> dict[str, Any]:
    """Describe a verdict, with the packing that is its witness."""
    packing = None if verdict.packing is None else [list(t) for t in verdict.packing]
    return {
        "instance": instance.name,
        "customers": instance.num_customers,
        "capacity": instance.capacity,
        **_verdict(verdict),
        "packing": packing,
        "notes": list(notes),
    }


def _verdict(verdict: FleetVerdict) -> dict[str, Any]:
    return {
        "status": verdict.status,
        "vehicles": verdict.vehicles,
        "reason": verdict.reason,
        "lower_bound": verdict.lower_bound,
        "upper_bound": verdict.upper_bound,
        "smallest": verdict.smallest,
    }


def describe_result(
    result: Result, asked: Instance, notes: Sequence[str]
) -> dict[str, Any]:
    """Describe all that a result holds; what is infinite is null."""
    plan, instance = result.plan, result.instance
    return {
        "instance": asked.name,
        "customers": asked.num_customers,
        "vehicles": asked.vehicles,
        "capacity": asked.capacity,
        "metric": asked.metric,
        "rounding": asked.rounding,
        "feasible": plan is not None and plan.is_feasible(asked),
        "vehicles_planned_for": instance.vehicles,
        "vehicles_used": None if plan is None else plan.vehicles,
        "objective": result.objective,
        "vehicle_cost": result.vehicle_cost,
        "length": _finite(result.length),
        "cost_v": _finite(result.cost_v),
        "cost": _finite(result.cost),
        "tours": None if plan is None else _tour_documents(plan, instance),
        "verdict": _verdict(result.verdict),
        "stages": [
            {"name": s.name, "seconds": s.seconds, "cost": _finite(s.cost)}
            for s in result.stages
        ],
        "trace": [list(point) for point in result.trace],
        "interrupted": result.interrupted,
        "notes": list(notes),
    }


def _tour_documents(plan: Plan, instance: Instance) -> list[dict[str, Any]]:
    columns = zip(plan, plan.loads(instance), plan.tour_lengths(instance), strict=True)
    return [
        {
            "customers": list(tour),
            "names": [instance.name_of(customer) for customer in tour],
            "load": load,
            "length": length,
        }
        for tour, load, length in columns
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
