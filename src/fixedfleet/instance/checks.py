"""What an instance's fields may hold, and the error where they hold something else."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MOST",
    "WITHIN",
    "check_capacity",
    "check_choice",
    "check_degrees",
    "check_demands",
    "check_matrix",
    "check_points",
    "check_vehicles",
    "frozen",
    "numbers",
    "same",
    "set_field",
    "to_units",
    "too_far",
]

# Amounts finer than this share of the capacity are rounded away, so that sums of
# amounts stay whole numbers that fit an int64: see `Instance.demand_units`.
_FINEST_SHARE = Decimal("1e-12")
# Farther places and longer distances than this might add up to infinity.
_FARTHEST = 1e300
WITHIN = f" and within {_FARTHEST:g}"
# Above this a float is not every whole number.
MOST = 2**53


def set_field(instance: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass."""
    object.__setattr__(instance, name, value)


def same(left: object, right: object) -> bool:
    """Whether two fields are equal."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    return type(left) is type(right) and bool(left == right)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that cannot be written to."""
    array = array.copy()
    array.setflags(write=False)
    return array


def numbers(what: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return numbers as an array."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO":  # neither texts nor dates, though they convert
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{what}: not numbers in the shape of a table without gaps")


def too_far(array: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which coordinates or distances are out of bounds."""
    return ~(np.abs(array) <= _FARTHEST)  # also where it is not a number


def check_choice(what: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a word that is none of the choices."""
    if value not in choices:
        raise InputError(f"unknown {what} {value!r}: choose from {', '.join(choices)}")


def check_capacity(capacity: Any) -> int | float:
    """Return a capacity above 0."""
    number = numbers("capacity", capacity)
    if number.ndim or not np.isfinite(number) or number <= 0:
        raise InputError(f"capacity is {capacity!r}, not a number above 0")
    value = float(number)
    return int(value) if value.is_integer() else value


def check_vehicles(vehicles: Any) -> int:
    """Return a number of vehicles, at least 1."""
    number = numbers("vehicles", vehicles)
    if number.ndim or not 1 <= number < MOST or number % 1:
        raise InputError(
            f"vehicles is {vehicles!r}, not a whole number of at least 1 and below 2^53"
        )
    return int(number)


def check_demands(demands: ArrayLike) -> NDArray[Any]:
    """Return demands of at least 0, whole numbers as such."""
    array = numbers("demands", demands)
    if array.ndim != 1 or not len(array):
        raise InputError(
            f"demands has shape {array.shape}, not (N,) with one customer at least"
        )
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise InputError(
            f"customer {bad[0] + 1} has demand {array[bad[0]]:g}, not a number of at "
            "least 0"
        )
    if np.array_equal(array, np.floor(array)) and array.max() < MOST:
        array = array.astype(np.int64)
    return frozen(array)


def check_points(what: str, points: Any, count: int) -> NDArray[np.float64]:
    """Return the coordinates of so many places."""
    array = numbers(f"coordinates of {what}", points)
    if array.shape != (count, 2):
        found = array.shape[1:] if what == "depot" else array.shape
        wanted = "(2,)" if what == "depot" else f"({count}, 2), as there are demands"
        raise InputError(f"coordinates of {what} have shape {found}, not {wanted}")
    bad = np.argwhere(too_far(array))
    if len(bad):
        number = "" if what == "depot" else f" {bad[0][0] + 1}"
        x, y = array[bad[0][0]]
        raise InputError(
            f"{what}{number} lies at ({x:g}, {y:g}), which is not finite{WITHIN}"
        )
    return frozen(array)


def check_degrees(points: NDArray[np.float64]) -> None:
    """Refuse points that are no latitude and longitude."""
    for column, (what, limit) in enumerate((("latitude", 90), ("longitude", 180))):
        bad = np.flatnonzero(np.abs(points[:, column]) > limit)
        if len(bad):
            raise InputError(
                f"location {bad[0]} (0 is the depot) has {what} "
                f"{points[bad[0], column]:g}, not within ±{limit} degrees"
            )


def check_matrix(matrix: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the distances between the depot and n customers."""
    array = numbers("matrix", matrix)
    if array.shape != (n + 1, n + 1):
        raise InputError(
            f"matrix has shape {array.shape}, not ({n + 1}, {n + 1}): the depot and "
            f"{n} customers"
        )
    bad = np.argwhere(too_far(array) | (array < 0))
    if len(bad):
        i, j = bad[0]
        raise InputError(
            f"matrix[{i}, {j}] is {array[i, j]:g}, not a distance of at least 0{WITHIN}"
        )
    return frozen(array)


def to_units(
    demands: NDArray[Any], capacity: float
) -> tuple[NDArray[np.int64], int, Decimal]:
    """Scale amounts to whole numbers: demands with the depot's, capacity, unit."""
    whole = demands.dtype.kind == "i" and isinstance(capacity, int)
    if whole and float(demands.sum(dtype=float)) < 2**62:
        return (
            frozen(np.append(0, demands).astype(np.int64)),
            int(capacity),
            Decimal(1),
        )
    exact = [Decimal(repr(float(q))) for q in demands]
    bound = Decimal(repr(float(capacity)))
    finest = (bound * _FINEST_SHARE).adjusted()
    exponents = [int(q.normalize().as_tuple().exponent) for q in (*exact, bound)]
    unit = Decimal(1).scaleb(max(min(*exponents, 0), finest))  # 1, 0.1, 0.01, …
    units = [0, *(int((q / unit).to_integral_value()) for q in exact)]
    if sum(units) >= 2**62:
        raise InputError(
            f"the largest demand, {max(exact)}, and the capacity, {bound}, are too far "
            "apart to be summed exactly"
        )
    return (
        frozen(np.array(units, dtype=np.int64)),
        int((bound / unit).to_integral_value()),
        unit,
    )
