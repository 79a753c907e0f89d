"""How numbers are written for people, in messages, reports and pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fixedfleet.instance import Instance

__all__ = [
    "count",
    "decimals",
    "describe_lines",
    "describe_proof",
    "format_length",
    "length_unit",
    "with_unit",
]


def count(number: int, what: str) -> str:
    """Return a number with a noun: "1 vehicle", "2 vehicles"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def decimals(length: float, digits: int) -> int:
    """
    Return how many decimals a length needs to be written with ``digits`` digits in all.

    The result is from 0 to 6.
    """
    if not 0 < length < math.inf:
        return 0
    return min(6, max(0, digits - 1 - math.floor(math.log10(length))))


def format_length(length: float, digits: int, instance: Instance) -> str:
    """
    Return a length as text with its unit.

    It is written with about ``digits`` digits in all; see :func:`decimals`.
    """
    return with_unit(f"{length:.{decimals(length, digits)}f}", length_unit(instance))


def describe_lines(instance: Instance) -> str:
    """
    Return how lengths on the globe are measured: "by road" or "straight line".

    A detour factor is added, as in "straight line times 1.3". The text is empty if the
    locations are not on the globe.
    """
    if instance.metric == "road":
        return "by road"
    if not instance.geographic:
        return ""
    factor = "" if instance.detour == 1 else f" times {instance.detour:g}"
    return f"straight line{factor}"


def describe_proof(
    gap: float, *, is_optimal: bool, vehicle_cost: float = 0.0, locked: int = 0
) -> str:
    """
    Return a text: by how much a plan can be longer than the best possible plan.

    If there is a vehicle cost, it is about the cost instead of the length. ``gap`` is
    the share by which the cost of the plan exceeds the lower bound. ``locked`` is the
    number of locked tours, which the best possible plan must keep.
    """
    better, worse, best = "shorter", "longer", "shortest"
    if vehicle_cost:
        better, worse, best = "cheaper", "more expensive", "cheapest"
    kept = ""
    if locked:
        kept = f" that keeps the locked tour{'' if locked == 1 else 's'}"
    if is_optimal:
        return f"proven: no plan{kept} is {better}"
    return f"at most {_at_most(gap)} {worse} than the {best} possible plan{kept}"


def _at_most(share: float) -> str:
    """Return a share as a percentage with two digits, rounded up."""
    percent = 100 * share
    places = 2 if percent < 0.01 else max(0, 1 - math.floor(math.log10(percent)))
    # The small subtrahend keeps rounding errors from raising the last digit.
    digits = max(1, math.ceil(percent * 10**places - 1e-9))
    return f"{digits / 10**places:,.{places}f} %"


def with_unit(text: str, unit: str) -> str:
    """Return a text followed by its unit; the text alone if the unit is ""."""
    return f"{text} {unit}".rstrip()


def length_unit(instance: Instance) -> str:
    """Return the unit of lengths, "km" or "mi"; "" if it is not known."""
    return instance.length_unit or ("km" if instance.geographic else "")
