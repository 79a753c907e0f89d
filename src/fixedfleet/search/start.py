"""What a search is given: a start, cut to what fleet and capacity allow, and a cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.instance import Instance

__all__ = ["check_time_limit", "check_vehicle_cost", "fit"]


def fit(instance: Instance, start: Plan) -> Plan:
    """
    Drop from a start what fleet or capacity do not allow.

    Raises
    ------
    InputError
        If the start serves a customer twice or one that does not exist.
    """
    served = [customer for tour in start.tours for customer in tour]
    if (
        len(set(served)) < len(served)
        or max(served, default=0) > instance.num_customers
    ):
        fault = start.check(instance)[0]  # such faults come first
        raise InputError(f"the start is no plan for this instance: {fault}")
    units, capacity = instance.demand_units, instance.capacity_units
    tours = []
    for tour in start.tours:
        kept, load = [], 0
        for customer in tour:
            if load + units[customer] <= capacity:
                kept.append(customer)
                load += units[customer]
        tours.append(kept)
    if len(tours) > instance.vehicles:
        tours = sorted(tours, key=len, reverse=True)[: instance.vehicles]
    return Plan(tours)


def check_time_limit(time_limit: float) -> None:
    """Refuse a time that leaves nothing to search in."""
    if not time_limit > 0:
        raise InputError(f"time limit is {time_limit:g} s, not above 0")


def check_vehicle_cost(vehicle_cost: float) -> None:
    """Refuse a cost of a vehicle that is none."""
    if not 0 <= vehicle_cost < math.inf:
        raise InputError(f"vehicle cost is {vehicle_cost:g}, not 0 or above")
