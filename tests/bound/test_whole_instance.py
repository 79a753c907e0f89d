"""Instances in whole numbers claim no more than the instance itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.bound import whole_instance
from fixedfleet.bound.neighbourhoods import make_neighbourhoods
from fixedfleet.bound.whole_instance import make_whole


@pytest.mark.parametrize("seed", range(12))
def test_costs_in_units_are_never_above_the_true_costs(seed, odd):
    """The cost of a plan in units is its cost, rounded down by next to nothing."""
    instance, plan, vehicle_cost = odd(seed)
    whole = make_whole(instance, plan, vehicle_cost)
    cost = Fraction(plan.cost_v(instance, vehicle_cost))
    units = Fraction(whole.cost_of(plan.tours)) / (2 * whole.unit)
    assert cost * (1 - Fraction(1, 10**9)) <= units <= cost * (1 + Fraction(1, 10**15))
    assert whole.cost_of(plan.tours) > whole.goal(float(cost))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("most", [4000, 12])
def test_every_tour_within_capacity_is_within_the_steps(seed, most, odd, monkeypatch):
    """Steps never refuse a tour, and each customer takes at least one."""
    monkeypatch.setattr(whole_instance, "_MOST_STEPS", most)
    instance, plan, _ = odd(seed)
    whole = make_whole(instance, plan, 0.0)
    assert (whole.steps[1:] >= 1).all()
    customers = range(1, whole.size)
    for size in range(1, whole.size):
        for chosen in map(list, combinations(customers, size)):
            fits = whole.demands[chosen].sum() <= whole.capacity
            assert whole.steps[chosen].sum() <= whole.limit or not fits
            if most == 4000 and not fits:
                assert whole.steps[chosen].sum() > whole.limit


@pytest.mark.parametrize("seed", range(4))
def test_arcs_that_no_plan_has_are_not_allowed(seed, odd):
    """Loops, arcs longer than the plan, and pairs above the capacity are left out."""
    instance, plan, _ = odd(seed)
    whole = make_whole(instance, plan, 0.0)
    demands = instance.demand_units
    for i, j in np.ndindex(whole.allowed.shape):
        fits = demands[i] + demands[j] <= instance.capacity_units
        short = instance.distances[i, j] <= plan.length(instance)
        assert whole.allowed[i, j] == (i != j and fits and short)


def test_whole_costs_are_rounded_up():
    """With whole distances, a bound of 7.01 proves 8."""
    matrix = [[0, 3, 4], [3, 0, 2], [4, 2, 0]]
    instance = ff.Instance(matrix=matrix, demands=[1, 1], capacity=2, vehicles=2)
    whole = make_whole(instance, ff.Plan([[1, 2]]), 0.0)
    one = int(2 * whole.unit)
    assert whole.whole
    assert whole.goal(9.0) == 8 * one
    assert whole.to_user(7 * one) == 7.0
    assert whole.to_user(7 * one + 1) == 8.0
    halves = make_whole(instance, ff.Plan([[1, 2]]), 0.5)
    assert not halves.whole
    assert halves.to_user(7 * int(2 * halves.unit)) == 7.0
    assert halves.to_user(1) <= 1e-11


def test_neighbourhoods_share_the_bits_of_common_customers():
    """One word tells the customers of a neighbourhood apart, with 150 customers too."""
    points = np.random.default_rng(0).integers(0, 1000, size=(151, 2))
    costs = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1)).astype(int)
    near = make_neighbourhoods(costs, 8)
    members = [np.flatnonzero(row) for row in near.blocked]
    assert all(len(row) == 8 for row in members[1:])
    for i in range(1, 151):
        assert i in members[i]
        assert len({int(near.own[c]) for c in members[i]}) == 8
        common = np.intersect1d(members[i], members[150])
        bits = np.bitwise_or.reduce(near.own[common], initial=np.uint64(0))
        assert near.shared[i, 150] == bits


@pytest.mark.parametrize(("way", "whole"), [(2**39 - 1, True), (2**39, False)])
def test_huge_costs_do_not_count_as_whole(way, whole):
    """From 2^40 on, a unit of cost is too small for the numbers of a bound."""
    instance = ff.Instance(
        matrix=[[0, way], [way, 0]], demands=[1], capacity=1, vehicles=1
    )
    assert make_whole(instance, ff.Plan([[1]]), 0.0).whole == whole


def test_customers_at_one_place_are_in_their_own_neighbourhoods():
    """A customer comes before others to which the way costs nothing."""
    near = make_neighbourhoods(np.zeros((6, 6), int), 2)
    members = near.blocked[1:, 1:] > 0
    assert members.diagonal().all()
    assert (members.sum(axis=1) == 2).all()


def test_crowded_neighbourhoods_become_smaller():
    """If 64 bits do not suffice, neighbourhoods have fewer customers."""
    costs = np.full((200, 200), 5)
    costs[:, 1] = costs[1] = 1
    near = make_neighbourhoods(costs, 100)
    members = near.blocked[1:] > 0
    assert 1 <= members.sum(axis=1).max() <= 64
    assert near.own[1:].all()
    assert near.own.max() == 1 << 63  # the last bit is used
    for row in members:
        assert len({*near.own[row].tolist()}) == row.sum()


def test_a_capacity_beyond_64_bits_fits():
    """Compiled code adds loads with 64 bits; no load exceeds the sum of all demands."""
    instance = generate.uniform(20, 1, seed=2)[0]
    roomy = replace(instance, capacity=10**30)
    plan = ff.Plan([range(1, 21)])
    whole = make_whole(roomy, plan, 0.0)
    assert whole.capacity == int(instance.demand_units.sum())
