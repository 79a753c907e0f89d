"""Vehicle types: groups of vehicles that are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import (
    LARGEST_WHOLE,
    InputError,
    above,
    at_least,
    between,
    check_array,
    check_number,
    check_whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["VehicleType", "check_vehicle_types"]

_WHOLE = between(1, LARGEST_WHOLE)
_TIMES = between(0, 1e300)


@dataclass(frozen=True, kw_only=True)
class VehicleType:
    """
    A number of vehicles with the same capacity, costs and shift.

    Parameters
    ----------
    name
        Name of the type, for output, such as "3.5 t" or "Anna's van".
    count
        The number of such vehicles.
    capacity
        The largest load of one vehicle.
    fixed_cost
        What it costs to use one vehicle at all.
    cost_per_distance
        What a vehicle costs per unit of distance.
    shift
        When a vehicle may leave the depot, and when it must be back: (from, to).
        Default: any time from 0.

    Raises
    ------
    InputError
        If the input is wrong; the message says what.
    """

    name: str = ""
    count: int = 1
    capacity: float
    fixed_cost: float = 0.0
    cost_per_distance: float = 1.0
    shift: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", str(self.name))
        of = f" of vehicle type {self.name!r}" if self.name else " of the vehicle type"
        capacity = check_number(f"capacity{of}", self.capacity, above(0))
        checked: dict[str, Any] = {
            "count": check_whole(f"count{of}", self.count, _WHOLE),
            "capacity": int(capacity) if capacity.is_integer() else capacity,
            "fixed_cost": check_number(f"fixed_cost{of}", self.fixed_cost, at_least(0)),
            "cost_per_distance": check_number(
                f"cost_per_distance{of}", self.cost_per_distance, at_least(0)
            ),
        }
        if self.shift is not None:
            begin, end = check_array(f"shift{of}", self.shift, (2,), _TIMES).tolist()
            if begin >= end:
                raise InputError(
                    f"shift{of} ends at {end:g}, not after its begin, {begin:g}",
                    "shift",
                )
            checked["shift"] = (begin, end)
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @property
    def kind(self) -> tuple[float, float, float, tuple[float, float] | None]:
        """
        (capacity, fixed cost, cost per distance, shift).

        Vehicles with the same kind are interchangeable.
        """
        return self.capacity, self.fixed_cost, self.cost_per_distance, self.shift


def check_vehicle_types(types: Iterable[VehicleType]) -> tuple[VehicleType, ...]:
    """
    Return the vehicle types of a fleet as a tuple.

    Raise InputError if there are none, or if one is not a VehicleType.
    """
    given = tuple(types)
    if not given:
        raise InputError("vehicle_types is empty: give at least one vehicle type")
    for place, one in enumerate(given):
        if not isinstance(one, VehicleType):
            raise InputError(
                f"vehicle_types[{place}] is a {type(one).__name__}, not a VehicleType"
            )
    return given
