"""Settings of the searches: ruin and recreate, HGS-CVRP, and part by part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fixedfleet.errors import InputError, above, at_least, between, check_settings

__all__ = [
    "EXPENSIVE",
    "GPU_DEFAULTS",
    "LARGE",
    "DecompositionParameters",
    "GpuPartsParameters",
    "HgsParameters",
    "RuinRecreateParameters",
]

# With more customers, the search part by part begins with a savings plan, keeps the
# strings of ruin and recreate short, and takes at least three tours for a part.
LARGE = 2000
# If parts are searched for fewer seconds per hundred customers, a population of 3 is
# enough.
_BRIEF = 0.1
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


@dataclass(frozen=True, kw_only=True)
class HgsParameters:
    """
    Parameters of the hybrid genetic search, at its authors' values.

    Parameters
    ----------
    granularity
        Number of nearest customers that local search tries for each customer.
    population
        Smallest size of each subpopulation; four times as many plans are built before
        the search proper begins, so a smaller one suits a short time limit.
    generation
        Plans added to a subpopulation before its worst are removed.
    elite
        Plans that their cost alone keeps in the population.
    closest
        Plans considered in measuring the diversity that a plan contributes.
    penalty_period
        Iterations between updates of the penalty for overload.
    target_feasible
        Share of feasible plans the penalty aims at.
    penalty_decrease
        Factor of the penalty when there are more feasible plans than that.
    penalty_increase
        Factor of the penalty when there are fewer.
    restart_after
        Iterations without improvement after which a new population is built.
    swap_star
        Whether to use the SWAP* neighbourhood.
    """

    granularity: Annotated[int, at_least(1)] = 20
    population: Annotated[int, at_least(1)] = 25
    generation: Annotated[int, at_least(1)] = 40
    elite: Annotated[int, at_least(1)] = 4
    closest: Annotated[int, at_least(1)] = 5
    penalty_period: Annotated[int, at_least(1)] = 100
    target_feasible: Annotated[float, between(0, 1)] = 0.2
    penalty_decrease: Annotated[float, above(0)] = 0.85
    penalty_increase: Annotated[float, at_least(1)] = 1.2
    restart_after: Annotated[int, at_least(1)] = 20_000
    swap_star: bool = True

    def __post_init__(self) -> None:
        check_settings(self)
        if self.penalty_decrease > 1:
            raise InputError(f"penalty_decrease is {self.penalty_decrease:g}, above 1")


@dataclass(frozen=True, kw_only=True)
class DecompositionParameters:
    """
    Settings of the search part by part, fitted to N = 200 to 1,000 on a core.

    Parameters
    ----------
    whole_share
        Share of the time for ruin and recreate of the whole plan, at least. It has
        more if there is little time for each customer.
    whole
        Settings of ruin and recreate. With more than 2,000 customers, or little time
        for each, its temperatures follow from the legs of a savings plan.
    whole_end
        N times the end temperature of ruin and recreate. The parts make up for an end
        that is less cold than that of a search of its own.
    size
        Number of customers per part. With more than 2,000 customers in all, a part has
        at least three tours.
    part_seconds
        Seconds to search a part, for each hundred customers in it, at most. There is
        less if there are too many parts for the time.
    parts
        Settings of HGS-CVRP for the parts.
    """

    whole_share: Annotated[float, between(0, 1)] = 0.4
    whole: RuinRecreateParameters = RuinRecreateParameters(
        ends=4, exchange=True, hasty=True
    )
    whole_end: Annotated[float, above(0)] = 2.0
    size: Annotated[int, at_least(1)] = 100
    part_seconds: Annotated[float, above(0)] = 0.15
    parts: HgsParameters = HgsParameters(
        population=4,
        generation=8,
        granularity=10,
        elite=2,
        closest=2,
        penalty_period=10,
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def size_for(self, customers: int, tours: int) -> float:
        """Return the customers per part: of many, at least those of three tours."""
        few = customers <= LARGE
        return float(self.size) if few else max(self.size, 3 * customers / tours)

    def parts_for(self, seconds: float) -> HgsParameters:
        """Return the settings for so many seconds per hundred customers of a part."""
        if seconds >= _BRIEF:
            return self.parts
        population = min(self.parts.population, 3)
        return replace(self.parts, population=population, generation=2 * population)

    def whole_for(self, customers: int, vehicles: int) -> RuinRecreateParameters:
        """
        Return the settings of ruin and recreate.

        Strings grow with long tours, unless many customers leave little time for each.
        """
        mean = customers / vehicles if customers <= LARGE else 0  # customers per tour
        return replace(
            self.whole,
            removals=max(self.whole.removals, mean / 4),
            longest=max(self.whole.longest, int(mean * 3 / 8)),
            end_temperature=min(
                self.whole_end / customers, self.whole.start_temperature
            ),
        )


@dataclass(frozen=True, kw_only=True)
class GpuPartsParameters:
    """
    Settings of the search part by part on a GPU.

    Parameters
    ----------
    whole_share
        Share of the time for ruin and recreate of the whole plan on the cores. It has
        more if this is less than 0.2 ms per customer, up to half of the time.
    size, largest
        Number of customers and vehicles per part. After a round that changed no part,
        the next has larger ones, until they have at least the second number.
    round_seconds
        Seconds of a round.
    start_temperature, end_temperature
        Temperatures of the annealing in each round, for about a hundred customers in
        the unit square.
    """

    whole_share: Annotated[float, between(0, 1)] = 0.2
    size: Annotated[int, at_least(1)] = 106
    largest: Annotated[int, at_least(1)] = 230
    round_seconds: Annotated[float, above(0)] = 0.25
    start_temperature: Annotated[float, above(0)] = 0.1
    end_temperature: Annotated[float, above(0)] = 0.01

    def __post_init__(self) -> None:
        check_settings(self)
