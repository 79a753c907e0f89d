"""OR-Tools' routing library: the paper's teacher and its improver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fixedfleet.errors import require
from fixedfleet.plan import Plan
from fixedfleet.search.outside.whole_numbers import whole_amounts, whole_distances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.search.task import SearchTask

pywrapcp = require("ortools.constraint_solver.pywrapcp", "", "the search 'ortools'")
routing_enums_pb2 = require(
    "ortools.constraint_solver.routing_enums_pb2", "", "the search 'ortools'"
)
FirstSolutionStrategy = routing_enums_pb2.FirstSolutionStrategy
LocalSearchMetaheuristic = routing_enums_pb2.LocalSearchMetaheuristic

__all__ = ["ortools_descent_search", "ortools_search"]

# Sums of these over any plan stay far below 2^63.
_LONGEST = 2**31
_LARGEST_SUM = 2**50
_LARGEST_COST = 2**62  # of all vehicles
_LONGEST_LIMIT = 1_000_000  # seconds; OR-Tools counts in 64 bits


def ortools_search(task: SearchTask) -> Iterator[Plan]:
    """Yield the plan of guided local search at the deadline."""
    yield from _solve(task, LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH)


def ortools_descent_search(task: SearchTask) -> Iterator[Plan]:
    """Yield the plan of a plain local search, which ends at a local optimum."""
    yield from _solve(task, LocalSearchMetaheuristic.GREEDY_DESCENT)


def _solve(task: SearchTask, metaheuristic: Any) -> Iterator[Plan]:
    """Yield the best plan found, if there is one."""
    instance, initial_plan = task.instance, task.initial_plan
    vehicles = min(instance.vehicles, instance.num_customers)
    manager = pywrapcp.RoutingIndexManager(instance.num_customers + 1, vehicles, 0)
    model = _model(manager, instance, task.vehicle_cost)
    search = pywrapcp.DefaultRoutingSearchParameters()
    search.first_solution_strategy = FirstSolutionStrategy.PATH_CHEAPEST_ARC
    search.local_search_metaheuristic = metaheuristic
    # Without a limit, the search for a tight fleet may never end.
    _limit(search, task.deadline)
    model.CloseModelWithParameters(search)
    _limit(search, task.deadline)  # closing the model takes time, too
    if initial_plan.is_feasible(instance):
        tours = [list(tour) for tour in initial_plan]
        initial = model.ReadAssignmentFromRoutes(tours, True)
        found = model.SolveFromAssignmentWithParameters(initial, search)
    else:
        found = model.SolveWithParameters(search)
    if found:
        yield _plan(model, manager, found)


def _model(manager: Any, instance: Instance, vehicle_cost: float) -> Any:
    model = pywrapcp.RoutingModel(manager)
    distances = whole_distances(instance, largest=_LONGEST)
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    # Given as tables, the search never calls back into Python.
    model.SetArcCostEvaluatorOfAllVehicles(
        model.RegisterTransitMatrix(distances.tolist())
    )
    model.AddDimension(
        model.RegisterUnaryTransitVector(demands.tolist()), 0, capacity, True, "load"
    )
    if vehicle_cost:
        unit = float(distances.max()) / (float(instance.distances.max()) or 1.0)
        most = _LARGEST_COST // manager.GetNumberOfVehicles()
        model.SetFixedCostOfAllVehicles(int(min(unit * vehicle_cost, most)))
    return model


def _limit(search: Any, deadline: Deadline) -> None:
    seconds = min(deadline.left(), _LONGEST_LIMIT)
    search.time_limit.FromMicroseconds(max(1000, round(1e6 * seconds)))


def _plan(model: Any, manager: Any, found: Any) -> Plan:
    tours = []
    for vehicle in range(manager.GetNumberOfVehicles()):
        tour = []
        index = found.Value(model.NextVar(model.Start(vehicle)))
        while not model.IsEnd(index):
            tour.append(manager.IndexToNode(index))
            index = found.Value(model.NextVar(index))
        tours.append(tour)
    return Plan(tours)
