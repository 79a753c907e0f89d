"""Tests of Plan and PlanBatch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff


def test_length_loads_and_vehicles_of_a_known_plan(square):
    """Two tours of two neighbours are 2 · (2 + 2√2) long and fill both vehicles."""
    plan = ff.Plan([[1, 2], [3, 4]])
    assert plan.length(square) == pytest.approx(4 + 4 * np.sqrt(2))
    assert plan.tour_lengths(square) == pytest.approx([2 + 2 * np.sqrt(2)] * 2)
    assert plan.loads(square) == [2, 2]
    assert plan.vehicles == 2
    assert plan.cost_v(square, 10) == pytest.approx(24 + 4 * np.sqrt(2))
    assert plan.check(square) == []


def test_a_vehicle_that_stays_home_is_not_used(square):
    """Empty tours are dropped and cost nothing."""
    assert ff.Plan([[1, 2], [], [3, 4]]) == ff.Plan([[1, 2], [3, 4]])
    assert ff.Plan([]).length(square) == 0.0


def test_every_fault_is_named():
    """The check lists all that is wrong, in a dispatcher's words."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=np.zeros((17, 2)),
        demands=[5] * 16 + [20],
        capacity=40,
        vehicles=2,
    )
    plan = ff.Plan([[1, 2, 3], [4, 17, 17, 6], list(range(7, 17)), [18]])
    assert plan.check(instance) == [
        "customer 17 served twice",
        "customer 18 does not exist: there are 17",
        "customer 5 missing",
        "4 tours for 2 vehicles",
    ]
    assert "tour 3 carries 50 of 40" in ff.Plan(plan.tours[:3]).check(instance)


def test_the_direction_of_an_asymmetric_tour_matters():
    """If distances differ by direction, a reversed tour has another length."""
    matrix = [[0, 1, 9], [9, 0, 1], [1, 9, 0]]
    instance = ff.Instance(demands=[1, 1], capacity=2, vehicles=1, matrix=matrix)
    assert ff.Plan([[1, 2]]).length(instance) == 3
    assert ff.Plan([[2, 1]]).length(instance) == 27


@pytest.mark.parametrize("customer", [0, -1, 1.5, True, "x", None, np.nan, np.inf])
def test_a_tour_holds_customers_only(customer):
    """The depot, negative numbers and fractions are refused as customers."""
    with pytest.raises(ff.InputError, match="not a customer's number"):
        ff.Plan([[customer]])


def test_a_plan_for_another_instance_has_no_length(square):
    """Length and loads name a customer of the plan that does not exist."""
    for measure in (ff.Plan.length, ff.Plan.tour_lengths, ff.Plan.loads):
        with pytest.raises(ff.InputError, match="customer 9, but the instance has 4 "):
            measure(ff.Plan([[1, 9]]), square)


