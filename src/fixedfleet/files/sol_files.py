"""VRPLIB solutions (.sol): ``Route #1: …`` and ``Cost …``."""

from __future__ import annotations

import re
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


def parse_plan(content: str | bytes, _instance: Instance | None = None) -> Plan:
    """Read the tours. Customers are numbered from 1; the depot is not listed."""
    return Plan(_parse(decode(content))[0])


def parse_cost(text: str) -> float | None:
    """Return the cost that a solution states; None if it states none."""
    return _parse(text)[1]


def _parse(text: str) -> tuple[list[list[int]], float | None]:
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
    return list(routes.values()), cost


def format_plan(plan: Plan, instance: Instance) -> str:
    """Write the tours, their total length, and the customers that none serves."""
    lines = [
        f"Route #{number}: {' '.join(map(str, tour))}"
        for number, tour in enumerate(plan, 1)
    ]
    lines.append(f"Cost {format_number(plan.length(instance))}")
    if unserved := plan.unserved(instance):
        lines.append(f"Unserved: {' '.join(map(str, unserved))}")
    return "\n".join(lines) + "\n"
