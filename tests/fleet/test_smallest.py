"""Tests of the lower bound on the smallest fleet."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet.deadline import Deadline
from fixedfleet.fleet.smallest import SmallestFleet, martello_toth


@st.composite
def loads(draw):
    capacity = draw(st.integers(1, 40))
    sizes = draw(st.lists(st.integers(1, capacity), min_size=1, max_size=9))
    return sizes, capacity


def l2_as_published(sizes, capacity):
    """L2 word for word from Martello and Toth (1990), every threshold tried."""
    best = 0
    for alpha in range(capacity // 2 + 1):
        one = [s for s in sizes if s > capacity - alpha]
        two = [s for s in sizes if capacity - alpha >= s > Fraction(capacity, 2)]
        three = [s for s in sizes if Fraction(capacity, 2) >= s >= alpha]
        over = Fraction(sum(three) - (len(two) * capacity - sum(two)), capacity)
        best = max(best, len(one) + len(two) + max(0, -(-over // 1)))
    return best


@given(loads())
@settings(deadline=None, max_examples=150)
def test_bounds_never_exceed_the_fewest_vehicles(fewest, case):
    """The bound is at least ⌈Σq/Q⌉, and no more vehicles than are needed."""
    sizes, capacity = case
    needed = fewest(sizes, capacity)
    assert sum(sizes) <= martello_toth(sizes, capacity) * capacity
    assert martello_toth(sizes, capacity) <= needed


@given(loads())
@settings(deadline=None, max_examples=150)
def test_martello_toth_is_the_published_bound(case):
    """The bound equals L2, the largest over all thresholds."""
    assert martello_toth(*case) == l2_as_published(*case)


@pytest.mark.parametrize(
    ("sizes", "capacity", "bound"),
    [
        ([6, 6, 6], 10, 3),  # no two share a vehicle, though they sum to 18 of 20
        ([7, 7, 4], 10, 3),  # the 4 fits beside neither 7
        ([5, 5, 5], 10, 2),
        ([10**15 + 1] * 3, 2 * 10**15, 3),
    ],
)
def test_martello_toth_by_hand(sizes, capacity, bound):
    """The bound is right in cases checked by hand, also for huge amounts."""
    assert martello_toth(sizes, capacity) == bound


@pytest.mark.parametrize(("over", "vehicles"), [(False, 2), (True, 3)])
def test_vehicles_are_filled_up_while_there_is_time(over, vehicles):
    """Best fit puts 4 and 3 into a vehicle of 8 and needs three; filling needs two."""
    demands = [4, 3, 3, 2, 2, 2]
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(i, 1) for i in range(6)],
        demands=demands,
        capacity=8,
        vehicles=3,
    )
    fleet = SmallestFleet(instance, Deadline(stop=lambda: over))
    assert (fleet.lower, fleet.upper, fleet.open) == (2, vehicles, over)
    assert fleet.plan().check(instance) == []
    assert fleet.plan().vehicles == vehicles
