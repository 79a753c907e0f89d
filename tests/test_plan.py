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
            with pytest.raises(ff.InputError, match="serves customer"):
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


@pytest.mark.parametrize("scale", [1.0, 1e-250, 1e250])
def test_lengths_of_a_batch_neither_overflow_nor_vanish(scale):
    """Tiny and huge coordinates have the lengths of the unit square, scaled."""
    batch = ff.InstanceBatch(
        depots=[(0, 0)],
        customers=[[(3 * scale, 4 * scale), (3 * scale, 0)]],
        demands=[[1, 1]],
        capacity=[2],
        vehicles=[1],
    )
    lengths = ff.PlanBatch([[1, 2, 0]]).lengths(batch)
    assert lengths == pytest.approx([12 * scale], rel=1e-12)


# -------------------------------------------------------------- vehicle types and times


def line(**changes):
    """Three customers at 1, 2 and 3 on a line, a small van and two large ones."""
    return ff.Instance(
        **{
            "depot": (0, 0),
            "customers": [(1, 0), (2, 0), (3, 0)],
            "demands": [2, 2, 2],
            "vehicle_types": [
                ff.VehicleType(name="small", capacity=2, cost_per_distance=3),
                ff.VehicleType(name="large", count=2, capacity=4, fixed_cost=10),
            ],
        }
        | changes
    )


def test_a_tour_has_its_vehicle_type_and_costs_what_this_type_costs():
    """Fixed costs and costs per distance are those of the vehicle of each tour."""
    plan = ff.Plan([[1], [2, 3]], [0, 1])
    assert [one.name for one in plan.types(line())] == ["small", "large"]
    assert plan.length(line()) == 8
    assert plan.cost(line()) == 3 * 2 + 10 + 6
    assert plan.cost_v(line(), 100) == 222
    assert plan.check(line()) == []


def test_without_types_the_tours_have_the_vehicles_in_the_order_of_the_fleet():
    """The first tour has the first vehicle, and so on; the excess has the last type."""
    plan = ff.Plan([[1], [2], [3]])
    assert plan.type_indices(line()) == (0, 1, 1)
    assert ff.Plan([[1], [2], [3], [4]]).type_indices(line()) == (0, 1, 1, 1)
    assert plan.check(line()) == []


def test_loads_and_numbers_are_judged_by_vehicle_type():
    """A tour may be too heavy for its vehicle, and a type may be used too often."""
    assert ff.Plan([[1, 2], [3]], [0, 1]).check(line()) == ["tour 1 carries 4 of 2"]
    assert ff.Plan([[1], [2], [3]], [0, 0, 1]).check(line()) == [
        "2 tours for 1 vehicles of type 'small'"
    ]
    assert ff.Plan([[1]], [2]).check(line(), partial=True) == [
        "vehicle type 2 does not exist"
    ]


def test_vehicle_types_stay_with_their_tours():
    """Dropping empty tours and renumbering customers keep the types."""
    plan = ff.Plan([[], [1], [2]], [0, 1, 0])
    assert plan.vehicle_types == (1, 0)
    assert plan.renumbered([5, 7]) == ff.Plan([[5], [7]], [1, 0])
    assert plan.renumbered([5, 7]).numbered_in([5, 7]) == plan


@pytest.mark.parametrize("types", [[0], [0, -1], [0, True], [0, 0.5], [0, "small"]])
def test_wrong_vehicle_types_of_a_plan_are_refused(types):
    """Each tour has one index from 0."""
    with pytest.raises(ff.InputError, match="vehicle type"):
        ff.Plan([[1], [2]], types)


def test_a_batch_of_plans_has_no_vehicle_types():
    """They would be lost in silence."""
    with pytest.raises(ff.InputError, match="no vehicle types"):
        ff.PlanBatch.from_plans([ff.Plan([[1]], [0])])


def timed(**changes):
    """The three customers at a speed of 1, with windows, 5 of service and a shift."""
    shift = ff.VehicleType(name="van", count=2, capacity=6, shift=(100, 130))
    return line(
        **{
            "vehicle_types": [shift],
            "speed": 1,
            "service_times": [5, 5, 5],
            "windows": [(110, 111), None, (0, 125)],
        }
        | changes
    )


