"""Plans capacitated vehicle routes for a fleet that cannot grow."""

from __future__ import annotations

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.files import read, read_batch, read_plan, write_plan
from fixedfleet.fleet import FleetVerdict, assess_fleet
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.solve import Result, solve
from fixedfleet.solve_batch import BatchResult, solve_batch

__all__ = [
    "BatchResult",
    "FleetVerdict",
    "InputError",
    "Instance",
    "InstanceBatch",
    "MissingPackageError",
    "Plan",
    "PlanBatch",
    "Result",
    "assess_fleet",
    "read",
    "read_batch",
    "read_plan",
    "solve",
    "solve_batch",
    "write_plan",
]
