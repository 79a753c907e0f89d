"""Tests of the verdict on vehicles of several sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet, exact_packing, pack_quickly
from fixedfleet.fleet.mixed_fleet import MixedFleet
from tests.oracle import optimal_day


def fleet(demands, *types, **fields):
    """An instance with these demands, and (capacity, count, fixed cost) per type."""
    kinds = [
        ff.VehicleType(
            name=f"type {place}", capacity=size, count=count, fixed_cost=cost
        )
        for place, (size, count, cost) in enumerate(types)
    ]
    points = [(place, 1) for place in range(len(demands))]
    return ff.Instance(
        depot=(0, 0), customers=points, demands=demands, vehicle_types=kinds, **fields
    )


def test_a_packing_gives_each_demand_a_vehicle_that_is_large_enough():
    """Two large orders need the two large vans; the small ones fill the small van."""
    instance = fleet([9, 8, 3, 1, 0], (4, 1, 0), (10, 2, 0))
    verdict = assess_fleet(instance)
    assert verdict.status == "feasible"
    assert verdict.packing.check(instance) == []
    assert "the demands fit into the fleet" in verdict.reason
    assert "the packing uses 3 vehicles" in str(verdict)


def test_customers_that_demand_nothing_go_with_the_first_vehicle():
    """If nothing is to be carried, one tour of the first type visits everyone."""
    for types in ([(4, 1, 7)], [(4, 1, 7), (10, 2, 0)]):
        instance = fleet([0, 0, 0], *types)
        packing = assess_fleet(instance).packing
        assert packing.check(instance) == []
        assert [sorted(tour) for tour in packing] == [[1, 2, 3]]
        assert packing.vehicle_types == (0,)


@pytest.mark.parametrize(
    ("demands", "types", "reason"),
    [
        ([9, 9], [(4, 1, 0), (10, 1, 0)], "the demands sum to 18, but the fleet carri"),
        ([5, 5, 5], [(4, 9, 0), (10, 1, 0)], "the demands above 4 sum to 15, but the"),
        ([6, 6, 6], [(10, 1, 1), (11, 1, 0)], "every way to pack the demands into"),
        ([12], [(10, 1, 1), (11, 1, 0)], "alone exceeds a vehicle"),
    ],
)
def test_an_impossible_fleet_has_a_proof(demands, types, reason):
    """The proof is by the sum, by the sum of large demands, or by exhaustion."""
    verdict = assess_fleet(fleet(demands, *types), time_limit=10)
    assert verdict.status == "impossible"
    assert reason in verdict.reason


def test_the_smallest_addition_is_named_and_shown():
    """Of types that need equally few vehicles, the one with the lowest fixed cost."""
    instance = fleet([9, 9, 9], (4, 1, 1), (10, 2, 80), (12, 1, 30))
    assert assess_fleet(instance).status == "feasible"
    short = fleet([9, 9, 9, 9], (4, 1, 1), (10, 2, 80), (12, 1, 30))
    verdict = assess_fleet(short)
    assert verdict.additions.name == "type 2"
    assert "with 1 more vehicle of type 'type 2', the demands fit" in str(verdict)
    larger = verdict.enlarge(short)
    assert [one.count for one in larger.fleet] == [1, 2, 2]
    assert verdict.smallest_packing.check(larger) == []
    assert verdict.asked(larger) == verdict.asked(short) == short
    assert "with 1 more vehicle of type 'type 2'" in repr(verdict)


@pytest.mark.parametrize(
    ("types", "added", "number"),
    [
        ([(4, 1, 0), (9, 1, 0)], 9, 2),  # the fewest vehicles
        ([(10, 1, 5), (9, 1, 4)], 9, 2),  # the lowest fixed cost of those
        ([(10, 1, 4), (9, 1, 4)], 9, 2),  # the smallest of those
        ([(18, 1, 9), (9, 1, 0)], 18, 1),
    ],
)
def test_which_vehicles_are_to_be_added(types, added, number):
    """Few vehicles come first, then low fixed costs, then small vehicles."""
    short = fleet([9] * 5 if added == 18 else [9] * 3 + [4], *types)
    verdict = assess_fleet(short)
    assert verdict.status == "impossible"
    assert (verdict.additions.capacity, verdict.additions.count) == (added, number)
    assert verdict.upper_bound == short.vehicles + number
    larger = verdict.enlarge(short)
    assert verdict.smallest_packing.check(larger) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_the_verdict_agrees_with_trying_every_plan(seed):
    """A fleet suffices if and only if the oracle finds a plan."""
    rng = np.random.default_rng(seed)
    types = [
        (int(rng.integers(3, 12)), int(rng.integers(1, 3)), int(rng.integers(0, 5)))
        for _ in range(2)
    ]
    instance = fleet(rng.integers(0, 8, 5), *types)
    verdict = assess_fleet(instance, time_limit=30)
    assert (verdict.status == "feasible") == (optimal_day(instance) is not None)
    if verdict.packing is not None:
        assert verdict.packing.check(instance) == []
    if verdict.additions is not None:
        larger = verdict.enlarge(instance)
        assert larger.vehicles == verdict.upper_bound
        assert verdict.smallest_packing.check(larger) == []


def test_a_packing_that_quick_ways_miss_is_found_exactly():
    """The exact search packs what best fit and filling cannot."""
    sizes, capacities = [6, 5, 5, 4, 4, 3, 3], {13: 1, 17: 1}
    packing = exact_packing.pack_mixed(sizes, capacities, Deadline(30))
    assert sorted(capacity for capacity, _ in packing) == [13, 17]
    assert all(sum(loaded) == capacity for capacity, loaded in packing)
    assert sorted(size for _, loaded in packing for size in loaded) == sorted(sizes)


def test_the_exact_search_uses_the_smallest_vehicle_of_all():
    """A vehicle for one unit carries a demand of one unit, and not of two."""
    packing = exact_packing.pack_mixed([3, 3, 1], {1: 1, 3: 2}, Deadline(30))
    assert sorted(packing) == [(1, [1]), (3, [3]), (3, [3])]
    packing = exact_packing.pack_mixed([3, 2, 2], {1: 1, 3: 2}, Deadline(30))
    assert packing == "impossible"


def test_without_time_a_hard_fleet_is_undecided_and_an_addition_is_still_named():
    """Nothing is claimed that was not shown."""
    instance = fleet([6, 6, 6], (10, 1, 1), (11, 1, 0))
    verdict = assess_fleet(instance, time_limit=0)
    assert verdict.status == "undecided"
    assert "neither a packing into the fleet nor a proof" in verdict.reason
    assert verdict.packing is None


def test_demands_of_zero_need_a_vehicle_but_no_room():
    """If nobody demands anything, one tour serves all."""
    verdict = assess_fleet(fleet([0, 0], (4, 1, 1), (10, 1, 0)))
    assert verdict.packing.vehicles == 1
    assert verdict.status == "feasible"


def test_the_quick_packing_ends_with_the_deadline():
    """Best fit is always tried, the slower ways only while there is time."""
    instance = fleet([6, 6, 6], (10, 1, 1), (11, 1, 0))
    assert pack_quickly(instance, Deadline(0)) is None
    full = fleet([10, 4], (4, 1, 0), (10, 1, 0))
    assert pack_quickly(full, Deadline(0)).check(full) == []


@pytest.mark.parametrize(
    ("demands", "capacities"),
    [
        ([7, 4, 4, 4, 3, 2], (5, 7, 12)),  # if the smallest vehicle is filled first
        ([4, 4, 3, 3, 3, 3, 3, 2], (6, 8, 11)),  # if the largest one is
    ],
)
def test_vehicles_are_filled_in_both_orders(demands, capacities):
    """Where best fit fails, vehicles are filled from the smallest and the largest."""
    instance = fleet(demands, *((size, 1, 0) for size in capacities))
    assert pack_quickly(instance, Deadline()).check(instance) == []
    assert pack_quickly(instance, Deadline(0)) is None


def test_an_addition_is_at_least_one_vehicle():
    """Also if the capacities add up to enough, and nothing was tried before."""
    instance = fleet([7, 4, 4, 4, 3, 2], (5, 1, 0), (7, 1, 0), (12, 1, 0))
    more, plan = MixedFleet(instance, Deadline(0)).additions(Deadline())
    assert more.count == 1
    types = [replace(one, count=1 + (one.name == more.name)) for one in instance.fleet]
    assert plan.check(instance.with_vehicle_types(types)) == []


def test_decimal_amounts_are_compared_exactly():
    """Ten demands of 0.1 fit into one vehicle of 0.3 and one of 0.7."""
    instance = fleet([0.1] * 10, (0.3, 1, 0), (0.7, 1, 0))
    verdict = assess_fleet(instance)
    assert verdict.status == "feasible"
    assert verdict.packing.check(instance) == []
