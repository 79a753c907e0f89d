"""Instances and results as the service's documents; what is infinite is null."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from fixedfleet.describe import describe_verdict, finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.solve import Result

__all__ = ["dump", "instance_document", "result_document", "tour_documents"]


def dump(document: Any) -> str:
    """Write a document as JSON on one line, for the wire and the store."""
    return json.dumps(
        document, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )


def instance_document(
    instance: Instance,
    notes: Sequence[str] = (),
    verdict: FleetVerdict | None = None,
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """
    Describe an instance.

    Parameters
    ----------
    instance
        The instance.
    notes
        What is to be said about how it was read.
    verdict
        Whether its fleet suffices, where that is known.
    missing
        Of ``vehicles`` and ``capacity``, those nobody said, which become null.
    """
    geographic = instance.metric in ("great_circle", "geo")
    points = _points(instance)
    stops = [
        {
            "index": i,
            "name": instance.name_of(i),
            "demand": instance.demands[i - 1].item(),
            "x": points[i][0],
            "y": points[i][1],
        }
        for i in range(1, instance.num_customers + 1)
    ]
    return {
        "name": instance.name,
        "customers": instance.num_customers,
        "vehicles": None if "vehicles" in missing else instance.vehicles,
        "capacity": None if "capacity" in missing else instance.capacity,
        "total_demand": instance.amount(int(instance.demand_units.sum())),
        "metric": instance.metric,
        "rounding": instance.rounding,
        "unit": "km" if geographic else "",
        "geographic": geographic,
        "depot": {
            "name": instance.depot_name,
            "x": points[0][0],
            "y": points[0][1],
        },
        "stops": stops,
        "notes": list(notes),
        "verdict": None if verdict is None else describe_verdict(verdict),
    }


def _points(instance: Instance) -> list[tuple[float | None, float | None]]:
    """All places as (x, y), longitude first and in decimal degrees on the globe."""
    if not instance.has_coordinates:
        return [(None, None)] * (instance.num_customers + 1)
    points = instance.coordinates.tolist()
    if instance.metric == "geo":
        points = [[_decimal(value) for value in point] for point in points]
    if instance.metric in ("great_circle", "geo"):
        return [(lon, lat) for lat, lon in points]
    return [(x, y) for x, y in points]


def _decimal(value: float) -> float:
    """Turn TSPLIB's DDD.MM, degrees and minutes, into decimal degrees."""
    degrees = math.trunc(value)
    return degrees + (value - degrees) * 5 / 3


def result_document(result: Result, asked: Instance) -> dict[str, Any]:
    """
    Describe a result; where there is no plan, the one that leaves customers out.

    Parameters
    ----------
    result
        The result. It is feasible for ``fleet`` vehicles, which with the guarantee
        may be more than were asked for.
    asked
        The instance as it was asked about.
    """
    plan = result.plan if result.plan is not None else result.partial
    instance = result.instance if result.plan is not None else asked
    return {
        "feasible": result.feasible,
        "objective": result.objective,
        "cost": finite(result.cost),
        "length": finite(result.length),
        "cost_v": finite(result.cost_v),
        "fleet": instance.vehicles,
        **tour_documents(plan, instance),
        "stages": [
            {"name": s.name, "seconds": s.seconds, "cost": finite(s.cost)}
            for s in result.stages
        ],
        "trace": [[s, c] for s, c in result.trace if math.isfinite(c)],
    }


def tour_documents(plan: Plan | None, instance: Instance) -> dict[str, Any]:
    """Describe the tours of a plan, and whom it leaves out; of no plan, everybody."""
    if plan is None:
        everybody = list(range(1, instance.num_customers + 1))
        return {"vehicles": 0, "tours": [], "unserved": everybody}
    columns = zip(
        plan, plan.load_units(instance), plan.tour_lengths(instance), strict=True
    )
    return {
        "vehicles": plan.vehicles,
        "tours": [
            {
                "stops": list(tour),
                "load": instance.amount(units),
                "utilisation": units / instance.capacity_units,
                "length": finite(length),
            }
            for tour, units, length in columns
        ],
        "unserved": plan.unserved(instance),
    }
