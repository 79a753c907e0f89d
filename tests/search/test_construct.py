"""Plans to start a search from."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import assess_fleet
from fixedfleet.planning import plan_by_network
from fixedfleet.search.construct import make_start, savings, sweep


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_start_keeps_to_fleet_and_capacity(seed, n, vehicles, symmetric):
    """Whatever the instance, the only fault a start may have is who is left out."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(n + 1, 2))
    matrix = None if symmetric else rng.uniform(1, 9, size=(n + 1, n + 1))
    instance = ff.Instance(
        depot=points[0],
        customers=points[1:],
        demands=rng.integers(0, 9, size=n),
        capacity=8,
        vehicles=vehicles,
        matrix=matrix,
    )
    for plan in (savings(instance), sweep(instance)):
        assert all(fault.endswith("missing") for fault in plan.check(instance))


def test_savings_are_much_shorter_than_a_packing():
    """On uniform instances the savings plan is less than 0.7 of a packing's length."""
    for instance in generate.uniform(50, 5, seed=11):
        wide = instance.with_vehicles(20)
        plan = savings(wide)
        assert plan.check(wide) == []
        assert plan.length(wide) < 0.7 * assess_fleet(wide).packing.length(wide)


def test_savings_join_neighbours(square):
    """The square's four corners become two tours of neighbours, the optimum."""
    plan = savings(square)
    assert plan.length(square) == pytest.approx(4 + 4 * np.sqrt(2))


def test_savings_turn_tours_round_only_if_streets_have_no_direction():
    """Tours are reversed to be joined, but not if the way back has another length."""
    both = ff.Instance(
        depot=(0, 0),
        customers=[[10, 0], [10, 1], [10, 2], [10, 3]],
        demands=[1] * 4,
        capacity=4,
        vehicles=1,
    )
    assert savings(both).tours in (((1, 2, 3, 4),), ((4, 3, 2, 1),))
    up, down = both.distances.copy(), both.distances * 1.5
    matrix = np.where(np.arange(5)[:, None] < np.arange(5), up, down)
    one_way = ff.Instance(demands=[1] * 4, capacity=4, vehicles=1, matrix=matrix)
    assert savings(one_way).tours == ((1, 2, 3, 4),)


def test_savings_leave_out_a_customer_that_no_vehicle_can_carry():
    """A customer with too large a demand has no tour; the others are served."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 0], [2, 0], [3, 0]],
        demands=[2, 9, 2],
        capacity=4,
        vehicles=2,
    )
    assert savings(instance).unserved(instance) == [2]


def test_the_sweep_goes_round_the_depot():
    """Eight customers on a circle are swept in order, four to a vehicle."""
    angles = np.arange(8) * np.pi / 4 + 0.1
    instance = ff.Instance(
        depot=(0, 0),
        customers=np.stack((np.cos(angles), np.sin(angles)), axis=1),
        demands=[1] * 8,
        capacity=4,
        vehicles=2,
    )
    plan = sweep(instance)
    assert plan.check(instance) == []
    assert all((b - a) % 8 == 1 for tour in plan for a, b in pairwise(tour))


def test_the_sweep_needs_coordinates():
    """A matrix has no angles."""
    instance = ff.Instance(demands=[1], capacity=1, vehicles=1, matrix=[[0, 1], [1, 0]])
    with pytest.raises(ff.InputError, match="needs coordinates"):
        sweep(instance)


# ------------------------------------------------------------------ starts by name


@pytest.mark.parametrize("name", ["packing", "savings", "sweep", "network"])
def test_every_start_is_a_plan_within_the_fleet(name):
    """Each start serves every customer, on a tight fleet, too."""
    for instance in generate.uniform(20, 4, seed=31):
        tight = instance.with_vehicles(instance.minimum_vehicles)
        packing = assess_fleet(tight).packing
        start = make_start(name, tight, packing)
        assert start.check(tight) == []


@pytest.mark.parametrize("name", ["savings", "sweep", "network"])
def test_a_start_with_thought_is_shorter_than_a_packing(name):
    """Savings, sweep and the network give much shorter plans than a packing."""
    instance = generate.uniform(50, 1, seed=5)[0]
    packing = assess_fleet(instance).packing
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
    plan = plan_by_network(ff.InstanceBatch.of([instance])).plans[0]
    assert all(fault.endswith("missing") for fault in plan.check(instance))


def test_a_matrix_has_no_network_start():
    """Without coordinates the network has nothing to look at."""
    instance = ff.Instance(demands=[1], capacity=1, vehicles=1, matrix=[[0, 1], [1, 0]])
    with pytest.raises(ff.InputError, match="needs coordinates"):
        make_start("network", instance, None)


def test_an_unknown_start_is_named(square):
    """A misspelt start is an error that lists the choices."""
    with pytest.raises(
        ff.InputError, match="unknown start 'packs': choose from packing"
    ):
        ff.solve(square, start="packs")
