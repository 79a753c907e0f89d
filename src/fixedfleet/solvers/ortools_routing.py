"""OR-Tools' routing library: the paper's teacher and its improver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.plan import Plan
from fixedfleet.search.whole_numbers import whole_amounts, whole_distances
from fixedfleet.solvers.protocol import improve_by

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.search.method import SearchTask
    from fixedfleet.search.stop import Stop

pywrapcp = require("ortools.constraint_solver.pywrapcp", "", "the solver 'ortools'")
routing_enums_pb2 = require(
    "ortools.constraint_solver.routing_enums_pb2", "", "the solver 'ortools'"
)

__all__ = [
    "OrtoolsParameters",
    "OrtoolsRouting",
    "ortools_descent_search",
    "ortools_search",
]

# Sums of these over any plan stay far below 2^63.
_LONGEST = 2**31
_LARGEST_SUM = 2**50
_LARGEST_COST = 2**62  # of all vehicles


@dataclass(frozen=True, kw_only=True)
class OrtoolsParameters:
    """
    Parameters of the routing search.

    Parameters
    ----------
    metaheuristic
        OR-Tools' name of the metaheuristic, in small letters. ``greedy_descent`` is a
        plain local search that ends at a local optimum.
    first_solution
        OR-Tools' name of the first-solution strategy, used if no start is given.
    vehicle_cost
        Fixed cost of each vehicle used; the search minimises the length plus this.
    """

    metaheuristic: str = "guided_local_search"
    first_solution: str = "path_cheapest_arc"
    vehicle_cost: float = 0.0

    def __post_init__(self) -> None:
        _value(routing_enums_pb2.LocalSearchMetaheuristic, self.metaheuristic)
        _value(routing_enums_pb2.FirstSolutionStrategy, self.first_solution)


class OrtoolsRouting:
    """The solver ``ortools``."""

    name: str = "ortools"
    takes_seed: bool = False
    takes_start: bool = True
    limits: str = (
        "it takes no seed and draws nothing at random, but if the time limit ends the "
        "search, runs differ; without a start it may find no plan for a tight fleet; "
        "distances that are not whole, or above 2^31, are rounded to 2^-31 of the "
        "longest"
    )

    def __init__(self, parameters: OrtoolsParameters | None = None) -> None:
        self.parameters = parameters or OrtoolsParameters()

    def solve(
        self,
        instance: Instance,
        *,
        stop: Stop,
        seed: int = 0,
        start: Plan | None = None,
    ) -> Plan | None:
        """Return the best plan found, or None."""
        stop.require_seconds(self.name)
        vehicles = min(instance.vehicles, instance.num_customers)
        manager = pywrapcp.RoutingIndexManager(instance.num_customers + 1, vehicles, 0)
        model = _model(manager, instance, self.parameters.vehicle_cost)
        search = _search_parameters(self.parameters)
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
    parameters = OrtoolsParameters(vehicle_cost=task.vehicle_cost)
    improve_by(OrtoolsRouting(parameters), task)


def ortools_descent_search(task: SearchTask) -> None:
    """Improve a plan by a plain local search, which ends at a local optimum."""
    parameters = OrtoolsParameters(
        metaheuristic="greedy_descent", vehicle_cost=task.vehicle_cost
    )
    improve_by(OrtoolsRouting(parameters), task)


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


def _search_parameters(parameters: OrtoolsParameters) -> Any:
    search = pywrapcp.DefaultRoutingSearchParameters()
    search.local_search_metaheuristic = _value(
        routing_enums_pb2.LocalSearchMetaheuristic, parameters.metaheuristic
    )
    search.first_solution_strategy = _value(
        routing_enums_pb2.FirstSolutionStrategy, parameters.first_solution
    )
    return search


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


def _value(enum: Any, name: str) -> int:
    choices = {key.lower(): value for key, value in enum.Value.items()}
    if name not in choices:
        kind = enum.DESCRIPTOR.name
        raise InputError(
            f"unknown {kind} {name!r} of OR-Tools: choose from {', '.join(choices)}"
        )
    return int(choices[name])
