"""PyVRP's iterated local search as a search."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import require
from fixedfleet.search.outside.callback_plans import plans_of_callback
from fixedfleet.search.outside.whole_day import whole_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.outside.callback_plans import Report
    from fixedfleet.search.outside.whole_day import WholeDay
    from fixedfleet.search.task import SearchTask

pyvrp = require("pyvrp", "peers", "the search 'pyvrp'")
pyvrp_exceptions = require("pyvrp.exceptions", "peers", "the search 'pyvrp'")
pyvrp_ils = require("pyvrp.IteratedLocalSearch", "peers", "the search 'pyvrp'")

__all__ = ["pyvrp_search"]

# The largest penalty, ten times the longest distance per unit of overload, multiplied
# by the sum of all demands must be below 2^63.
_LONGEST = 2**24
_LARGEST_SUM = 2**33
_MOST_FIXED = 2**40  # largest fixed cost of a vehicle
_NEVER = np.iinfo(np.int64).max  # PyVRP's value for a time window without an end

_ILS = pyvrp_ils.IteratedLocalSearchParams()
_NEIGHBOURS = pyvrp.search.NeighbourhoodParams()


def pyvrp_search(
    task: SearchTask,
    *,
    num_neighbours: int = _NEIGHBOURS.num_neighbours,
    num_iters_no_improvement: int = _ILS.num_iters_no_improvement,
    history_length: int = _ILS.history_length,
) -> Iterator[Plan]:
    """
    Yield PyVRP's best plans as it finds them. The vehicle cost is ignored.

    If PyVRP finds no feasible plan, its best infeasible plan is yielded at the end.

    Parameters
    ----------
    task
        The task.
    num_neighbours, num_iters_no_improvement, history_length
        PyVRP's own parameters, by its own names.
    """
    neighbourhood = pyvrp.search.NeighbourhoodParams(num_neighbours=num_neighbours)

    def run(report: Report, deadline: Deadline) -> None:
        day = whole_day(
            task.instance,
            longest=_LONGEST,
            largest_sum=_LARGEST_SUM,
            most_fixed=_MOST_FIXED,
        )
        data = _problem(task.instance, day)
        initial = None
        if task.initial_plan.is_feasible(task.instance):
            tours = zip(
                day.vehicles, day.seat(task.initial_plan, task.instance), strict=True
            )
            # PyVRP numbers the customers from 0.
            routes = [
                pyvrp.Route(data, [customer - 1 for customer in tour], vehicle_type)
                for vehicle_type, tour in tours
                if tour
            ]
            initial = pyvrp.Solution(data, routes)
        search = pyvrp_ils.IteratedLocalSearchParams(
            num_iters_no_improvement=num_iters_no_improvement,
            history_length=history_length,
            callbacks=_Reporting(report, day),
        )
        with warnings.catch_warnings():
            # PyVRP warns if it finds no feasible plan. The check of its plan will show
            # that anyway.
            warnings.simplefilter("ignore", pyvrp_exceptions.PenaltyBoundWarning)
            result = pyvrp.solve(
                data,
                stop=_stopping_criterion(deadline),
                seed=task.seed % 2**32,
                collect_stats=False,
                display=False,
                params=pyvrp.SolveParams(
                    ils=search,
                    penalty=_penalties(data, day),
                    neighbourhood=neighbourhood,
                ),
                initial_solution=initial,
            )
        report(partial(_plan, day, result.best))

    yield from plans_of_callback(run, task.deadline)


class _Reporting(pyvrp_ils.IteratedLocalSearchCallbacks):  # type: ignore[misc, name-defined]
    """
    PyVRP's callbacks, which report plans.

    They report the initial solution if it is feasible, and each new best solution.
    """

    def __init__(self, report: Report, day: WholeDay) -> None:
        self._report, self._day = report, day

    def on_start(self, algorithm: Any) -> None:
        if algorithm.initial_solution.is_feasible():
            self._report(partial(_plan, self._day, algorithm.initial_solution))

    def on_best(self, best: Any) -> None:
        self._report(partial(_plan, self._day, best))

    def on_iteration(self, *_state: Any) -> None:
        self._report()


def _plan(day: WholeDay, solution: Any) -> Plan:
    routes = solution.routes()
    tours = [[stop.idx + 1 for stop in one if stop.is_client()] for one in routes]
    return day.plan(tours, [one.vehicle_type() for one in routes])


def _problem(instance: Instance, day: WholeDay) -> Any:
    places = (
        instance.coordinates.tolist()
        if instance.has_coordinates
        else [[0.0, 0.0]] * len(day.demands)
    )
    return pyvrp.ProblemData(
        locations=[pyvrp.Location(x, y) for x, y in places],
        clients=[
            pyvrp.Client(
                location,
                delivery=[demand],
                service_duration=day.services[location],
                tw_early=day.windows[location][0],
                tw_late=_late(day.windows[location][1]),
            )
            for location, demand in enumerate(day.demands[1:].tolist(), 1)
        ],
        depots=[pyvrp.Depot(0)],
        vehicle_types=[
            pyvrp.VehicleType(
                num_available=one.number,
                capacity=[one.capacity],
                fixed_cost=one.fixed_cost,
                unit_distance_cost=one.unit_cost,
                tw_early=one.begin,
                tw_late=_late(one.end),
            )
            for one in day.types
        ],
        distance_matrices=[day.distances],
        duration_matrices=[day.times],
    )


def _late(end: int | None) -> int:
    return _NEVER if end is None else end


def _penalties(data: Any, day: WholeDay) -> Any:
    """
    Return PyVRP's settings for penalties, with bounds that are scaled to the data.

    A penalty is the cost of one unit of overload or of delay. PyVRP's own bounds, 0.1
    and 100,000, suit benchmark instances, with distances up to about a thousand and
    demands up to about a hundred. For these, the returned bounds are about the same.
    For other instances, the bounds are proportional to the longest distance and
    inversely proportional to the largest demand. If the longest travel time is a larger
    number than the largest demand, the lower bound is divided by it instead.
    """
    longest = max(1.0, float(data.distance_matrix(0).max()))
    longest *= max(1, *(one.unit_cost for one in day.types))
    largest = max(1, *(client.delivery[0] for client in data.clients()))
    units = max(largest, int(day.times.max()))
    return pyvrp.PenaltyParams(
        min_penalty=longest / units / 100,
        max_penalty=max(longest / largest * 10_000, longest * 10),
    )


def _stopping_criterion(deadline: Deadline) -> Callable[[float], bool]:
    """
    Return a function for PyVRP that says whether to stop.

    PyVRP calls it once per iteration.
    """
    iterations = 0

    def is_over(_best_cost: float) -> bool:
        nonlocal iterations
        iterations += 1
        most = deadline.iterations
        return deadline.over() or (most is not None and iterations > most)

    return is_over
