"""HGS-CVRP, the hybrid genetic search of Vidal (2022), through ``hybgensea``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import hybgensea
import numpy as np

from fixedfleet.errors import InputError, check_whole
from fixedfleet.plan import Plan
from fixedfleet.solvers.protocol import check_time_limit
from fixedfleet.solvers.whole import binary_exponent, enough, whole_amounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["Hgs", "HgsParameters", "hgs_plans", "hgs_search"]

# HGS takes an excess below 1e-5 for none and a largest demand above 1e5 for an error.
# In units of at least 2^-16 an excess is seen, and 2^32 of those still fit.
_FINEST = 16
_LARGEST_SUM = 2**32
# Its penalties suit distances and demands of this order of magnitude, 2^10.
_MAGNITUDE = 10
# Seed 0 is the same as seed 1 to the generator it uses, which has this many others.
_SEEDS = 2**31 - 2


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

    granularity: int = 20
    population: int = 25
    generation: int = 40
    elite: int = 4
    closest: int = 5
    penalty_period: int = 100
    target_feasible: float = 0.2
    penalty_decrease: float = 0.85
    penalty_increase: float = 1.2
    restart_after: int = 20_000
    swap_star: bool = True

    def __post_init__(self) -> None:
        for name in (
            "granularity", "population", "generation", "elite", "closest",
            "penalty_period", "restart_after",
        ):  # fmt: skip
            check_whole(name, getattr(self, name), least=1)
        if not 0 <= self.target_feasible <= 1:
            raise InputError(
                f"target_feasible is {self.target_feasible}, not within 0 and 1"
            )
        if not 0 < self.penalty_decrease <= 1 <= self.penalty_increase:
            raise InputError(
                f"penalty_decrease is {self.penalty_decrease} and penalty_increase "
                f"{self.penalty_increase}: they must lie on either side of 1"
            )


class Hgs:
    """The solver ``hgs``."""

    name: str = "hgs"
    takes_seed: bool = True
    takes_start: bool = True
    limits: str = (
        "the time limit counts the processor time of its thread, not wall time; "
        "amounts finer than 2^-32 of the sum of demands are rounded up"
    )

    def __init__(self, parameters: HgsParameters | None = None) -> None:
        self.parameters = parameters or HgsParameters()

    def solve(
        self,
        instance: Instance,
        *,
        time_limit: float,
        seed: int = 0,
        start: Plan | None = None,
    ) -> Plan | None:
        """Return the best plan found in ``time_limit`` seconds, or none at all."""
        return hgs_search(
            instance,
            time_limit=time_limit,
            seed=seed,
            starts=() if start is None else (start,),
            parameters=self.parameters,
        )


def hgs_search(
    instance: Instance,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    starts: Sequence[Plan] = (),
    vehicles: int | None = None,
    iterations: int | None = None,
    parameters: HgsParameters | None = None,
) -> Plan | None:
    """Return the best of :func:`hgs_plans`, or None where no plan was found."""
    plans = hgs_plans(
        instance,
        time_limit=time_limit,
        seed=seed,
        starts=starts,
        vehicles=vehicles,
        iterations=iterations,
        parameters=parameters,
    )
    return plans[0] if plans else None


def hgs_plans(
    instance: Instance,
    *,
    most: int = 1,
    time_limit: float | None = None,
    seed: int = 0,
    starts: Sequence[Plan] = (),
    vehicles: int | None = None,
    iterations: int | None = None,
    parameters: HgsParameters | None = None,
) -> list[Plan]:
    """
    Search for short plans with at most so many vehicles, from plans or from nothing.

    Either the time or the iterations are limited: with a time limit the package starts
    anew instead of stopping where it no longer improves. Only the limit on iterations
    gives the same plans for the same seed on every machine.

    Parameters
    ----------
    instance
        The instance.
    most
        How many plans to return at most: the best found, then the best of the last
        population.
    time_limit
        Seconds of processor time.
    seed
        Seed of the search.
    starts
        Plans that join the first population. Each must serve every customer once with
        at most ``vehicles`` tours, but may overload them. The first answer is never
        longer than the shortest feasible one.
    vehicles
        The bound on the number of tours, if lower than the instance's fleet.
    iterations
        Stop after so many iterations without improvement.
    parameters
        Parameters of the search.

    Returns
    -------
    list
        Different feasible plans, the best first; empty where none was found.
    """
    bound = _bound(instance, vehicles)
    _check_limits(time_limit, iterations)
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    if not enough(demands, capacity, bound):
        return []
    if instance.num_customers == 1:  # its crossover wants two customers
        return [Plan([[1]])]
    parameters = parameters or HgsParameters()
    loads, limit = _scaled_amounts(demands, capacity)
    x, y = instance.coordinates.T if instance.has_coordinates else (None, None)
    try:
        result = hybgensea.solve_cvrp_dist_mtx(
            _scaled_distances(instance),
            loads,
            limit,
            x_coords=x,
            y_coords=y,
            num_vehicles=bound,
            initial_solutions=[start.tours for start in starts],
            initial_solutions_allow_infeasible=True,
            extract_all_feasible=most > 1,
            verbose=False,
            seed=1 + seed % _SEEDS,
            timeLimit=time_limit or 0.0,
            nbIter=iterations or parameters.restart_after,
            **_names_there(parameters),
        )
    except ValueError as error:
        if not starts:
            raise
        raise InputError(f"a start cannot be used by hgs: {error}") from error
    except RuntimeError as error:
        if "no feasible solution" in str(error):
            return []
        raise
    found = [result.routes]
    if most > 1:  # the best may come from before a restart and be in there or not
        found += [member.routes for member in result.feasible_population[:most]]
    return list(dict.fromkeys(map(Plan, found)))[:most]


def _scaled_distances(instance: Instance) -> NDArray[np.float64]:
    """Distances times a power of two, so nothing is rounded."""
    distances = instance.distances
    longest = float(distances.max())
    if longest == 0:  # HGS refuses distances that are all zero; any others will do
        return 1.0 - np.eye(len(distances))
    return np.ldexp(distances, _MAGNITUDE - binary_exponent(longest))


def _scaled_amounts(
    demands: NDArray[np.int64], capacity: int
) -> tuple[NDArray[np.float64], float]:
    """Demands and capacity times a power of two, so nothing is rounded."""
    largest = int(demands.max())
    if largest == 0:  # HGS refuses demands that are all zero: let one vehicle hold all
        return np.append(0.0, np.ones(len(demands) - 1)), float(len(demands))
    shift = min(_FINEST, max(0, binary_exponent(largest) - _MAGNITUDE))
    return np.ldexp(demands.astype(np.float64), -shift), float(capacity) / 2**shift


def _names_there(parameters: HgsParameters) -> dict[str, float]:
    return {
        "nbGranular": parameters.granularity,
        "mu": parameters.population,
        "lambda_": parameters.generation,
        "nbElite": parameters.elite,
        "nbClose": parameters.closest,
        "nbIterPenaltyManagement": parameters.penalty_period,
        "targetFeasible": parameters.target_feasible,
        "penaltyDecrease": parameters.penalty_decrease,
        "penaltyIncrease": parameters.penalty_increase,
        "useSwapStar": parameters.swap_star,
    }


def _bound(instance: Instance, vehicles: int | None) -> int:
    if vehicles is None:
        vehicles = instance.vehicles
    elif not 1 <= vehicles <= instance.vehicles:
        raise InputError(
            f"vehicles is {vehicles}, not within 1 and the fleet of {instance.vehicles}"
        )
    return min(vehicles, instance.num_customers)


def _check_limits(time_limit: float | None, iterations: int | None) -> None:
    if (time_limit is None) == (iterations is None):
        raise InputError("give either a time limit or a number of iterations to hgs")
    if time_limit is not None:
        check_time_limit(time_limit)
    if iterations is not None:
        check_whole("iterations", iterations, least=1)
