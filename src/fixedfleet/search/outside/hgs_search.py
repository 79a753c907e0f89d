"""HGS-CVRP as a search: one run, by default with its authors' parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fixedfleet.errors import at_least, check_whole
from fixedfleet.plan import Plan
from fixedfleet.search.genetic import AlgorithmParameters, hgs_plans, small_population
from fixedfleet.search.outside.callback_plans import plans_of_callback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.search.outside.callback_plans import Report
    from fixedfleet.search.task import SearchTask

__all__ = ["hgs_search"]

_AUTHORS = AlgorithmParameters()


def hgs_search(
    task: SearchTask,
    *,
    population: int = 0,
    mu: int = _AUTHORS.mu,
    lambda_: int = _AUTHORS.lambda_,
    nbElite: int = _AUTHORS.nbElite,
    nbClose: int = _AUTHORS.nbClose,
    nbGranular: int = _AUTHORS.nbGranular,
    nbIterPenaltyManagement: int = _AUTHORS.nbIterPenaltyManagement,
    targetFeasible: float = _AUTHORS.targetFeasible,
    penaltyIncrease: float = _AUTHORS.penaltyIncrease,
    penaltyDecrease: float = _AUTHORS.penaltyDecrease,
) -> Iterator[Plan]:
    """
    Yield the best plan of HGS-CVRP, if it finds a feasible one.

    HGS-CVRP reports nothing before its end and cannot be stopped before its limit. If
    ``stop`` returns True, the search ends and HGS-CVRP runs on in its thread.

    Parameters
    ----------
    task
        The task.
    population
        Set ``mu`` to this number, and ``lambda_``, ``nbElite`` and ``nbClose`` to
        suitable values; see :func:`fixedfleet.search.genetic.small_population`. If it
        is 0, these four parameters are used as given.
    mu, lambda_, nbElite, nbClose, nbGranular
        HGS-CVRP's own parameters, by its own names.
    nbIterPenaltyManagement, targetFeasible, penaltyIncrease, penaltyDecrease
        HGS-CVRP's own parameters of the penalty for an overload.
    """
    sizes = AlgorithmParameters(
        mu=mu, lambda_=lambda_, nbElite=nbElite, nbClose=nbClose
    )
    if population:
        sizes = small_population(check_whole("population", population, at_least(1)))
    parameters = replace(
        sizes,
        nbGranular=nbGranular,
        nbIterPenaltyManagement=nbIterPenaltyManagement,
        targetFeasible=targetFeasible,
        penaltyIncrease=penaltyIncrease,
        penaltyDecrease=penaltyDecrease,
    )

    def run(report: Report, deadline: Deadline) -> None:
        complete = not task.initial_plan.unserved(task.instance)
        plans = hgs_plans(
            task.instance,
            deadline=replace(deadline, stop=None),
            seed=task.seed,
            initial_plans=[task.initial_plan] if complete else [],
            parameters=parameters,
        )
        for plan in plans:
            report(partial(Plan, plan.tours))

    yield from plans_of_callback(run, task.deadline)
