"""What both kinds of instances use: frozen fields, and limits of numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNITS_BELOW", "WITHIN", "equal_fields", "read_only", "set_field", "too_far"]

# Loads, in units, stay below this, so that an int64 has room to add to them.
UNITS_BELOW = 2**62
# The sum of larger coordinates or distances could be infinite.
_FARTHEST = 1e300
WITHIN = f" and within {_FARTHEST:g}"


def set_field(instance: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass."""
    object.__setattr__(instance, name, value)


def equal_fields(left: Any, right: Any) -> bool:
    """Return whether all fields of two dataclasses are equal."""
    return all(
        _same(getattr(left, known.name), getattr(right, known.name))
        for known in fields(left)
    )


def _same(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    return type(left) is type(right) and bool(left == right)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def too_far(array: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which coordinates or distances are too large or not finite."""
    return ~(np.abs(array) <= _FARTHEST)  # true for NaN, too
