"""Tests of the pipeline."""

from __future__ import annotations

import math

import pytest

import fixedfleet as ff
from fixedfleet import generate


def test_solve_returns_a_plan_with_its_cost_and_stages(square):
    """The square's optimum, with what each stage took and gained."""
    result = ff.solve(square, 0.05)
    assert result.feasible
    assert result.cost == result.length == pytest.approx(4 + 4 * math.sqrt(2))
    assert [stage.name for stage in result.stages] == ["fleet", "auto"]
    assert result.stages[0].cost >= result.stages[1].cost == result.cost
    assert result.verdict.status == "feasible"
    assert "2 of 2 vehicles" in str(result)


def test_too_small_a_fleet_has_no_plan_but_a_reason(square):
    """Proven impossible: no plan, infinite cost, the reason and the smallest fleet."""
    result = ff.solve(square.with_vehicles(1), 0.05)
    assert result.plan is None
    assert not result.feasible
    assert result.cost == result.cost_v == math.inf
    assert result.verdict.status == "impossible"
    assert result.verdict.smallest == 2


def test_the_guarantee_plans_for_the_smallest_fleet(square):
    """Asked to guarantee a plan, solve takes the smallest fleet that suffices."""
    result = ff.solve(square.with_vehicles(1), 0.05, guarantee=True)
    assert result.feasible
    assert result.instance.vehicles == 2
    assert result.verdict.vehicles == 1


def test_cost_v_counts_each_vehicle():
    """With the objective cost-v the fewest vehicles are used where they are dear."""
    instance = generate.uniform(20, 1, seed=3)[0].with_vehicles(7)
    result = ff.solve(instance, 0.05, objective="cost-v", vehicle_cost=35)
    assert result.plan.vehicles == instance.minimum_vehicles
    assert result.cost == pytest.approx(result.length + 35 * result.plan.vehicles)


def test_a_given_start_is_used(square):
    """Without a search the start comes back as it was."""
    start = ff.Plan([[1, 3], [2, 4]])
    assert ff.solve(square, 0.05, start=start, search="none").plan == start


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": 0}, "time limit is 0 s"),
        ({"time_limit": math.inf}, "time limit is inf s"),
        ({"objective": "speed"}, "unknown objective 'speed'"),
        ({"search": "magic"}, "unknown search 'magic'"),
        ({"vehicle_cost": -1}, "vehicle cost is -1"),
        ({"start": ff.Plan([[1, 2, 3, 4]])}, "tour 1 carries 4 of 2"),
    ],
)
def test_bad_arguments_are_named(square, arguments, message):
    """Each wrong argument gets a line that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        ff.solve(square, **arguments)


def test_an_unknown_search_is_refused_whatever_the_fleet(square):
    """A search that does not exist is named before the fleet is judged."""
    with pytest.raises(ff.InputError, match=r"unknown search 'magic'.* and none"):
        ff.solve(square.with_vehicles(1), search="magic")
