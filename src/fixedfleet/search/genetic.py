"""HGS-CVRP, the hybrid genetic search of Vidal (2022), through ``hybgensea``.

HGS-CVRP runs in compiled code that neither reports a plan nor ends before its limit:
what its log callback raises is swallowed. So :func:`genetic_search` runs it in slices
of time. The best plans of a slice join the first population of the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hybgensea import AlgorithmParameters, solve_cvrp_dist_mtx

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan
from fixedfleet.search.method import LEAST_SECONDS
from fixedfleet.search.stop import Stop
from fixedfleet.search.whole_numbers import binary_exponent, enough, whole_amounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.search.method import SearchTask

__all__ = ["AlgorithmParameters", "genetic_search", "hgs_plans", "small_population"]

_SLICES = 10  # slices per search, unless they would be too short or too long
_SHORTEST, _LONGEST = 0.5, 2.0  # seconds of a slice
# A slice builds a new first population. This many seconds for each plan of a
# subpopulation and square of the number of customers keep that a small part of it.
_SECONDS_PER_PLAN = 3e-7
# HGS ignores an excess below 1e-5 and refuses a largest demand above 1e5.
# In units of at least 2^-16 an excess is seen, and 2^32 of those still fit.
_FINEST = 16
_LARGEST_SUM = 2**32
# Its penalties suit distances and demands of this order of magnitude, 2^10.
_MAGNITUDE = 10
# Seed 0 is the same as seed 1 to the generator it uses, which has this many others.
_SEEDS = 2**31 - 2

_AUTHORS_VALUES = AlgorithmParameters()


def small_population(size: int, **others: float) -> AlgorithmParameters:
    """
    Return parameters of HGS-CVRP for a population smaller than its authors'.

    HGS-CVRP builds four times ``size`` plans before it begins, so a short search needs
    a small population. ``others`` are further parameters, by HGS-CVRP's own names.
    """
    few = max(2, size // 3)
    return AlgorithmParameters(
        mu=size, lambda_=2 * size, nbElite=few, nbClose=few, **others
    )


def genetic_search(
    task: SearchTask, parameters: AlgorithmParameters = _AUTHORS_VALUES
) -> None:
    """
    Improve a plan by HGS-CVRP, in slices of time, whatever a vehicle costs.

    The start joins the first population if it leaves no customer unassigned.
    """
    instance, stop, seed = task.instance, task.stop, task.seed
    whole = stop.require_seconds("hgs")
    plans = [] if task.start.unserved(instance) else [task.start]
    slice_seconds = max(
        min(max(_SHORTEST, whole / _SLICES), _LONGEST),
        _SECONDS_PER_PLAN * parameters.mu * instance.num_customers**2,
    )
    while (left := stop.left()) > LEAST_SECONDS:
        last = left < 2 * slice_seconds
        found = hgs_plans(
            instance,
            stop=Stop(left if last else slice_seconds),
            most=1 if last else parameters.mu,
            seed=seed,
            starts=plans,
            parameters=parameters,
        )
        if found and found[0].is_feasible(instance):
            plans = found
            task.offer(found[0])
        seed += 1


def hgs_plans(
    instance: Instance,
    *,
    stop: Stop,
    most: int = 1,
    seed: int = 0,
    starts: Sequence[Plan] = (),
    parameters: AlgorithmParameters = _AUTHORS_VALUES,
) -> list[Plan]:
    """
    Search for short plans in one run of HGS-CVRP, from plans or from nothing.

    Returns different feasible plans, the best first; an empty list if none was found.

    Parameters
    ----------
    stop
        Either a number of iterations without improvement after which to end, or seconds
        of processor time. With a time limit HGS-CVRP starts anew when it no longer
        improves. Only iterations give the same plans on every machine.
    most
        Return at most so many plans: the best found, then the best of the last
        population.
    starts
        Plans that join the first population. Each must serve every customer once within
        the fleet, but may overload its tours. The first answer is never longer than the
        shortest feasible start.
    """
    fleet = min(instance.vehicles, instance.num_customers)
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    if not enough(demands, capacity, fleet):
        return []
    if instance.num_customers == 1:  # its crossover needs two customers
        return [Plan([[1]])]
    distances = _scaled_distances(instance)
    loads, limit = _scaled_amounts(demands, capacity)
    x, y = instance.coordinates.T if instance.has_coordinates else (None, None)
    by_time = stop.iterations is None
    parameters = replace(
        parameters,
        seed=1 + seed % _SEEDS,
        # 0 would mean no limit.
        timeLimit=max(stop.left(), LEAST_SECONDS) if by_time else 0.0,
        nbIter=stop.iterations or parameters.nbIter,
    )
    try:
        result = solve_cvrp_dist_mtx(
            distances,
            loads,
            limit,
            x_coords=x,
            y_coords=y,
            num_vehicles=fleet,
            initial_solutions=[start.tours for start in starts],
            initial_solutions_allow_infeasible=True,
            extract_all_feasible=most > 1,
            verbose=False,
            **vars(parameters),
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
    if most > 1:  # a restart may have removed the best plan from the population
        found += [member.routes for member in result.feasible_population[:most]]
    return list(dict.fromkeys(map(Plan, found)))[:most]


def _scaled_distances(instance: Instance) -> NDArray[np.float64]:
    """Return the distances times a power of two, so nothing is rounded."""
    distances = instance.distances
    longest = float(distances.max())
    if longest == 0:  # HGS refuses distances that are all zero; any others will do
        return 1.0 - np.eye(len(distances))
    return np.ldexp(distances, _MAGNITUDE - binary_exponent(longest))


def _scaled_amounts(
    demands: NDArray[np.int64], capacity: int
) -> tuple[NDArray[np.float64], float]:
    """Return demands and capacity times a power of two, so nothing is rounded."""
    largest = int(demands.max())
    if largest == 0:  # HGS refuses demands that are all zero: let one vehicle hold all
        return np.append(0.0, np.ones(len(demands) - 1)), float(len(demands))
    shift = min(_FINEST, max(0, binary_exponent(largest) - _MAGNITUDE))
    return np.ldexp(demands.astype(np.float64), -shift), float(capacity) / 2**shift
