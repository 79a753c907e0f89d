"""Demands and capacities as whole numbers of one unit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNITS_BELOW", "read_only", "to_units", "undo_division", "whole_units"]

# The sum of all demands, in units, stays below this, so that sums fit into an int64.
UNITS_BELOW = 2**62
# Demands that were divided by the capacity are recognised up to this capacity. Above
# about 2,900, a single demand of 32 bits may also fit a capacity that is smaller than
# the true one.
_LARGEST_DENOMINATOR = 10_000
# An amount counts as a whole number of units if it differs by at most this share.
_NEARLY = Fraction(1, 10**9)


class _Floats(NamedTuple):
    """The precision of 32-bit or 64-bit floating-point numbers, for reading demands."""

    kind: type[np.floating[Any]]
    tolerance: float  # relative error of a quotient of two such numbers
    digits: int  # numbers that a person has written have no more digits
    # The unit of amounts is at least this share of the capacity, so that loads fit into
    # an int64; see `Instance.demand_units`.
    finest_share: Decimal


_SINGLE = _Floats(np.float32, 2.0**-23, 6, Decimal("1e-7"))
_DOUBLE = _Floats(np.float64, 2.0**-51, 15, Decimal("1e-12"))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def to_units(
    demands: NDArray[Any], capacity: float
) -> tuple[NDArray[np.int64], int, Fraction]:
    """
    Return (demands, capacity, unit), the first two as whole numbers of the unit.

    The returned demands have shape (N + 1,), with a 0 for the depot. See
    :attr:`Instance.demand_units` for how the unit is chosen.
    """
    whole = demands.dtype.kind == "i" and isinstance(capacity, int)
    if whole and float(demands.sum(dtype=float)) < UNITS_BELOW:
        units = np.append(0, demands).astype(np.int64)
        return read_only(units), int(capacity), Fraction(1)
    # A number of 32 bits that is written with 64 bits has further, meaningless digits.
    short = demands.dtype.kind == "f" and (demands == demands.astype(np.float32)).all()
    floats, finest_share = _SINGLE if short else _DOUBLE, _DOUBLE.finest_share
    bound = Decimal(repr(float(capacity)))
    exact = [Decimal(str(floats.kind(q))) for q in demands]
    if any(len(q.as_tuple().digits) > floats.digits for q in exact):
        shares, finest_share = demands / float(capacity), floats.finest_share
        if (denominator := _common_denominator(shares, floats)) is not None:
            units = np.append(0, np.rint(shares * denominator)).astype(np.int64)
            return read_only(units), denominator, Fraction(bound) / denominator
    finest = (bound * finest_share).adjusted()
    exponents = [int(q.normalize().as_tuple().exponent) for q in (*exact, bound)]
    unit = Decimal(1).scaleb(max(min(*exponents, 0), finest))  # 1, 0.1, 0.01, …
    scaled = [0, *(int((q / unit).to_integral_value()) for q in exact)]
    if sum(scaled) >= UNITS_BELOW:
        raise InputError(
            f"the largest demand, {max(exact)}, and the capacity, {bound}, are too far "
            "apart to be summed exactly"
        )
    units = np.array(scaled, dtype=np.int64)
    return read_only(units), int((bound / unit).to_integral_value()), Fraction(unit)


def whole_units(amount: float, unit: Fraction) -> int:
    """
    Return an amount as a whole number of units.

    It is rounded down, unless it is a whole number up to rounding errors.
    """
    exact = Fraction(Decimal(repr(float(amount)))) / unit
    nearest = round(exact)
    return nearest if abs(exact - nearest) <= nearest * _NEARLY else int(exact)


def _common_denominator(shares: NDArray[np.float64], floats: _Floats) -> int | None:
    """
    Return the smallest d for which each share is a whole number divided by d.

    The shares are demands divided by the capacity. Rounding errors of the floats are
    tolerated. Return None if there is no such d up to ``_LARGEST_DENOMINATOR``.
    """
    some = np.unique(shares)
    denominators = np.arange(1, _LARGEST_DENOMINATOR + 1)
    for begin in range(0, len(some), 8):  # a few shares rule out most denominators
        parts = np.outer(denominators, some[begin : begin + 8])
        near = np.abs(parts - np.rint(parts)) <= floats.tolerance * parts
        denominators = denominators[near.all(axis=1)]
        if not len(denominators):
            return None
    return int(denominators[0])


def undo_division(
    demands: NDArray[Any], capacity: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any] | int]:
    """
    Return the demands of instances as whole numbers, and their capacities.

    Data sets for networks often have demands that were divided by the capacity. These
    are multiplied by the capacity again. If the capacity is not known, the capacity is
    assumed to be the smallest number by which all demands become whole.

    Parameters
    ----------
    demands
        Shape (B, N). Whole numbers are returned unchanged, if the capacity is given.
    capacity
        Shape (B,), or one number for all instances; None, or 1, if it is not known.

    Raises
    ------
    InputError
        If the demands times the capacity are not whole, or if no capacity makes them
        whole.
    """
    if capacity is not None and (np.rint(demands) == demands).all():
        return demands, capacity
    values = np.asarray(demands, dtype=np.float64)
    floats = _SINGLE if (values == values.astype(np.float32)).all() else _DOUBLE
    if capacity is None or (np.asarray(capacity) == 1).all():
        found = _common_denominator(values.ravel(), floats)
        if found is None:
            raise InputError(
                "the demands are fractions of an unknown capacity: give {field}",
                "capacity",
            )
        capacity = np.asarray(found)
    times = np.broadcast_to(capacity, len(values))[:, None] * values
    wrong = np.abs(times - np.rint(times)) > floats.tolerance * times
    if wrong.any():
        row = int(np.argmax(wrong.any(axis=1)))
        raise InputError(
            f"the demands of instance {row} are not whole, and not whole numbers "
            "divided by the capacity either: give the right {field}",
            "capacity",
        )
    return np.rint(times).astype(np.int64), capacity
