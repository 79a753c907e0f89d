"""Verdicts and results as JSON documents, for the command line and the service."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.solve import Result

__all__ = [
    "as_json",
    "describe_fleet",
    "describe_partial",
    "describe_result",
    "describe_tours",
    "describe_verdict",
    "finite",
]


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
        **describe_verdict(verdict),
        "packing": packing,
        "notes": list(notes),
    }


def describe_verdict(verdict: FleetVerdict) -> dict[str, Any]:
    """Describe a verdict: whether the fleet suffices, why, and which one would."""
    return {
        "status": verdict.status,
        "vehicles": verdict.vehicles,
        "reason": verdict.reason,
        "lower_bound": verdict.lower_bound,
        "upper_bound": verdict.upper_bound,
        "smallest": verdict.smallest,
        "smallest_is_proven": verdict.smallest_is_proven,
    }


def describe_result(
    result: Result, asked: Instance, notes: Sequence[str]
) -> dict[str, Any]:
    """
    Describe all that a result holds; what is infinite is null.

    Parameters
    ----------
    result
        The result.
    asked
        The instance as it was asked about: with the guarantee, the result's may have
        a larger fleet.
    notes
        What is to be said about how the instance was read.
    """
    plan, partial, instance = result.plan, result.partial, result.instance
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
        "length": finite(result.length),
        "cost_v": finite(result.cost_v),
        "cost": finite(result.cost),
        "tours": None if plan is None else describe_tours(plan, instance),
        "partial": None if partial is None else describe_partial(partial, asked),
        "unserved": list(result.unserved),
        "verdict": describe_verdict(result.verdict),
        "stages": [
            {
                "name": stage.name,
                "seconds": stage.seconds,
                "cost": finite(stage.cost),
                "gain": finite(stage.gain),
            }
            for stage in result.stages
        ],
        "trace": [list(point) for point in result.trace],
        "interrupted": result.interrupted,
        "notes": list(notes),
    }


def describe_partial(plan: Plan, instance: Instance) -> dict[str, Any]:
    """Describe a plan for the fleet there is, and whom it leaves out by name."""
    return {
        "tours": describe_tours(plan, instance),
        "vehicles_used": plan.vehicles,
        "length": plan.length(instance),
        "unserved_names": [instance.name_of(c) for c in plan.unserved(instance)],
    }


def describe_tours(plan: Plan, instance: Instance) -> list[dict[str, Any]]:
    """Describe each tour: its customers by number and name, its load and length."""
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


def finite(value: float) -> float | None:
    """Return a number, or None where it is none that JSON knows."""
    return value if math.isfinite(value) else None
