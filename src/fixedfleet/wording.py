"""How numbers are written for people, in messages, reports and pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fixedfleet.instance import Instance

__all__ = ["count", "decimals", "format_length", "length_unit", "with_unit"]


def count(number: int, what: str) -> str:
    """Write a number of things: "1 vehicle", "2 vehicles"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def decimals(length: float, digits: int) -> int:
    """Return how many decimals, at most six, give a length this many digits in all."""
    if not 0 < length < math.inf:
        return 0
    return min(6, max(0, digits - 1 - math.floor(math.log10(length))))


def format_length(length: float, digits: int, instance: Instance) -> str:
    """Write a length with at least this many digits, no exponent, and its unit."""
    return with_unit(f"{length:.{decimals(length, digits)}f}", length_unit(instance))


def with_unit(text: str, unit: str) -> str:
    """Write a unit, if it is known, behind a text."""
    return f"{text} {unit}".rstrip()


def length_unit(instance: Instance) -> str:
    """Return the unit of lengths, "km" or "mi"; "" if it is not known."""
    return instance.length_unit or ("km" if instance.geographic else "")
