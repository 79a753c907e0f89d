"""OR-Tools' routing library as teacher and improver."""

from __future__ import annotations

import fixedfleet as ff
from fixedfleet.search import Stop, improve
from fixedfleet.solvers.ortools_routing import OrtoolsRouting


def test_same_plan_again(make_instance) -> None:
    """A local search that ends at a local optimum gives the same plan each time."""
    instance = make_instance(n=15, vehicles=3, capacity=30)
    solver = OrtoolsRouting(descent=True)
    plans = [solver.solve(instance, stop=Stop(20)) for _ in range(2)]
    assert plans[0] is not None
    assert plans[0] == plans[1]


def test_stops_on_a_fleet_that_cannot_be_packed(impossible: ff.Instance) -> None:
    """Where no plan exists the search ends at its limit, with none."""
    assert OrtoolsRouting().solve(impossible, stop=Stop(0.05)) is None


def test_improves_a_start(make_instance) -> None:
    """A poor start is improved by guided local search."""
    instance = make_instance(n=12, vehicles=3, capacity=12, demands=[3] * 12)
    start = ff.Plan([[1, 5, 9, 2], [6, 10, 3, 7], [11, 4, 8, 12]])
    plan = OrtoolsRouting().solve(instance, stop=Stop(0.2), start=start)
    assert plan is not None
    assert plan.length(instance) < start.length(instance)


def test_saves_a_vehicle_if_vehicles_are_expensive() -> None:
    """If a vehicle has a price, the local search empties a tour that saves length."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(10, 0), (11, 0), (-10, 0), (-11, 0), (0, 9), (0, 10)],
        demands=[2, 1, 2, 1, 1, 1],
        capacity=4,
        vehicles=3,
    )
    start = ff.Plan([[1, 2], [3, 4], [5, 6]])
    plans = [
        improve(
            instance, start, search="ortools_descent", stop=Stop(20), vehicle_cost=cost
        ).plan
        for cost in (0.0, 100.0)
    ]
    assert [plan.vehicles for plan in plans] == [3, 2]
