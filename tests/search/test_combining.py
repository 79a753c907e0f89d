"""Two plans that are combined into one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.search.combining import _groups_of_linked, measure_tours
from fixedfleet.search.combining import combine as combine_measured

# Four pairs of customers, far from each other; the two of a pair are neighbours.
PAIRS = [(9, 1), (9, -1), (-9, 1), (-9, -1), (1, 9), (-1, 9), (1, -9), (-1, -9)]


def combine(
    instance: ff.Instance, one: ff.Plan, other: ff.Plan, vehicle_cost: float = 0.0
) -> ff.Plan:
    """Measure two plans and combine them; the first one if nothing is taken."""
    first, second = (measure_tours(instance, plan) for plan in (one, other))
    found = combine_measured(instance, first, second, vehicle_cost)
    assert found is first or found.plan != one
    assert found.lengths.sum() == pytest.approx(found.plan.length(instance))
    return found.plan


def compass(vehicles: int = 4) -> ff.Instance:
    """Eight customers in four directions, of which four fit into a vehicle."""
    return ff.Instance(
        depot=(0, 0), customers=PAIRS, demands=[1] * 8, capacity=4, vehicles=vehicles
    )


def test_the_shorter_tours_of_both_plans_are_taken():
    """East and west are good in one plan, north and south in the other."""
    one = ff.Plan([[1, 2], [3, 4], [5, 7], [6, 8]])
    other = ff.Plan([[1, 3], [2, 4], [5, 6], [7, 8]])
    best = ff.Plan([[1, 2], [3, 4], [5, 6], [7, 8]])
    for first, second in ((one, other), (other, one)):
        found = combine(compass(), first, second)
        assert sorted(found.tours) == sorted(best.tours)


def test_a_plan_without_shorter_tours_changes_nothing():
    """The same tours in another order or direction are not shorter."""
    best = ff.Plan([[1, 2], [3, 4], [5, 6], [7, 8]])
    same = ff.Plan([[8, 7], [2, 1], [5, 6], [3, 4]])
    worse = ff.Plan([[1, 3], [2, 4], [5, 7], [6, 8]])
    assert combine(compass(), best, same) is best
    assert combine(compass(), best, worse) is best


def test_more_than_half_of_the_customers_are_not_taken_at_once():
    """Otherwise the result would be the other plan, and nothing of one's own."""
    mixed = ff.Plan([[1, 3], [2, 5], [4, 6], [7, 8]])
    better = ff.Plan([[1, 2], [3, 4], [5, 6], [7, 8]])
    assert better.length(compass()) < mixed.length(compass())
    assert combine(compass(), mixed, better) is mixed


@pytest.mark.parametrize(("vehicles", "taken"), [(6, 2), (5, 1), (4, 0)])
def test_the_fleet_is_a_bound(vehicles, taken):
    """Of tours that need one vehicle more, those that save most are taken."""
    points = [(5, 4), (5, -4), (-9, 8), (-9, -8), (0, 1), (0, 2), (1, 0), (2, 0)]
    instance = ff.Instance(
        depot=(0, 0), customers=points, demands=[1] * 8, capacity=9, vehicles=vehicles
    )
    one = ff.Plan([[1, 2], [3, 4], [5, 6], [7, 8]])
    other = ff.Plan([[1], [2], [3], [4], [5, 6], [7, 8]])
    found = combine(instance, one, other, vehicle_cost=-20.0)
    assert found.vehicles == 4 + taken
    if taken == 1:  # the way between the nearer two is the shorter one
        assert (1,) in found.tours
        assert (3, 4) in found.tours


def test_a_vehicle_costs():
    """A shorter group of tours is not taken if its vehicle costs more than it saves."""
    instance = compass(vehicles=5)
    one = ff.Plan([[1, 3], [2, 4], [5, 7, 6, 8]])
    other = ff.Plan([[1, 2], [3, 4], [5, 6], [7, 8]])
    assert combine(instance, one, other).vehicles == 4
    found = combine(instance, one, other, vehicle_cost=1000.0)
    assert sorted(found.tours) == [(1, 2), (3, 4), (5, 7, 6, 8)]


def test_plans_must_serve_the_same_customers():
    """What only one of them serves could be lost."""
    with pytest.raises(ValueError, match="serve different customers"):
        combine(compass(), ff.Plan([[1, 2]]), ff.Plan([[1, 3]]))


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_chain_of_tours_is_one_group(order):
    """Tours that have no customer in common may be linked by others."""
    one, other = np.array([0, 1, 1, 2, 2, 3, 4]), np.array([5, 5, 6, 6, 7, 7, 8])
    groups = _groups_of_linked(one[order], other[order], 10)
    assert groups.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 1, 2]


def test_a_vehicle_that_one_group_frees_serves_another():
    """The first four save more, but need one more of all five vehicles."""
    points = [(9, 1), (9, -1), (-9, 1), (-9, -1), (0, 1), (0, 2), (0, -1), (0, -2)]
    instance = ff.Instance(
        depot=(0, 0), customers=points, demands=[1] * 8, capacity=9, vehicles=5
    )
    one = ff.Plan([[1, 4], [2, 3], [5], [6], [7, 8]])
    other = ff.Plan([[1, 2], [3], [4], [5, 6], [7, 8]])
    assert sorted(combine(instance, one, other).tours) == sorted(other.tours)


@pytest.mark.parametrize("seed", range(20))
def test_the_result_is_the_best_choice_of_groups(seed):
    """It is compared with all choices of groups of tours, tried one by one."""
    rng = np.random.default_rng(seed)
    instance = ff.Instance(
        depot=(0, 0), customers=rng.normal(size=(12, 2)), demands=[1] * 12, capacity=2,
        vehicles=6,
    )  # fmt: skip
    blocks = rng.permutation(12).reshape(3, 4) + 1
    one, other = (
        ff.Plan(
            [pair for block in blocks for pair in rng.permutation(block).reshape(2, 2)]
        )
        for _ in range(2)
    )
    found = combine(instance, one, other)
    assert found.is_feasible(instance)
    lengths = [
        ff.Plan(
            [
                tour
                for place in range(3)
                for tour in (one, other)[choice[place]].tours[2 * place : 2 * place + 2]
            ]
        ).length(instance)
        for choice in itertools.product((0, 1), repeat=3)
    ]
    assert found.length(instance) == pytest.approx(min(lengths))
