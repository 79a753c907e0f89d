"""
OR-Tools' routing library as a search.

In the paper (Thyssens, Falkner and Schmidt-Thieme, 2022), it solved the training
instances and improved the plans of the network.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import check_choice, require
from fixedfleet.search.outside.callback_plans import plans_of_callback
from fixedfleet.search.outside.whole_day import whole_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.plan import Plan
    from fixedfleet.search.outside.callback_plans import Report
    from fixedfleet.search.outside.whole_day import WholeDay
    from fixedfleet.search.task import SearchTask

pywrapcp = require("ortools.constraint_solver.pywrapcp", "", "the search 'ortools'")
routing_enums_pb2 = require(
    "ortools.constraint_solver.routing_enums_pb2", "", "the search 'ortools'"
)
FirstSolutionStrategy = routing_enums_pb2.FirstSolutionStrategy
LocalSearchMetaheuristic = routing_enums_pb2.LocalSearchMetaheuristic

__all__ = ["ortools_descent_search", "ortools_search"]

# Largest distance and largest sum of demands. Their sums over a plan are far below
# 2^63.
_LONGEST = 2**31
_LARGEST_SUM = 2**50
_LARGEST_COST = 2**62  # largest sum of the fixed costs of all vehicles
_LONGEST_LIMIT = 1_000_000  # seconds; OR-Tools counts in 64 bits
_FOREVER = 2**45  # longer than any tour


def ortools_search(
    task: SearchTask,
    *,
    metaheuristic: str = "guided_local_search",
    first_solution: str = "path_cheapest_arc",
) -> Iterator[Plan]:
    """
    Yield the plans of OR-Tools' local search with a metaheuristic, as it finds them.

    Parameters
    ----------
    task
        The task.
    metaheuristic, first_solution
        Names of OR-Tools' ``LocalSearchMetaheuristic`` and ``FirstSolutionStrategy``,
        in lower case.
    """
    yield from _plans(task, metaheuristic, first_solution)


def ortools_descent_search(
    task: SearchTask, *, first_solution: str = "path_cheapest_arc"
) -> Iterator[Plan]:
    """
    Yield the plans of OR-Tools' local search, which ends at a local optimum.

    Parameters
    ----------
    task
        The task.
    first_solution
        As for :func:`ortools_search`.
    """
    yield from _plans(task, "greedy_descent", first_solution)


def _plans(task: SearchTask, metaheuristic: str, first_solution: str) -> Iterator[Plan]:
    """Run OR-Tools in a thread; yield each plan that is better than those before."""
    search = pywrapcp.DefaultRoutingSearchParameters()
    search.local_search_metaheuristic = _value(
        "metaheuristic", LocalSearchMetaheuristic, metaheuristic
    )
    search.first_solution_strategy = _value(
        "first_solution", FirstSolutionStrategy, first_solution
    )
    yield from plans_of_callback(partial(_solve, task, search), task.deadline)


def _value(option: str, names: Any, name: str) -> int:
    """
    Return the number that OR-Tools' enumeration ``names`` assigns to a name.

    ``option`` is the name of the parameter, for the error message.
    """
    known = {text.lower(): number for text, number in names.Value.items()}
    check_choice(f"{option} of ortools", name, tuple(known))
    return int(known[name])


def _solve(task: SearchTask, search: Any, report: Report, deadline: Deadline) -> None:
    """Run OR-Tools, and report each plan that is better than those before."""
    instance, initial_plan = task.instance, task.initial_plan
    vehicles = min(instance.vehicles, instance.num_customers)
    day = whole_day(
        instance,
        longest=_LONGEST,
        largest_sum=_LARGEST_SUM,
        most_fixed=_LARGEST_COST // vehicles,
        vehicle_cost=task.vehicle_cost,
    )
    types = day.vehicles
    manager = pywrapcp.RoutingIndexManager(len(day.demands), len(types), 0)
    model = _model(manager, day)
    least = math.inf

    def at_solution() -> None:
        """
        Report a solution if it is the best so far.

        The search also accepts solutions that are worse than the best one.
        """
        nonlocal least
        cost = model.CostVar().Value()
        if cost < least:
            least = cost
            tours = _tours(model, manager, lambda var: var.Value())
            report(partial(day.plan, tours, types))
        else:
            report()
        if deadline.over():
            model.solver().FinishCurrentSearch()

    # Without a limit, the search for a tight fleet may never end.
    _limit(search, deadline)
    model.CloseModelWithParameters(search)
    model.AddAtSolutionCallback(at_solution)
    _limit(search, deadline)  # closing the model takes time, too
    if initial_plan.is_feasible(instance):
        tours = day.seat(initial_plan, instance)
        initial = model.ReadAssignmentFromRoutes(tours, True)
        found = model.SolveFromAssignmentWithParameters(initial, search)
    else:
        found = model.SolveWithParameters(search)
    if found:
        report(partial(day.plan, _tours(model, manager, found.Value), types))


def _model(manager: Any, day: WholeDay) -> Any:
    model = pywrapcp.RoutingModel(manager)
    types = [day.types[index] for index in day.vehicles]
    # Distances and demands are given as tables, so that the search calls no Python.
    costs = {
        unit: model.RegisterTransitMatrix((unit * day.distances).tolist())
        for unit in {one.unit_cost for one in day.types}
    }
    for vehicle, one in enumerate(types):
        model.SetArcCostEvaluatorOfVehicle(costs[one.unit_cost], vehicle)
        model.SetFixedCostOfVehicle(one.fixed_cost, vehicle)
    loads = model.RegisterUnaryTransitVector(day.demands.tolist())
    rooms = [one.capacity for one in types]
    model.AddDimensionWithVehicleCapacity(loads, 0, rooms, True, "load")
    if day.is_timed:
        _add_times(model, manager, day)
    return model


def _add_times(model: Any, manager: Any, day: WholeDay) -> None:
    """Require that service begins within windows and tours lie within shifts."""
    # A leg lasts as long as the service at its start plus the travel time.
    legs = day.times + np.array(day.services)[:, None]
    transit = model.RegisterTransitMatrix(legs.tolist())
    model.AddDimension(transit, _FOREVER, _FOREVER, False, "time")
    time = model.GetDimensionOrDie("time")
    for customer in range(1, len(day.demands)):
        begin, end = day.windows[customer]
        bounds = begin, _FOREVER if end is None else end
        time.CumulVar(manager.NodeToIndex(customer)).SetRange(*bounds)
    for vehicle, index in enumerate(day.vehicles):
        one = day.types[index]
        bounds = one.begin, _FOREVER if one.end is None else one.end
        time.CumulVar(model.Start(vehicle)).SetRange(*bounds)
        time.CumulVar(model.End(vehicle)).SetRange(*bounds)


def _limit(search: Any, deadline: Deadline) -> None:
    seconds = min(deadline.left(), _LONGEST_LIMIT)
    search.time_limit.FromMicroseconds(max(1000, round(1e6 * seconds)))


def _tours(model: Any, manager: Any, value: Callable[[Any], int]) -> list[list[int]]:
    """
    Return the tours of a solution, one per vehicle; idle vehicles have empty tours.

    ``value`` returns the value of a variable of the model in this solution.
    """
    tours = []
    for vehicle in range(manager.GetNumberOfVehicles()):
        tour = []
        index = value(model.NextVar(model.Start(vehicle)))
        while not model.IsEnd(index):
            tour.append(manager.IndexToNode(index))
            index = value(model.NextVar(index))
        tours.append(tour)
    return tours
