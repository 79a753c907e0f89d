"""Plans for fleets that are too small."""

from __future__ import annotations

import importlib
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet, pack_quickly
from fixedfleet.solving.partial_plan import (
    load_for_partial_plan,
    partial_plan,
    serve_most,
    swap_unserved,
)


def only_missing(plan, instance):
    """Whether a plan's sole faults are customers that it leaves out."""
    return all(fault.endswith("missing") for fault in plan.check(instance))


def most_by_trying(instance):
    """The most customers that any choice of them packs into the fleet."""
    n = instance.num_customers
    for count in range(n, 0, -1):
        for some in combinations(range(1, n + 1), count):
            only = replace(
                instance,
                customers=instance.customers[np.array(some) - 1],
                demands=instance.demands[np.array(some) - 1],
            )
            verdict = assess_fleet(only)
            if verdict.packing is not None:
                return count
    return 0


@pytest.mark.parametrize("seed", range(5))
def test_as_many_as_can_be_are_served(make_instance, seed):
    """No choice of customers that the fleet carries is larger than the one taken."""
    rng = np.random.default_rng(seed)
    instance = make_instance(
        n=8, vehicles=2, capacity=10, seed=seed, demands=rng.integers(1, 9, size=8)
    )
    plan = serve_most(instance, Deadline())
    assert only_missing(plan, instance)
    assert 8 - len(plan.unserved(instance)) == most_by_trying(instance)


def test_a_customer_that_no_vehicle_carries_is_left_out(square):
    """Demands above the capacity are left out, whatever else fits."""
    instance = replace(square, demands=[1, 3, 1, 1])
    assert serve_most(instance, Deadline()).unserved(instance) == [2]
    hopeless = replace(square, demands=[3, 3, 3, 3])
    assert serve_most(hopeless, Deadline()).tours == ()
    assert partial_plan(hopeless, deadline=Deadline(0.01)).tours == ()


def test_the_search_leaves_out_no_more_and_is_shorter():
    """Searching shortens the tours and serves as many as the packing did."""
    instance = generate.uniform(50, 1, seed=4)[0]
    tight = instance.with_vehicles(instance.minimum_vehicles - 1)
    load_for_partial_plan(tight)
    packing, found = (
        serve_most(tight, Deadline()),
        partial_plan(tight, deadline=Deadline(1.0)),
    )
    assert only_missing(found, tight)
    assert len(found.unserved(tight)) == len(packing.unserved(tight))
    assert found.length(tight) < 0.7 * packing.length(tight)


def test_one_left_out_is_exchanged_for_a_farther_one(square):
    """Of equal demands the far customer is left out, not the near one."""
    far = replace(square, customers=[[1, 1], [1, -1], [-1, -1], [9, 9]], vehicles=1)
    plan = swap_unserved(far, ff.Plan([[1, 4]]), Deadline())
    assert plan.unserved(far) == [3, 4]
    assert swap_unserved(far, plan, Deadline()) == plan


def test_a_whole_plan_has_nobody_to_exchange(square):
    """A plan without unserved customers does not change."""
    plan = ff.Plan([[1, 3], [2, 4]])
    assert swap_unserved(square, plan, Deadline()) == plan


def test_one_way_distances_and_names_are_kept(square):
    """A matrix that differs by direction is searched among the customers served."""
    matrix = np.full((6, 6), 10.0)
    matrix[np.arange(6), (np.arange(6) + 1) % 6] = 1.0
    np.fill_diagonal(matrix, 0.0)
    instance = ff.Instance(
        matrix=matrix, demands=[1, 1, 1, 1, 9], capacity=4, vehicles=1, names="abcde"
    )
    found = partial_plan(instance, deadline=Deadline(0.05))
    assert found.tours == ((1, 2, 3, 4),)


def test_a_search_told_to_stop_keeps_the_packing():
    """Stopped before it began, the packing comes back."""
    instance = generate.uniform(20, 1, seed=4)[0].with_vehicles(2)
    found = partial_plan(instance, deadline=Deadline(5, stop=lambda: True))
    assert len(found.unserved(instance)) > 0
    packing = serve_most(instance, Deadline())
    assert partial_plan(instance, deadline=Deadline(), search=False) == packing


