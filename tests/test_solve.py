"""Tests of the pipeline."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace

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
    assert result.stages[1].gain == result.stages[0].cost - result.cost
    assert result.partial is None
    assert result.unserved == []
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


@pytest.mark.parametrize("search", ["auto", "hgs", "none"])
def test_too_small_a_fleet_serves_as_many_as_it_can(square, search):
    """Proven impossible: one vehicle still serves two neighbours and names the rest."""
    result = ff.solve(square.with_vehicles(1), 0.05, search=search)
    assert result.partial.vehicles == 1
    assert len(result.unserved) == 2
    assert [stage.name for stage in result.stages] == ["fleet", "partial"]
    assert f"2 of 4 customers, {result.unserved[0]}, " in str(result)
    if search != "none":
        assert result.partial.length(square) == pytest.approx(2 + 2 * math.sqrt(2))


def test_the_guarantee_plans_for_the_smallest_fleet(square):
    """Asked to guarantee a plan, solve takes the smallest fleet that suffices."""
    result = ff.solve(square.with_vehicles(1), 0.05, guarantee=True)
    assert result.feasible
    assert result.instance.vehicles == 2
    assert result.verdict.vehicles == 1
    assert result.partial.vehicles == 1
    assert len(result.unserved) == 2
    assert [stage.name for stage in result.stages] == ["fleet", "partial", "auto"]
    assert result.stages[2].gain == result.stages[0].cost - result.cost


# No bound tells whether four vehicles of 24 carry these; no packing into four exists.
HARD = [7, 6, 10, 11, 5, 7, 7, 5, 6, 10, 11, 10]


@pytest.fixture
def undecided(make_instance, monkeypatch):
    """An instance whose fleet of four is neither proven too small nor sufficient."""
    module = importlib.import_module("fixedfleet.solve")
    real = module.assess_fleet
    hasty = lambda instance, **_limits: real(instance, time_limit=0)  # noqa: E731
    monkeypatch.setattr(module, "assess_fleet", hasty)
    return make_instance(n=12, vehicles=4, capacity=24, demands=HARD)


@pytest.mark.parametrize("search", ["auto", "ruin_recreate", "none"])
def test_an_undecided_fleet_leaves_out_as_few_as_can_be(undecided, search):
    """Where no plan was found, all but one customer are served."""
    result = ff.solve(undecided, 0.1, search=search)
    assert result.verdict.status == "undecided"
    assert result.plan is None
    assert len(result.unserved) == 1
    assert all("missing" in fault for fault in result.partial.check(undecided))


def test_the_guarantee_holds_for_an_undecided_fleet(undecided):
    """Where no plan was found, the guarantee still gives one, for a larger fleet."""
    result = ff.solve(undecided, 0.1, guarantee=True)
    assert result.feasible
    assert result.instance.vehicles == 5
    assert len(result.unserved) == 1
    cost = ff.solve(undecided, 0.1, objective="cost-v", vehicle_cost=100)
    assert cost.plan is None


def test_a_customer_that_no_vehicle_carries(square):
    """No fleet suffices, and the others are served all the same."""
    result = ff.solve(replace(square, demands=[1, 3, 1, 1]), 0.05, guarantee=True)
    assert result.plan is None
    assert result.verdict.upper_bound is None
    assert result.unserved == [2]


def test_stop_ends_a_search_for_a_partial_plan(square):
    """Stopped at once, it returns the packing of as many customers as possible."""
    result = ff.solve(square.with_vehicles(1), 60, stop=lambda: True)
    assert len(result.unserved) == 2


def test_display_prints_rows_and_the_result(square, capsys):
    """Rows of time, cost and vehicles, then the summary; nothing unless asked for."""
    ff.solve(square, 0.05)
    assert capsys.readouterr().out == ""
    seen = []
    result = ff.solve(
        square,
        0.05,
        display=True,
        on_improvement=lambda seconds, cost, plan: seen.append(cost),
    )
    lines = capsys.readouterr().out.splitlines()
    (head,) = (k for k, line in enumerate(lines) if "best cost" in line)
    assert lines[head].split() == ["seconds", "best", "cost", "vehicles"]
    assert any(line.split()[1:] == ["9.6568542", "2"] for line in lines[head:])
    assert "\n".join(lines).endswith(str(result))
    assert seen[-1] == result.cost


def test_cost_v_counts_each_vehicle():
    """With the objective cost-v, the fewest vehicles are used if they are expensive."""
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
        ({"time_limit": 0}, "time limit is 0, not a number above 0"),
        ({"time_limit": math.inf}, "time limit is inf"),
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
    with pytest.raises(ff.InputError, match="unknown search 'magic': choose from"):
        ff.solve(square.with_vehicles(1), search="magic")
