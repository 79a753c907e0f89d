"""Tests of the starts by name."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import pack
from fixedfleet.model import nearest_model
from fixedfleet.planning import predicted_plan
from fixedfleet.starts import make_start


@pytest.mark.parametrize("name", ["auto", "packing", "savings", "sweep", "network"])
def test_every_start_is_a_plan_within_the_fleet(name):
    """On a tight fleet too, each start serves everybody."""
    for instance in generate.uniform(20, 4, seed=31):
        tight = instance.with_vehicles(instance.minimum_vehicles)
        packing = pack(tight)
        start = make_start(name, tight, packing)
        assert start.check(tight) == []


@pytest.mark.parametrize("name", ["savings", "sweep", "network"])
def test_a_start_with_thought_is_shorter_than_a_packing(name):
    """Savings, sweep and the network give much shorter plans than a packing."""
    instance = generate.uniform(50, 1, seed=5)[0]
    packing = pack(instance)
    start = make_start(name, instance, packing)
    assert start.length(instance) < 0.75 * packing.length(instance)


def test_solve_takes_a_start_by_name_and_says_what_it_cost(square):
    """A named start is a stage of its own."""
    result = ff.solve(square, 0.5, start="network")
    assert result.feasible
    assert [stage.name for stage in result.stages] == ["fleet", "network", "auto"]
    assert result.stages[1].cost >= result.cost


def test_the_network_plans_what_it_was_not_trained_for():
    """Latitudes, decimals and another fleet still give a plan within fleet."""
    instance = ff.Instance(
        depot=(51.4, 12.3),
        customers=[[51.3 + 0.01 * k, 12.35 + 0.013 * (k % 5)] for k in range(12)],
        demands=[0.5 + 0.1 * k for k in range(12)],
        capacity=5.5,
        vehicles=4,
        metric="great_circle",
    )
    plan = predicted_plan(instance)
    assert all(fault.endswith("missing") for fault in plan.check(instance))


def test_the_nearest_network_is_taken():
    """A network trained for a similar number of customers is chosen."""
    assert [nearest_model(n) for n in (5, 30, 40, 90, 1000)] == [
        "vrp20",
        "vrp20",
        "vrp50",
        "vrp100",
        "vrp100",
    ]


def test_a_matrix_has_no_network_start():
    """Without coordinates the network has nothing to look at."""
    instance = ff.Instance(demands=[1], capacity=1, vehicles=1, matrix=[[0, 1], [1, 0]])
    with pytest.raises(ff.InputError, match="needs coordinates"):
        make_start("network", instance, None)


def test_an_unknown_start_is_named(square):
    """A misspelt start is an error that lists the choices."""
    with pytest.raises(ff.InputError, match="unknown start 'packs': choose from auto"):
        ff.solve(square, start="packs")
