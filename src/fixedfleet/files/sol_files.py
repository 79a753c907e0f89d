"""Read and write VRPLIB solutions (.sol): ``Route #1: …`` and ``Cost …``."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.files.text import (
    decode,
    format_number,
    shorten,
    split_lines,
    to_number,
    to_whole,
)
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.instance import Instance

__all__ = ["format_plan", "parse_cost", "parse_plan"]

_ROUTE = re.compile(r"Route\s*#?\s*(\d{1,9})\s*:(.*)", re.IGNORECASE | re.ASCII)
_COST = re.compile(r"Cost\s*:?\s+(\S+)", re.IGNORECASE)
# Other lines that begin with a word: the time, the authors, a remark. A line "Solution"
# comes before the tours in files of LKH-3 and SINTEF.
_REMARK = re.compile(r"#.*|Solution|(?i:(?!Route|Cost))[A-Za-z][\w ()./-]*(:.*|\s\S.*)")


def parse_plan(content: str | bytes, instance: Instance | None = None) -> Plan:
    """
    Read a plan. Customers are numbered from 1; the depot is not listed.

    If the instance has a mixed fleet, the number of a route is the number of its
    vehicle: route 3 belongs to the third vehicle of the fleet.
    """
    routes, _ = _parse(decode(content))
    if instance is None or not instance.has_mixed_fleet:
        return Plan(routes.values())
    types = [i for i, one in enumerate(instance.fleet) for _ in range(one.count)]
    for number in routes:
        if not 1 <= number <= len(types):
            raise InputError(
                f"Route #{number}, but there are {len(types)} vehicles, from #1"
            )
    return Plan(routes.values(), [types[number - 1] for number in routes])


def parse_cost(text: str) -> float | None:
    """Return the cost that a solution states; None if it states none."""
    return _parse(text)[1]


def _parse(text: str) -> tuple[dict[int, list[int]], float | None]:
    """Return the tours by the number of their route, and the cost, None if missing."""
    routes: dict[int, list[int]] = {}
    cost: float | None = None
    for number, raw in enumerate(split_lines(text), 1):
        line = raw.strip()
        if match := _ROUTE.fullmatch(line):
            route = int(match[1])
            if route in routes:
                raise InputError(f"line {number}: a second Route #{route}")
            what = f"line {number}: a customer"
            routes[route] = [to_whole(value, what, 1) for value in match[2].split()]
        elif match := _COST.fullmatch(line):
            if cost is not None:
                raise InputError(f"line {number}: a second Cost")
            cost = to_number(match[1], f"line {number}: Cost")
        elif line and not _REMARK.fullmatch(line):
            raise InputError(
                f"line {number}: {shorten(line)} is neither 'Route #1: …' nor 'Cost …'"
            )
    if not routes and cost is None:
        raise InputError("no line 'Route #1: …', so this is not a solution")
    return routes, cost


def format_plan(plan: Plan, instance: Instance) -> str:
    """
    Return the text of a .sol file: the tours, their cost, and the unserved customers.

    If the instance has a mixed fleet, the number of a route is the number of its
    vehicle in the fleet.
    """
    numbers = list(range(1, plan.vehicles + 1))
    if instance.has_mixed_fleet:
        numbers = _vehicle_numbers(plan, instance)
    lines = [
        f"Route #{number}: {' '.join(map(str, tour))}"
        for number, tour in sorted(zip(numbers, plan, strict=True))
    ]
    lines.append(f"Cost {format_number(plan.cost(instance))}")
    if unserved := plan.unserved(instance):
        lines.append(f"Unserved: {' '.join(map(str, unserved))}")
    return "\n".join(lines) + "\n"


def _vehicle_numbers(plan: Plan, instance: Instance) -> list[int]:
    """Return the number of each tour's vehicle among all vehicles of the fleet."""
    if faults := plan.check(instance, partial=True):
        raise InputError(f"the plan is not one for this fleet: {faults[0]}")
    free = list(accumulate((one.count for one in instance.fleet), initial=1))
    numbers = []
    for index in plan.type_indices(instance):
        numbers.append(free[index])
        free[index] += 1
    return numbers
