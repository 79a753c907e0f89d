"""Read VRPLIB files with the costs of their best known plans."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.files.text import decode, read_bytes
from fixedfleet.files.vrplib_files import split_sections

if TYPE_CHECKING:
    from pathlib import Path

    from fixedfleet.instance import Instance

__all__ = ["best_known"]

_VALUE = re.compile(
    r"(?:optimal|best(?: known)?)(?: value| solution| cost)?\s*:\s*"
    r"(\d+(?:\.\d+)?)",
    re.IGNORECASE | re.ASCII,
)


# The roundings that authors use for instances with a mixed fleet or with times. None is
# the rounding that the file names.
_DAY_ROUNDINGS: tuple[Literal["none", "dimacs"] | None, ...] = (None, "none", "dimacs")
# Sections of a file with a mixed fleet or with times.
_DAY = re.compile(
    r"^[ \t]*(CAPACITY|TIME_WINDOW|SERVICE_TIME|VEHICLES_\w+)_SECTION\b",
    re.MULTILINE | re.IGNORECASE,
)


def best_known(path: Path) -> tuple[Instance, float | None]:
    """
    Return an instance, named after its file, and the cost of its best known plan.

    The plan is read from the .sol file beside the instance. Without a .sol file, the
    cost is taken from the comment in the instance's file. The cost is None if this
    comment has no cost either.

    The fleet is the one in the file. If the best known plan has more tours, the fleet
    has as many vehicles as this plan: the k in CVRPLIB's names is only a lower bound,
    and a method must be allowed as many vehicles as the plan it is compared with.

    For instances with a mixed fleet or with times, authors round distances differently.
    The rounding is chosen such that the plan's cost is the one stated in the .sol file,
    up to a power of ten.

    Raises
    ------
    InputError
        If the plan in the .sol file is infeasible, or if its length differs from the
        stated one.
    """
    solution = path.with_suffix(".sol")
    plan = stated = None
    if solution.is_file():
        if _DAY.search(decode(read_bytes(path), "latin-1")):
            return _best_known_day(path, solution)
        plan, stated = files.read_plan(solution), files.read_solution_cost(solution)
    instance = _read(path, None if plan is None else plan.vehicles)
    if plan is None or not plan.tours:
        return instance, _in_comment(path) if stated is None else stated
    if faults := plan.check(instance):
        raise InputError(f"{solution}: not a plan for {path.name}: {faults[0]}")
    length = plan.length(instance)
    if stated is not None and not math.isclose(stated, length, rel_tol=1e-6):
        raise InputError(
            f"{solution}: states a cost of {stated:g}, but its tours have a length of "
            f"{length:g} with distances of {path.name}"
        )
    return instance, length


def _best_known_day(path: Path, solution: Path) -> tuple[Instance, float]:
    """
    Return an instance with a mixed fleet or times, and the cost of its best known plan.

    The cost is computed from the tours in the .sol file ``solution``, with the first
    rounding that agrees with the cost stated in this file. The stated cost may be a
    power of ten times the returned one, because some authors use another unit.

    Raises
    ------
    InputError
        If the plan is infeasible, or if no rounding agrees with the stated cost.
    """
    stated = files.read_solution_cost(solution)
    costs = []
    for rounding in _DAY_ROUNDINGS:
        instance = files.read(path, rounding=rounding)
        plan = files.read_plan(solution, instance)
        cost = plan.cost(instance)
        if not plan.check(instance) and (
            stated is None or _is_power_of_ten(cost / stated)
        ):
            return replace(instance, name=path.stem), cost
        costs.append(f"{cost:g}")
    raise InputError(
        f"{solution}: states a cost of {stated:g}, but its tours cost "
        f"{' or '.join(costs)}, depending on the rounding, or are not feasible"
    )


def _is_power_of_ten(ratio: float) -> bool:
    power = 10.0 ** round(math.log10(ratio)) if ratio > 0 else 0.0
    return math.isclose(ratio, power, rel_tol=1e-6)


def _read(path: Path, tours: int | None) -> Instance:
    try:
        instance = files.read(path)
    except InputError:
        if not tours:
            raise
        instance = files.read(path, tours)  # perhaps only the fleet was missing
    vehicles = max(instance.vehicles, tours or 0)
    return replace(instance, vehicles=vehicles, name=path.stem)


def _in_comment(path: Path) -> float | None:
    text = decode(read_bytes(path), "latin-1")
    found = _VALUE.search(split_sections(text).headers["COMMENT"])
    return float(found[1]) if found else None
