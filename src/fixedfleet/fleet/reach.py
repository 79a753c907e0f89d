"""Find customers that no vehicle can serve in time, and sort stops by their windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.plan import Plan
from fixedfleet.timetable import is_late

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["find_unreachable", "order_by_time"]


def find_unreachable(instance: Instance) -> str:
    """
    Return a sentence about the first customer that no vehicle can serve in time.

    Even if a vehicle serves only this customer, it arrives after the window has closed,
    or is back after its shift has ended. Travel times are those of the fastest paths,
    which may pass other customers. Return "" if there is no such customer.
    """
    there, back = instance.travel_times[0], instance.travel_times[:, 0]
    wrong = _too_late(instance, there, back)
    if wrong:  # a path over other customers may be faster
        times = instance.travel_times
        wrong = _too_late(instance, _fastest(times), _fastest(times.T))
    if not wrong:
        return ""
    customer = next(iter(wrong))
    more = len(wrong) - 1
    others = f"; the same holds for {more} more" if more else ""
    return f"customer {instance.name_of(customer)} {wrong[customer]}{others}"


def _too_late(
    instance: Instance, there: NDArray[np.float64], back: NDArray[np.float64]
) -> dict[int, str]:
    """
    Return the customers that no vehicle can serve in time, each with the reason.

    ``there`` has the travel time from the depot to each location, and ``back`` the
    travel time from each location to the depot.
    """
    found = {}
    clock = instance.clock
    for customer in range(1, instance.num_customers + 1):
        opens, closes = 0.0, math.inf
        if instance.windows is not None:
            opens, closes = instance.windows[customer - 1].tolist()
        service = 0.0
        if instance.service_times is not None:
            service = float(instance.service_times[customer - 1])
        reasons = []
        for one, capacity in zip(
            instance.fleet, instance.type_capacity_units, strict=True
        ):
            if instance.demand_units[customer] > capacity:
                continue
            begin, end = one.shift or (0.0, math.inf)
            arrival = begin + float(there[customer])
            home = max(arrival, opens) + service + float(back[customer])
            if is_late(arrival, closes):
                reasons.append(
                    f"cannot be reached before {clock(arrival)}, but its window closes "
                    f"at {clock(closes)}"
                )
            elif is_late(home, end):
                reasons.append(
                    "is too far for any shift: a vehicle would be back at "
                    f"{clock(home)}, after {clock(end)}"
                )
            else:
                break
        else:
            if reasons:
                found[customer] = reasons[0]
    return found


def _fastest(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """
    Return the travel time from the depot to each location, by the fastest path.

    The path may pass other customers. ``times`` has all travel times, shape (N + 1, N +
    1).
    """
    best: NDArray[np.float64] = times[0].copy()
    while True:
        shorter = np.asarray(np.minimum(best, (best[:, None] + times).min(axis=0)))
        if np.array_equal(shorter, best):
            return best
        best = shorter


def order_by_time(plan: Plan, instance: Instance) -> Plan:
    """
    Return the plan with the stops of each tour sorted by the end of their windows.

    Among stops whose windows end at the same time, the one that is reached fastest from
    the previous stop comes next.
    """
    closes = np.full(instance.num_customers, math.inf)
    if instance.windows is not None:
        closes = instance.windows[:, 1]
    tours = []
    for tour in plan.tours:
        left, ordered, place = set(tour), [], 0
        while left:
            rest = sorted(left)
            near = instance.time_between([place], rest).tolist()
            place = min(
                zip(closes[np.array(rest) - 1].tolist(), near, rest, strict=True)
            )[2]
            left.remove(place)
            ordered.append(place)
        tours.append(ordered)
    return Plan(tours, plan.vehicle_types)
