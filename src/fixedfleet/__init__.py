"""Plans capacitated vehicle routes for a fleet that cannot grow."""

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.plan import Plan, PlanBatch

__all__ = [
    "InputError",
    "Instance",
    "InstanceBatch",
    "MissingPackageError",
    "Plan",
    "PlanBatch",
]
