"""OR-Tools' routing library: the paper's teacher and its improver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fixedfleet.errors import require
from fixedfleet.plan import Plan
from fixedfleet.search.whole_numbers import whole_amounts, whole_distances
from fixedfleet.solvers import improve_by

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.stop import Stop

pywrapcp = require("ortools.constraint_solver.pywrapcp", "", "the solver 'ortools'")
routing_enums_pb2 = require(
    "ortools.constraint_solver.routing_enums_pb2", "", "the solver 'ortools'"
)
FirstSolutionStrategy = routing_enums_pb2.FirstSolutionStrategy
LocalSearchMetaheuristic = routing_enums_pb2.LocalSearchMetaheuristic

__all__ = ["OrtoolsRouting", "ortools_descent_search", "ortools_search"]

# Sums of these over any plan stay far below 2^63.
_LONGEST = 2**31
_LARGEST_SUM = 2**50
_LARGEST_COST = 2**62  # of all vehicles


class OrtoolsRouting:
    """
    The solver ``ortools``.

    Parameters
    ----------
    descent
        Whether to run a plain local search, which ends at a local optimum, instead of
        guided local search.
    vehicle_cost
        Fixed cost of each vehicle used; the search minimises the length plus this.
    """

    name: str = "ortools"
    limits: str = (
        "it takes no seed and draws nothing at random, but if the time limit ends the "
        "search, runs differ; without a start it may find no plan for a tight fleet; "
        "distances that are not whole, or above 2^31, are rounded to 2^-31 of the "
        "longest"
    )

    def __init__(self, *, descent: bool = False, vehicle_cost: float = 0.0) -> None:
        self.descent, self.vehicle_cost = descent, vehicle_cost

    def solve(
        self, instance: Instance, stop: Stop, seed: int = 0, start: Plan | None = None
    ) -> Plan | None:
        """Return the best plan found, or None."""
        stop.require_seconds(self.name)
        vehicles = min(instance.vehicles, instance.num_customers)
        manager = pywrapcp.RoutingIndexManager(instance.num_customers + 1, vehicles, 0)
        model = _model(manager, instance, self.vehicle_cost)
        search = pywrapcp.DefaultRoutingSearchParameters()
        search.first_solution_strategy = FirstSolutionStrategy.PATH_CHEAPEST_ARC
        search.local_search_metaheuristic = (
            LocalSearchMetaheuristic.GREEDY_DESCENT
            if self.descent
            else LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
        )
        # Without a limit, the search for a tight fleet may never end.
        _limit(search, stop)
        model.CloseModelWithParameters(search)
        _limit(search, stop)  # closing the model takes time, too
        if start is None:
            found = model.SolveWithParameters(search)
        else:
            tours = [list(tour) for tour in start]
            initial = model.ReadAssignmentFromRoutes(tours, True)
            found = model.SolveFromAssignmentWithParameters(initial, search)
        return None if not found else _plan(model, manager, found)


def ortools_search(task: SearchTask) -> None:
    """Improve a plan by guided local search until the time is over."""
    improve_by(OrtoolsRouting(vehicle_cost=task.vehicle_cost), task)


def ortools_descent_search(task: SearchTask) -> None:
    """Improve a plan by a plain local search, which ends at a local optimum."""
    improve_by(OrtoolsRouting(descent=True, vehicle_cost=task.vehicle_cost), task)


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


def _limit(search: Any, stop: Stop) -> None:
    search.time_limit.FromMicroseconds(max(1000, round(1e6 * stop.left())))


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
