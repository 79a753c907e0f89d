"""Amounts and distances as whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet.search.outside.whole_numbers import (
    enough,
    whole_amounts,
    whole_distances,
)

AMOUNTS = st.lists(
    st.integers(0, 10**6) | st.floats(0, 1e6, allow_subnormal=False),
    min_size=1,
    max_size=6,
)


def _instance(demands, capacity, scale=1.0) -> ff.Instance:
    rng = np.random.default_rng(len(demands))
    return ff.Instance(
        depot=(0, 0),
        customers=rng.uniform(size=(len(demands), 2)) * scale,
        demands=demands,
        capacity=capacity,
        vehicles=2,
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(AMOUNTS, st.floats(1, 1e12), st.sampled_from([100, 2**30, 2**50]))
def test_what_fits_there_fits_here(demands, capacity, largest) -> None:
    """No set of customers that fits the whole numbers overloads the vehicle."""
    assume(sum(demands) < 1e5 * capacity)  # beyond, the instance itself is refused
    instance = _instance(demands, capacity)
    whole, bound = whole_amounts(instance, largest=largest)
    assert whole.sum() <= largest or (whole > bound).any()
    members = np.arange(1 << len(demands))[:, None] >> np.arange(len(demands)) & 1
    fits_there = members @ whole[1:] <= bound
    fits_here = members @ instance.demand_units[1:] <= instance.capacity_units
    assert not (fits_there & ~fits_here).any()


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.integers(1, 3000))
def test_small_amounts_lose_nothing(demands, capacity) -> None:
    """Within the bound, exactly the sets that fit the vehicle fit the numbers."""
    instance = _instance(demands, capacity)
    whole, bound = whole_amounts(instance, largest=10_000)
    members = np.arange(1 << len(demands))[:, None] >> np.arange(len(demands)) & 1
    fits_here = members @ instance.demand_units[1:] <= capacity
    assert ((members @ whole[1:] <= bound) == fits_here).all()


def test_full_vehicle_stays_full() -> None:
    """A customer who alone fills a vehicle still fits one in coarse units."""
    instance = _instance([0.123456789012, 0.123456789012], 0.123456789012)
    whole, capacity = whole_amounts(instance, largest=100)
    assert enough(whole, capacity, 2)
    assert not enough(whole, capacity, 1)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e200])
def test_distances_keep_their_proportions(scale: float) -> None:
    """Distances of any size become whole numbers in proportion, within the bound."""
    instance = _instance([1] * 5, 5, scale)
    whole = whole_distances(instance, largest=2**24)
    exact = instance.distances
    assert whole.max() <= 2**24
    np.testing.assert_allclose(
        whole / whole.max(), exact / exact.max(), rtol=0, atol=2**-22
    )


def test_whole_distances_stay() -> None:
    """Whole distances are passed on as they are."""
    matrix = [[0, 7], [9, 0]]
    instance = ff.Instance(matrix=matrix, demands=[1], capacity=1, vehicles=1)
    assert whole_distances(instance, largest=100).tolist() == matrix
