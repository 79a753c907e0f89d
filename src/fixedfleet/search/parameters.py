"""Settings of ruin and recreate, on a core and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fixedfleet.errors import InputError, above, at_least, between, check_settings

__all__ = ["EXPENSIVE", "GPU_DEFAULTS", "RuinRecreateParameters"]

# If a vehicle costs at least this share of a plan's length, the number of vehicles is
# minimised first.
EXPENSIVE = 0.05


@dataclass(frozen=True, kw_only=True)
class RuinRecreateParameters:
    """
    Settings of ruin and recreate; the defaults are fitted to N = 20 to 1,000 on a core.

    Parameters
    ----------
    removals
        Customers that an iteration removes on average; at most 16 on a GPU.
    longest
        Most customers removed from one tour; at most 32 on a GPU.
    split
        Probability that a removed string leaves out customers in its middle. On a GPU
        no string does.
    blink
        One in so many places is overlooked when a customer is inserted.
    neighbours
        Number of nearest customers whose tours may be ruined together. A GPU takes all.
    reach
        Number of nearest customers beside which a place is looked for. A GPU tries all.
    ends
        Number of tours, on average, at whose begin and end a place is looked for, too.
        It matters if tours are long and pass many customers on their way to the first.
        A GPU tries all.
    exchange
        Whether two ruined tours may exchange their ends before customers are put back,
        if all legs are as long in both directions. On a GPU they do not.
    hasty
        Whether an iteration ends as soon as the plan is longer than annealing can
        accept, and looks for a place beside all ``neighbours`` before it tries all
        tours. A GPU always ends early.
    start_temperature, end_temperature
        Temperatures of the annealing, in lengths of an instance drawn in the unit
        square; other instances are scaled by their mean distance. Default of the end:
        1/N, because legs become shorter with more customers.
    """

    removals: Annotated[float, at_least(1)] = 10.0
    longest: Annotated[int, at_least(1)] = 10
    split: Annotated[float, between(0, 1)] = 0.5
    blink: Annotated[int, at_least(2)] = 100
    neighbours: Annotated[int, at_least(1)] = 40
    reach: Annotated[int, at_least(1)] = 12
    ends: Annotated[int, at_least(0)] = 0
    exchange: bool = False
    hasty: bool = False
    start_temperature: Annotated[float, above(0)] = 0.1
    end_temperature: Annotated[float | None, above(0)] = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.start_temperature < (self.end_temperature or 0):
            raise InputError(
                f"end_temperature is {self.end_temperature:g}, above start_temperature "
                f"{self.start_temperature:g}"
            )

    def temperatures(self, customers: int) -> tuple[float, float]:
        """Return start and end temperature for N customers in the unit square."""
        end = self.end_temperature or 1 / customers
        return self.start_temperature, min(end, self.start_temperature)


# The settings that were fitted to batches on a GPU.
GPU_DEFAULTS = RuinRecreateParameters(removals=8.0, longest=6, end_temperature=0.015)
