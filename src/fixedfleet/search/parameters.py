"""How ruin and recreate on a core ruins, recreates and cools."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fixedfleet.errors import InputError

__all__ = ["RuinRecreateParameters"]


@dataclass(frozen=True)
class RuinRecreateParameters:
    """
    Settings of ruin and recreate; the defaults were fitted to N = 20 … 1,000.

    Parameters
    ----------
    removals
        Customers that an iteration removes on average.
    longest
        Longest string it removes from one tour.
    split
        Probability that a string spares customers in its middle.
    blink
        A place is overlooked once in so many times.
    neighbours
        Nearest customers around which tours are ruined.
    reach
        Nearest customers beside which a place is looked for.
    start_temperature, end_temperature
        Of the annealing, in lengths of an instance drawn in the unit square; other
        instances are scaled by their mean distance. Default of the end: 1/N, as legs
        become shorter the more customers there are.
    """

    removals: float = 10.0
    longest: int = 10
    split: float = 0.5
    blink: int = 100
    neighbours: int = 40
    reach: int = 12
    start_temperature: float = 0.1
    end_temperature: float | None = None

    def __post_init__(self) -> None:
        if not (self.removals >= 1 and self.longest >= 1):
            raise InputError("removals and longest must be at least 1")
        if not 0 <= self.split <= 1:
            raise InputError(f"split is {self.split:g}, not a probability")
        if self.blink < 2 or self.neighbours < 1 or self.reach < 1:
            raise InputError("blink must be at least 2, neighbours and reach 1")
        start, end = self.start_temperature, self.end_temperature
        if not 0 < (start if end is None else end) <= start < math.inf:
            raise InputError("temperatures must fall: 0 < end ≤ start")

    def temperatures(self, customers: int) -> tuple[float, float]:
        """Start and end temperature for so many customers in the unit square."""
        end = self.end_temperature or 1 / customers
        return self.start_temperature, min(end, self.start_temperature)
