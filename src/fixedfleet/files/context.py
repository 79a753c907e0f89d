"""What the readers of instances share: the caller's options, notes and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

from fixedfleet.distances import Rounding
from fixedfleet.errors import InputError, check_choice
from fixedfleet.wording import count

__all__ = ["ReadContext"]

_ROUNDING = {
    "none": "distances not rounded",
    "round": "distances rounded to the nearest whole number",
    "ceil": "distances rounded up to whole numbers",
    "trunc": "distances rounded down to whole numbers",
}


@dataclass
class ReadContext:
    """
    What the caller says about an instance, and notes on how it was read.

    What the caller says takes precedence over what the file says.

    Parameters
    ----------
    vehicles
        The number of vehicles.
    capacity
        What one vehicle carries.
    rounding
        The rounding of each distance.
    depot
        The depot: the name of a row in CSV, the number of a node in VRPLIB.
    max_customers
        The largest instance to read. A larger one is refused as soon as its size is
        known, before anything is built from it.
    allow_missing
        If neither caller nor file gives the vehicles or the capacity, read the
        instance with the value 1 and add the field's name to ``missing``, instead of
        raising InputError.

    Attributes
    ----------
    notes
        Remarks on how the instance was read, for example where the fleet comes from.
    missing
        Those of "vehicles" and "capacity" that neither caller nor file gives.
    """

    vehicles: int | None = None
    capacity: float | None = None
    rounding: Rounding | None = None
    depot: str | int | None = None
    max_customers: int | None = None
    allow_missing: bool = False
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.rounding is not None:
            check_choice("rounding", self.rounding, get_args(Rounding))

    def choose_vehicles(self, found: int | None, source: str, remedy: str) -> int:
        """
        Return the caller's fleet, else the file's, and note which one it is.

        Parameters
        ----------
        found
            What the file says, or None.
        source
            Where the file says it.
        remedy
            Where the file could say it, for the message.
        """
        if self.vehicles is not None:
            self.notes.append(
                f"fleet of {count(self.vehicles, 'vehicle')}, as asked for"
            )
            return self.vehicles
        if found is None:
            return self._missing(
                "vehicles", f"how many vehicles there are: give vehicles=, or {remedy}"
            )
        said = f"fleet of {count(found, 'vehicle')} taken from {source}"
        if found < 1:
            raise InputError(f"{said}, not at least 1")
        self.notes.append(said)
        return found

    def choose_capacity(self, found: float | None, source: str, remedy: str) -> float:
        """Return the caller's capacity, else the file's; note it if they differ."""
        if self.capacity is not None:
            if found is not None and found != self.capacity:
                self.notes.append(
                    f"capacity {self.capacity:g}, as asked for; the file says {found:g}"
                )
            return self.capacity
        if found is None:
            return self._missing(
                "capacity", f"what a vehicle carries: give capacity=, or {remedy}"
            )
        if found <= 0:
            raise InputError(f"{source} is {found:g}, not above 0")
        return found

    def choose_rounding(self, found: Rounding, why: str = "") -> Rounding:
        """Return the caller's rounding, else the file's, and note it."""
        if self.rounding is not None:
            found, why = self.rounding, "as asked for"
        self.notes.append(_ROUNDING[found] + (f" ({why})" if why else ""))
        return found

    def check_size(self, customers: int) -> None:
        """Raise InputError if there are more customers than allowed."""
        if self.max_customers is not None and customers > self.max_customers:
            raise InputError(
                f"too many customers: at most {self.max_customers} are allowed"
            )

    def _missing(self, name: str, explanation: str) -> int:
        if not self.allow_missing:
            raise InputError(f"the file does not say {explanation}")
        self.missing.append(name)
        return 1