def test_the_packing_is_found_by_few_tries(make_instance, monkeypatch):
    """Of 400 demands just above half a vehicle, bisection tries a dozen counts."""
    module = importlib.import_module("fixedfleet.solving.partial_plan")
    asked = []

    def counting(instance, deadline):
        asked.append(instance.num_customers)
        return pack_quickly(instance, deadline)

    monkeypatch.setattr(module, "pack_quickly", counting)
    halves = [51 + k % 3 for k in range(400)]
    instance = make_instance(n=400, vehicles=100, capacity=100, demands=halves)
    plan = serve_most(instance, Deadline())
    assert plan.vehicles == 100
    assert len(plan.unserved(instance)) == 300
    assert len(asked) <= 10


def test_the_packing_ends_with_the_deadline(make_instance):
    """When the time is over, quick packings are not tried, and one each is served."""
    now = [0.0]

    def clock():
        now[0] += 0.01  # each look at the clock takes this long
        return now[0]

    instance = make_instance(n=60, vehicles=20, capacity=100, demands=[34, 35, 36] * 20)
    plan = serve_most(instance, Deadline(0.1, clock=clock))
    assert only_missing(plan, instance)
    assert plan.vehicles == 20
    assert now[0] < 1.0


def line(*places, demands, capacity, vehicles=1):
    """Customers on a line through the depot, which is at 0."""
    return ff.Instance(
        depot=(0, 0),
        customers=[[x, 0] for x in places],
        demands=demands,
        capacity=capacity,
        vehicles=vehicles,
    )


def test_an_exchange_needs_room_and_takes_the_shortest():
    """The unserved customer that fits and shortens a tour most replaces another."""
    far = line(9, 5, 1, 2, demands=[2, 1, 3, 2], capacity=3)
    # Customer 3 does not fit in place of customer 1, customer 4 does.
    assert swap_unserved(far, ff.Plan([[2, 1]]), Deadline()) == ff.Plan([[4, 2]])
    full = replace(far, demands=[2, 1, 4, 3])
    assert swap_unserved(full, ff.Plan([[2, 1]]), Deadline()) == ff.Plan([[2, 1]])
    alike = replace(far, customers=[[9, 0], [5, 0], [9, 0], [5, 0]], demands=[1] * 4)
    plan = ff.Plan([[2, 1]])
    assert swap_unserved(alike, plan, Deadline()) == ff.Plan([[4, 2]])


def test_a_newcomer_goes_where_it_adds_the_least():
    """It takes any place of the tour, not that of the customer it replaces."""
    instance = line(1, 2, 9, 3, demands=[1, 1, 1, 1], capacity=3)
    square_way = replace(instance, customers=[[1, 0], [1, 1], [-9, 9], [0, 1]])
    plan = swap_unserved(square_way, ff.Plan([[3, 1, 2]]), Deadline())
    assert plan == ff.Plan([[1, 2, 4]])


def test_exchanges_end_with_the_deadline():
    """When the time is over, the plan is returned as it is."""
    instance = line(9, 1, demands=[1, 1], capacity=1)
    plan = ff.Plan([[1]])
    assert swap_unserved(instance, plan, Deadline(0)) == plan
    assert swap_unserved(instance, plan, Deadline()) == ff.Plan([[2]])


def test_exchanges_end_in_the_middle_of_a_long_tour():
    """With thousands of customers in a tour, it would take minutes to its end."""
    asked = []

    def stop():
        asked.append(None)
        return len(asked) > 1

    far = line(9, 5, 1, 1, demands=[1] * 4, capacity=2)
    stopped = swap_unserved(far, ff.Plan([[1, 2]]), Deadline(stop=stop))
    assert 1 not in stopped.tours[0]
    assert 2 in stopped.tours[0]