@given(st.lists(st.permutations([1, 2, 3]), max_size=3))
def test_routes_go_round_trip(tours):
    """A plan written as a row of routes reads back as it was."""
    plan = ff.Plan(tours)
    assert ff.Plan.from_routes(plan.to_routes(16)) == plan


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_batch_agrees_with_its_plans(seed, n, vehicles):
    """Lengths, loads, vehicles and feasibility of a batch are those of each plan."""
    rng = np.random.default_rng(seed)
    size = 8
    batch = ff.InstanceBatch(
        depots=rng.uniform(size=(size, 2)),
        customers=rng.uniform(size=(size, n, 2)),
        demands=rng.integers(0, 5, size=(size, n)),
        capacity=rng.integers(4, 20, size=size),
        vehicles=vehicles,
    )
    routes = rng.integers(0, n + 1, size=(size, n + 3))
    for row in routes[: size // 2]:  # half of them serve everybody once
        row[:] = 0
        places = np.sort(rng.choice(n + 3, size=n, replace=False))
        row[places] = 1 + rng.permutation(n)
    plans = ff.PlanBatch(routes)
    assert len(plans) == size
    lengths, costs, loads = (
        plans.lengths(batch),
        plans.costs_v(batch, 3),
        plans.loads(batch),
    )
    vehicles, feasible = plans.vehicles(), plans.feasible(batch)
    for row, (plan, instance) in enumerate(zip(plans, batch, strict=True)):
        assert lengths[row] == pytest.approx(plan.length(instance))
        assert costs[row] == pytest.approx(plan.cost_v(instance, 3))
        assert vehicles[row] == plan.vehicles
        assert loads[row].tolist() == plan.loads(instance) + [0] * (
            loads.shape[1] - len(plan)
        )
        assert feasible[row] == plan.is_feasible(instance)


def test_a_batch_with_a_customer_too_many_is_infeasible_not_a_crash():
    """A route that names a customer beyond N makes that plan infeasible."""
    batch = ff.InstanceBatch(
        depots=np.zeros((2, 2)),
        customers=np.zeros((2, 2, 2)),
        demands=np.ones((2, 2)),
        capacity=2,
        vehicles=1,
    )
    plans = ff.PlanBatch([[1, 3], [2, 1]])
    assert plans.feasible(batch).tolist() == [False, True]
    with pytest.raises(ff.InputError, match="routes\\[0\\]"):
        plans.lengths(batch)
    with pytest.raises(ff.InputError, match="1 plans for 2 instances"):
        ff.PlanBatch([[1, 2]]).lengths(batch)


def test_a_batch_of_any_instances_is_measured_as_they_are():
    """A mixed batch gives the lengths, loads and feasibility of each instance."""
    matrix = np.array([[0, 3, 4, 1], [9, 0, 5, 1], [4, 5, 0, 1], [1, 1, 1, 0]])
    near = {"depot": (0, 0), "customers": [[3, 4.5], [6, 8]], "demands": [1, 2]}
    instances = [
        ff.Instance(**near, capacity=3, vehicles=1),
        ff.Instance(**near, capacity=3, vehicles=1, rounding="round"),
        ff.Instance(**near, capacity=3, vehicles=1, metric="great_circle"),
        ff.Instance(matrix=matrix, demands=[0.1, 0.2, 0.3], capacity=0.3, vehicles=2),
    ]
    batch = ff.InstanceBatch.of(instances)
    for tours in ([[1, 2], [3]], [[2, 1]], [[1], [2]], [[1, 2, 3]]):
        plan = ff.Plan(tours)
        plans = ff.PlanBatch.from_plans([plan] * 4)
        feasible = [plan.is_feasible(instance) for instance in instances]
        assert plans.feasible(batch).tolist() == feasible
        assert plans.loads(batch[3:][[0] * 4])[0].tolist() == plan.load_units(
            instances[3]
        )
        if plan.is_feasible(instances[0]):
            lengths = [plan.length(instance) for instance in instances]
            assert plans.lengths(batch) == pytest.approx(lengths)
        if any(3 in tour for tour in tours):
            with pytest.raises(ff.InputError, match="names a customer above"):
                plans.lengths(batch)


def test_plans_come_from_the_vehicle_of_each_customer():
    """A customer without a vehicle is left out."""
    vehicles = np.array([[1, 0, 1, 2], [2, 2, 2, 2]])
    plans = [ff.Plan([[2], [1, 3]]), ff.Plan([])]
    assert list(ff.PlanBatch.from_vehicles(vehicles, fleet=2)) == plans


def test_parts_of_a_batch_are_put_together():
    """Plans are stacked, taken by rows, and put back at rows or by a mask."""
    plans = [ff.Plan([[1], [2]]), ff.Plan([[2, 1]]), ff.Plan([[3, 2, 1, 4]])]
    batch = ff.PlanBatch.from_plans(plans)
    assert list(batch) == plans
    assert list(batch[1:]) == plans[1:]
    assert list(batch[np.array([2, 0])]) == [plans[2], plans[0]]
    parts = [(np.array([2, 0]), batch[:2].routes), (1, batch[1:2].routes)]
    assert list(ff.PlanBatch.gather(4, parts)) == [
        *(plans[1], plans[1], plans[0]),
        ff.Plan([]),
    ]
    empty = ff.PlanBatch.from_plans([ff.Plan([])] * 3)
    assert list(empty.replace([1], batch[2:])) == [ff.Plan([]), plans[2], ff.Plan([])]
    mask = np.array([False, True, False])
    assert list(batch.replace(mask, empty[mask])) == [plans[0], ff.Plan([]), plans[2]]


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        ([1, 2], "routes must be"),
        ([[0.5]], "routes must be"),
        ([[-1]], "negative"),
        ([[1, 2], [3]], "rows of different lengths"),
    ],
)
def test_bad_routes_are_refused(routes, message):
    """Routes are a table of whole numbers, none negative."""
    with pytest.raises(ff.InputError, match=message):
        ff.PlanBatch(routes)


def test_batches_of_plans_are_put_together_in_order():
    """Plans of different lengths become one batch."""
    plans = [ff.Plan([[1]]), ff.Plan([[2, 3], [1]]), ff.Plan([])]
    parts = [ff.PlanBatch.from_plans(plans[:1]), ff.PlanBatch.from_plans(plans[1:])]
    assert list(ff.PlanBatch.concatenate(parts)) == plans
    assert len(ff.PlanBatch.concatenate([])) == 0
