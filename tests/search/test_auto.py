"""The default search."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import SearchTask, auto, improve
from fixedfleet.search.auto import split_time


@pytest.mark.parametrize(
    ("n", "seconds"), [(5, 0.001), (20, 0.0015), (100, 0.005), (50, 0.05), (150, 0.3)]
)
def test_each_recipe_gives_a_feasible_plan(n, seconds):
    """Ruin and recreate, the genetic search and both in turn keep within the fleet."""
    instance = generate.uchoa(n, seed=n)
    start = assess_fleet(instance).packing
    found = improve(instance, start, time_limit=seconds)
    assert found.plan.check(instance) == []
    assert found.cost <= start.length(instance)
    assert found.cost == pytest.approx(found.plan.length(instance))


def test_recipes_change_with_size_and_time():
    """A short search ruins, a longer one breeds, one of many customers does both."""
    assert split_time(100, 0.005)[0] == 1.0
    assert 0 < split_time(100, 0.1)[0] < split_time(100, 0.1, 0.99)[0]
    assert split_time(100, 100.0, 0.99)[0] < 0.01
    assert 0 < split_time(200, 10.0)[0] < 1
    populations = [split_time(100, seconds)[1] for seconds in (0.03, 0.1, 0.3, 1.0)]
    assert populations == sorted(populations)


def test_a_genetic_search_that_finds_nothing_is_not_the_end(monkeypatch):
    """Where no plan within the fleet is bred, the one ruined and recreated is left."""

    bred = []

    def nothing(task, parameters):
        bred.append(task.initial_plan)
        yield from ()

    monkeypatch.setattr("fixedfleet.search.auto.genetic_search", nothing)
    monkeypatch.setattr("fixedfleet.search.auto._MOMENT_SECONDS", 0.05)
    instance = generate.uchoa(100, seed=1)
    packing = assess_fleet(instance).packing
    found = improve(instance, packing, time_limit=2, stop=lambda: len(bred) > 0)
    assert found.plan.check(instance) == []
    assert [found.plan] == bred
    assert found.cost < 0.8 * packing.length(instance)


@pytest.mark.parametrize("far", [1e300, 1e-40])
def test_sizes_that_ruin_and_recreate_cannot_reckon_with(far):
    """Where distances are beyond 32 bits the genetic search does all of it."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(far, 0), (-far, 0), (0, far)],
        demands=[1, 2, 3],
        capacity=4,
        vehicles=2,
    )
    found = improve(instance, assess_fleet(instance).packing, time_limit=0.05)
    assert found.plan.check(instance) == []


def test_a_dear_vehicle_is_saved():
    """Where a vehicle costs more than it can save, the fewest vehicles are used."""
    instance = generate.uniform(20, 30, seed=8)[5].with_vehicles(8)
    fewest = assess_fleet(instance.with_vehicles(instance.minimum_vehicles)).packing
    found = improve(
        instance,
        assess_fleet(instance).packing,
        time_limit=0.05,
        vehicle_cost=35.0,
        fewest=fewest,
    )
    assert found.plan.vehicles == fewest.vehicles
    assert found.cost == pytest.approx(found.plan.cost_v(instance, 35.0))


@pytest.mark.parametrize(
    ("cost", "vehicles", "total"),
    [(3, 3, 70.15), (15, 3, 106.15), (25, 2, 130.1), (100, 2, 280.1)],
)
def test_a_vehicle_that_pays_is_taken(cost, vehicles, total):
    """A third vehicle is used if it costs less than the 19 that it saves."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(10, 0), (10, 1), (-10, 0), (-10, 1)],
        demands=[60, 60, 40, 40],
        capacity=100,
        vehicles=3,
    )
    found = improve(
        instance,
        assess_fleet(instance).packing,
        time_limit=0.1,
        vehicle_cost=cost,
        fewest=assess_fleet(instance.with_vehicles(2)).packing,
    )
    assert found.plan.vehicles == vehicles
    assert found.cost == pytest.approx(total, abs=0.01)


@pytest.mark.parametrize("n", [20, 150])
def test_a_good_start_with_a_vehicle_too_many_is_no_hindrance(n):
    """A start that is cheaper than the packing of the fewest vehicles may be given."""
    instance = generate.uchoa(n, seed=2, route_size=8)
    wide = instance.with_vehicles(instance.vehicles + 2)
    good = improve(wide, assess_fleet(wide).packing, time_limit=0.1).plan
    fewest = assess_fleet(instance).packing
    cost = 0.06 * good.length(wide)
    assert good.cost_v(wide, cost) < fewest.cost_v(wide, cost)
    found = improve(wide, good, time_limit=0.1, vehicle_cost=cost, fewest=fewest)
    assert found.plan.check(wide) == []
    assert found.cost <= good.cost_v(wide, cost)


def test_a_cheap_vehicle_is_weighed():
    """A small vehicle cost counts in the cost, and the plan stays feasible."""
    instance = generate.uniform(20, 1, seed=8)[0]
    found = improve(
        instance,
        assess_fleet(instance).packing,
        time_limit=0.05,
        vehicle_cost=0.01,
        fewest=assess_fleet(instance).packing,
    )
    assert found.plan.check(instance) == []
    assert found.cost == pytest.approx(found.plan.cost_v(instance, 0.01))


def test_improvements_are_told_with_their_plans(square):
    """Reported costs fall, and each is the cost of the plan reported with it."""
    seen = []
    improve(
        square,
        ff.Plan([[1, 3], [2, 4]]),
        time_limit=0.03,
        on_improvement=lambda seconds, cost, plan: seen.append((cost, plan)),
    )
    costs = [cost for cost, _ in seen]
    assert costs == sorted(costs, reverse=True)
    assert all(cost == plan.length(square) for cost, plan in seen)


def test_a_search_that_is_told_to_stop_returns_its_start(square):
    """Stopped before it began, the search gives the start back."""
    start = ff.Plan([[1, 3], [2, 4]])
    found = improve(square, start, time_limit=5.0, stop=lambda: True)
    assert found.plan == start


@pytest.mark.parametrize(
    ("customers", "expected"), [(150, [0.15, 3.0, 30.0]), (100, [0.1, 0.002])]
)
def test_there_is_a_good_plan_early(monkeypatch, customers, expected):
    """Brief annealings come first, because the user may stop at any time."""
    instance = generate.uniform(customers, 1, seed=5, capacity=50, vehicles=18)[0]
    packing = assess_fleet(instance).packing
    lengths = []

    def anneal(task, **_):
        assert task.initial_plan == packing
        lengths.append(round(task.deadline.seconds, 3))
        return iter(())

    monkeypatch.setattr(auto, "_ruin", anneal)
    monkeypatch.setattr(auto, "genetic_search", lambda *_, **__: iter(()))
    deadline = Deadline(60.0, clock=lambda: 0.0)
    list(auto._ruin_and_breed(SearchTask(instance, packing, deadline)))
    assert lengths == expected