def test_every_round_has_its_share_of_the_time(monkeypatch):
    """Four rounds, each with another seed, end after each quarter of the time."""
    module = importlib.import_module("fixedfleet.solving.partial_plan")
    now, rounds = [0.0], []

    def search(instance, plan, deadline, seed, vehicle_cost):
        rounds.append((now[0] + deadline.left(), seed, vehicle_cost))
        now[0] += deadline.left()
        return plan

    monkeypatch.setattr(module, "_search", search)
    instance = line(9, 1, demands=[1, 1], capacity=1)
    limit = Deadline(8.0, clock=lambda: now[0])
    partial_plan(instance, deadline=limit, seed=5, vehicle_cost=2.0)
    assert rounds == [(2.0, 5, 2.0), (4.0, 6, 2.0), (6.0, 7, 2.0), (8.0, 8, 2.0)]


@pytest.mark.parametrize(("vehicles", "loaded"), [(1, True), (2, False), (3, False)])
def test_the_search_is_loaded_if_the_fleet_may_be_too_small(
    monkeypatch, vehicles, loaded
):
    """If a quick packing fits the fleet, there will be no partial plan."""
    module = importlib.import_module("fixedfleet.solving.partial_plan")
    loads = []
    monkeypatch.setattr(module, "load_search", lambda *_: loads.append(1))
    instance = line(9, 1, demands=[1, 1], capacity=1, vehicles=vehicles)
    module.load_for_partial_plan(instance)
    assert bool(loads) == loaded
    known = len(loads)
    module.load_for_partial_plan(replace(instance, demands=[1, 2]))
    assert len(loads) > known  # one customer fits into no vehicle


def test_the_search_is_loaded_for_fewer_customers_too(monkeypatch):
    """The fleet may serve so few that their distances are read from a matrix."""
    module = importlib.import_module("fixedfleet.solving.partial_plan")
    loads = []
    monkeypatch.setattr(
        module, "load_search", lambda _, one: loads.append(one.num_customers)
    )
    module.load_for_partial_plan(line(*[9] * 510, demands=[1] * 510, capacity=480))
    assert loads == [510, 201]


def test_customers_that_fit_to_the_last_unit_are_served():
    """The smallest demands that fill the fleet exactly are all served."""
    instance = line(1, 2, 3, 4, demands=[5, 4, 6, 7], capacity=10, vehicles=2)
    assert serve_most(instance, Deadline()).unserved(instance) == [4]
    exact = replace(instance, demands=[5, 4, 6, 5])
    assert serve_most(exact, Deadline()).unserved(exact) == []


def test_customers_of_a_higher_priority_are_served_first():
    """A fleet for three of six customers serves the three that must go."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(i, 1) for i in range(6)],
        demands=[1, 1, 1, 2, 2, 2],
        capacity=2,
        vehicles=3,
        priorities=[0, 0, 0, 5, 5, 5],
    )
    plan = serve_most(instance, Deadline())
    assert plan.unserved(instance) == [1, 2, 3]
    found = partial_plan(instance, deadline=Deadline(0.05))
    assert found.unserved(instance) == [1, 2, 3]
    alike = replace(instance, priorities=[5] * 6)
    assert serve_most(alike, Deadline()).unserved(alike) == [5, 6]


def test_within_a_priority_the_smallest_demands_are_served():
    """Lower priorities fill what higher ones leave."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(i, 1) for i in range(4)],
        demands=[3, 2, 1, 1],
        capacity=4,
        vehicles=1,
        priorities=[2, 2, 1, 0],
    )
    plan = serve_most(instance, Deadline())
    assert plan.unserved(instance) == [1]


def test_unserved_customers_replace_only_those_of_their_own_priority():
    """A nearer customer does not take the place of one that must go."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(9, 9), (1, 0), (9, 8)],
        demands=[1, 1, 1],
        capacity=1,
        vehicles=1,
        priorities=[1, 0, 1],
    )
    swapped = swap_unserved(instance, ff.Plan([[1]]), Deadline())
    assert swapped.tours == ((3,),)


def test_a_mixed_fleet_that_is_too_small_is_filled():
    """The partial plan respects the size of each vehicle, and its shift."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(1, 0), (2, 0), (90, 0)],
        demands=[3, 1, 1],
        vehicle_types=[
            ff.VehicleType(capacity=1, shift=(0, 50)),
            ff.VehicleType(capacity=2, shift=(0, 50)),
        ],
        speed=1,
    )
    plan = partial_plan(instance, deadline=Deadline())
    assert plan.check(instance, partial=True) == []
    assert plan.unserved(instance) == [1, 3]
