"""OR-Tools' routing library as what made the paper's labels, and improver."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.search import improve


def test_same_plan_again(solve, make_instance) -> None:
    """A local search that ends at a local optimum gives the same plan each time."""
    instance = make_instance(n=15, vehicles=3, capacity=30)
    plans = [solve("ortools_descent", instance, time_limit=20) for _ in range(2)]
    assert plans[0] is not None
    assert plans[0] == plans[1]


def test_stops_on_a_fleet_that_cannot_be_packed(solve, impossible: ff.Instance) -> None:
    """Where no plan exists the search ends at its limit, with none."""
    assert solve("ortools", impossible, time_limit=0.05) is None


def test_improves_an_initial_plan(solve, make_instance) -> None:
    """A poor plan is improved by guided local search."""
    instance = make_instance(n=12, vehicles=3, capacity=12, demands=[3] * 12)
    poor = ff.Plan([[1, 5, 9, 2], [6, 10, 3, 7], [11, 4, 8, 12]])
    plan = solve("ortools", instance, poor, time_limit=0.2)
    assert plan is not None
    assert plan.length(instance) < poor.length(instance)


def test_a_time_limit_beyond_its_numbers(square: ff.Instance) -> None:
    """A limit that OR-Tools cannot count is as good as a shorter one that it can."""
    poor = ff.Plan([[1, 3], [2, 4]])
    found = improve(square, poor, search="ortools_descent", time_limit=1e300)
    assert found.cost == pytest.approx(4 + 4 * 2**0.5)


def test_saves_a_vehicle_if_vehicles_are_expensive() -> None:
    """If a vehicle has a price, the local search empties a tour that saves length."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(10, 0), (11, 0), (-10, 0), (-11, 0), (0, 9), (0, 10)],
        demands=[2, 1, 2, 1, 1, 1],
        capacity=4,
        vehicles=3,
    )
    plan = ff.Plan([[1, 2], [3, 4], [5, 6]])
    plans = [
        improve(
            instance, plan, search="ortools_descent", time_limit=20, vehicle_cost=cost
        ).plan
        for cost in (0.0, 100.0)
    ]
    assert [plan.vehicles for plan in plans] == [3, 2]
