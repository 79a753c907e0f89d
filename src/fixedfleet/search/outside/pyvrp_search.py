"""PyVRP's iterated local search."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import require
from fixedfleet.plan import Plan
from fixedfleet.search.outside.whole_numbers import whole_amounts, whole_distances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.search.task import SearchTask

pyvrp = require("pyvrp", "peers", "the search 'pyvrp'")
pyvrp_exceptions = require("pyvrp.exceptions", "peers", "the search 'pyvrp'")

__all__ = ["pyvrp_search"]

# Ten times the longest distance, the penalty of a unit, times all demand: below 2^63.
_LONGEST = 2**24
_LARGEST_SUM = 2**33


def pyvrp_search(task: SearchTask) -> Iterator[Plan]:
    """
    Yield PyVRP's best plan, an overloaded one if it found none that is feasible.

    The vehicle cost is ignored.
    """
    data = _problem(task.instance)
    initial = None
    if task.initial_plan.is_feasible(task.instance):
        # PyVRP numbers the customers from 0.
        tours = [[customer - 1 for customer in tour] for tour in task.initial_plan]
        initial = pyvrp.Solution(data, tours)
    with warnings.catch_warnings():
        # It warns if it finds no feasible plan, which the plan's check says, too.
        warnings.simplefilter("ignore", pyvrp_exceptions.PenaltyBoundWarning)
        result = pyvrp.solve(
            data,
            stop=_stopping_criterion(task.deadline),
            seed=task.seed % 2**32,
            collect_stats=False,
            display=False,
            params=pyvrp.SolveParams(penalty=_penalties(data)),
            initial_solution=initial,
        )
    yield Plan(
        [stop.idx + 1 for stop in route if stop.is_client()]
        for route in result.best.routes()
    )


def _problem(instance: Instance) -> Any:
    distances = whole_distances(instance, largest=_LONGEST)
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    places = (
        instance.coordinates.tolist()
        if instance.has_coordinates
        else [[0.0, 0.0]] * len(demands)
    )
    return pyvrp.ProblemData(
        locations=[pyvrp.Location(x, y) for x, y in places],
        clients=[
            pyvrp.Client(location, delivery=[demand])
            for location, demand in enumerate(demands[1:].tolist(), 1)
        ],
        depots=[pyvrp.Depot(0)],
        vehicle_types=[
            pyvrp.VehicleType(
                num_available=min(instance.vehicles, instance.num_customers),
                capacity=[capacity],
            )
        ],
        distance_matrices=[distances],
        duration_matrices=[np.zeros_like(distances)],
    )


def _penalties(data: Any) -> Any:
    """
    Return bounds of the penalty for a unit of overload that suit the data's scale.

    PyVRP's own bounds, 0.1 and 100,000, suit the benchmark instances, whose distances
    reach about a thousand and whose demands reach about a hundred. For these, the
    bounds are the same; for others they are never so low that a unit of overload pays.
    """
    longest = max(1.0, float(data.distance_matrix(0).max()))
    largest = max(1, *(client.delivery[0] for client in data.clients()))
    return pyvrp.PenaltyParams(
        min_penalty=longest / largest / 100,
        max_penalty=max(longest / largest * 10_000, longest * 10),
    )


def _stopping_criterion(deadline: Deadline) -> Callable[[float], bool]:
    """Return a stopping criterion for PyVRP, which calls it once per iteration."""
    iterations = 0

    def is_over(_best_cost: float) -> bool:
        nonlocal iterations
        iterations += 1
        most = deadline.iterations
        return deadline.over() or (most is not None and iterations > most)

    return is_over