def test_a_timetable_has_every_arrival_wait_and_return():
    """A vehicle leaves as late as it can without being back later."""
    (times,) = ff.Plan([[2, 1, 3]]).timetable(timed())
    assert times.departure == 102  # 2 later, so that nobody waits for customer 1
    assert [stop.arrival for stop in times.stops] == [104, 110, 117]
    assert [stop.begin for stop in times.stops] == [104, 110, 117]
    assert [stop.departure for stop in times.stops] == [109, 115, 122]
    assert (times.end, times.duration, times.waiting) == (125, 23, 0)
    assert not times.is_late


def test_a_vehicle_that_would_be_late_elsewhere_still_waits():
    """It leaves later only as far as the windows before the wait allow."""
    early = timed(windows=[(110, 111), (0, 103), None])
    (times,) = ff.Plan([[2, 1, 3]]).timetable(early)
    assert times.departure == 101
    assert [stop.waiting for stop in times.stops] == [0, 1, 0]
    assert times.waiting == 1


def test_late_arrivals_and_returns_are_faults():
    """The check names the stop, the time and the end of the window or shift."""
    assert ff.Plan([[2, 1, 3]]).check(timed()) == []
    assert ff.Plan([[3, 2, 1]]).check(timed()) == [
        "tour 1 reaches customer 1 at 115, after 111"
    ]
    short = ff.VehicleType(capacity=6, count=2, shift=(100, 124))
    assert ff.Plan([[2, 1, 3]]).check(
        timed(vehicle_types=[short], time_unit="min")
    ) == ["tour 1 is back at 02:05, after the end of the shift at 02:04"]


def test_rounding_errors_make_nobody_late():
    """Ten legs of 0.1 end within a shift of 1."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(0.1 * i, 0) for i in (1, 2, 3, 4, 5)],
        demands=[1] * 5,
        vehicle_types=[ff.VehicleType(capacity=5, shift=(0, 1))],
        speed=1,
    )
    assert ff.Plan([[1, 2, 3, 4, 5]]).check(instance) == []


def test_without_travel_times_there_is_no_timetable(square):
    """The error says what is missing."""
    with pytest.raises(ff.InputError, match="travel times are not known"):
        ff.Plan([[1, 2]]).timetable(square)


def test_one_unserved_customer_of_a_higher_priority_outweighs_all_lower_ones():
    """Without priorities, the number of unserved customers counts."""
    assert ff.Plan([[1]]).unserved_weight(line()) == 2
    first = line(priorities=[5, 1, 1])
    assert ff.Plan([[1, 2, 3]]).unserved_weight(first) == 0
    assert ff.Plan([[2, 3]]).unserved_weight(first) > ff.Plan([[1]]).unserved_weight(
        first
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_the_check_agrees_with_the_oracle_on_random_days(seed):
    """The cheapest plan of all is feasible, and no random plan is cheaper."""
    from tests.oracle import optimal_day

    rng = np.random.default_rng(seed)
    types = [
        ff.VehicleType(
            count=int(rng.integers(1, 3)),
            capacity=int(rng.integers(4, 12)),
            fixed_cost=float(rng.integers(0, 20)),
            cost_per_distance=float(rng.integers(1, 4)),
            shift=(0, float(rng.integers(20, 60))) if rng.random() < 0.5 else None,
        )
        for _ in range(2)
    ]
    opens = rng.integers(0, 30, 4)
    instance = ff.Instance(
        depot=(5, 5),
        customers=rng.integers(0, 10, (4, 2)),
        demands=rng.integers(1, 5, 4),
        vehicle_types=types,
        speed=1,
        service_times=rng.integers(0, 4, 4),
        windows=np.stack([opens, opens + rng.integers(0, 30, 4)], axis=1),
    )
    best = optimal_day(instance)
    if best is not None:
        assert best.check(instance) == []
    order, cut = rng.permutation(4) + 1, int(rng.integers(0, 5))
    plan = ff.Plan([order[:cut], order[cut:]], rng.integers(0, 2, 2))
    if not plan.check(instance):
        assert best is not None
        assert best.cost(instance) <= plan.cost(instance) + 1e-9


def test_a_plan_cannot_be_changed():
    """A plan that was checked stays as it was, and can be a key."""
    plan = ff.Plan([[1, 2]])
    with pytest.raises(AttributeError):
        plan.tours = ()
    assert {plan: 1}[ff.Plan([[1, 2]])] == 1
