"""
HGS-CVRP, the hybrid genetic search of Vidal (2022), through ``hybgensea``.

HGS-CVRP runs in compiled code that neither reports a plan nor can be stopped before its
limit. So :func:`genetic_search` runs it in slices of time. The best plans of a slice
are added to the first population of the next one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hybgensea import AlgorithmParameters, solve_cvrp_dist_mtx

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan
from fixedfleet.search.outside.whole_numbers import (
    binary_exponent,
    enough,
    whole_amounts,
)
from fixedfleet.search.task import MIN_SECONDS, exchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.search.task import SearchTask

__all__ = [
    "LONGEST_SLICE",
    "AlgorithmParameters",
    "genetic_search",
    "hgs_plans",
    "small_population",
]

_SLICES = 10  # slices per search, unless they would be too short or too long
_SHORTEST_SLICE, LONGEST_SLICE = 0.5, 2.0  # seconds
# Each slice builds a new initial population. To make this a small part of its time, a
# slice has at least this many seconds, multiplied by the population size and the
# squared number of customers.
_SECONDS_PER_PLAN = 3e-7
# HGS-CVRP ignores an overload below 1e-5, and refuses demands above 1e5. If amounts are
# multiples of 2^-16, it sees every overload, and amounts of up to 2^32 such units fit.
_FINEST = 16
_LARGEST_SUM = 2**32
# The penalties of HGS-CVRP suit distances and demands of about 2^10.
_MAGNITUDE = 10
# The random generator of HGS-CVRP has this many seeds, from 1. Seed 0 equals seed 1.
_SEEDS = 2**31 - 2

_AUTHORS_VALUES = AlgorithmParameters()


def small_population(size: int, **others: float) -> AlgorithmParameters:
    """
    Return parameters of HGS-CVRP with a smaller population than the default.

    HGS-CVRP makes 4 · ``size`` plans before its first generation, so a short search
    needs a small population. ``others`` are further parameters, by HGS-CVRP's own
    names.
    """
    few = max(2, size // 3)
    return AlgorithmParameters(
        mu=size, lambda_=2 * size, nbElite=few, nbClose=few, **others
    )


def genetic_search(
    task: SearchTask, parameters: AlgorithmParameters = _AUTHORS_VALUES
) -> Iterator[Plan]:
    """
    Yield better and better plans of HGS-CVRP, which runs in slices of time.

    The vehicle cost is ignored. If the initial plan serves all customers, it is added
    to the first population. After each slice, the task's ``exchange`` may return a plan
    of searches that run at the same time. That plan is yielded, and added to the first
    population of the next slice.
    """
    instance, deadline, seed = task.instance, task.deadline, task.seed
    plans = [] if task.initial_plan.unserved(instance) else [task.initial_plan]
    slice_seconds = max(
        min(max(_SHORTEST_SLICE, deadline.seconds / _SLICES), LONGEST_SLICE),
        _SECONDS_PER_PLAN * parameters.mu * instance.num_customers**2,
    )
    while (left := deadline.left()) > MIN_SECONDS:
        last = left < 2 * slice_seconds
        found = hgs_plans(
            instance,
            deadline=deadline if last else deadline.within(slice_seconds),
            most=1 if last else parameters.mu,
            seed=seed,
            initial_plans=plans,
            parameters=parameters,
        )
        if found and found[0].is_feasible(instance):
            plans = found
            yield found[0]
        if plans and not last:
            plan = yield from exchanged(task, plans[0])
            plans = list(dict.fromkeys([plan, *plans]))
        seed += 1


def hgs_plans(
    instance: Instance,
    *,
    deadline: Deadline,
    most: int = 1,
    seed: int = 0,
    initial_plans: Sequence[Plan] = (),
    parameters: AlgorithmParameters = _AUTHORS_VALUES,
) -> list[Plan]:
    """
    Return different feasible plans found by one run of HGS-CVRP, the best first.

    The list is empty if HGS-CVRP found none.

    Parameters
    ----------
    deadline
        If it limits iterations, the run ends after this number of iterations without
        improvement. Otherwise its seconds are counted as processor time, and HGS-CVRP
        restarts when it no longer improves. Only a limit on iterations gives the same
        plans on every machine.
    most
        Maximum number of plans to return: the best plan found, then the best plans of
        the last population.
    initial_plans
        Plans that are added to the first population. Each must serve every customer
        once within the fleet, but may overload its tours. The first plan returned is
        never longer than the shortest feasible initial plan.
    """
    fleet = min(instance.vehicles, instance.num_customers)
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    if not enough(demands, capacity, fleet):
        return []
    if instance.num_customers == 1:  # the crossover of HGS-CVRP needs two customers
        return [Plan([[1]])]
    distances = _scaled_distances(instance)
    loads, limit = _scaled_amounts(demands, capacity)
    x, y = instance.coordinates.T if instance.has_coordinates else (None, None)
    iterations = deadline.iterations
    parameters = replace(
        parameters,
        seed=1 + seed % _SEEDS,
        # A time limit of 0 means no limit.
        timeLimit=0.0 if iterations else max(deadline.left(), MIN_SECONDS),
        nbIter=iterations or parameters.nbIter,
    )
    try:
        result = solve_cvrp_dist_mtx(
            distances,
            loads,
            limit,
            x_coords=x,
            y_coords=y,
            num_vehicles=fleet,
            initial_solutions=[plan.tours for plan in initial_plans],
            initial_solutions_allow_infeasible=True,
            extract_all_feasible=most > 1,
            verbose=False,
            **vars(parameters),
        )
    except ValueError as error:
        if not initial_plans:
            raise
        raise InputError(f"hgs cannot use an initial plan: {error}") from error
    except RuntimeError as error:
        if "no feasible solution" in str(error):
            return []
        raise
    found = [result.routes]
    if most > 1:  # a restart may have removed the best plan from the population
        found += [member.routes for member in result.feasible_population[:most]]
    return list(dict.fromkeys(map(Plan, found)))[:most]


def _scaled_distances(instance: Instance) -> NDArray[np.float64]:
    """
    Return the distances, multiplied so that the longest is between 2^9 and 2^10.

    The factor is a power of two, so that nothing is rounded.
    """
    distances = instance.distances
    longest = float(distances.max())
    if longest == 0:  # HGS refuses distances that are all zero; any others will do
        return 1.0 - np.eye(len(distances))
    return np.ldexp(distances, _MAGNITUDE - binary_exponent(longest))


def _scaled_amounts(
    demands: NDArray[np.int64], capacity: int
) -> tuple[NDArray[np.float64], float]:
    """
    Return (demands, capacity), both divided by the same power of two.

    The divisor is 1 if the largest demand is below 2^10. Otherwise it is chosen so that
    the largest demand becomes less than 2^10, but it is at most 2^16. Nothing is
    rounded.
    """
    largest = int(demands.max())
    if largest == 0:  # HGS refuses demands that are all zero: one vehicle may serve all
        return np.append(0.0, np.ones(len(demands) - 1)), float(len(demands))
    shift = min(_FINEST, max(0, binary_exponent(largest) - _MAGNITUDE))
    return np.ldexp(demands.astype(np.float64), -shift), float(capacity) / 2**shift
