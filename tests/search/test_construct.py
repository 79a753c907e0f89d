"""Tests of the savings and the sweep start."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import pack
from fixedfleet.search.construct import savings, sweep


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
        assert plan.length(wide) < 0.7 * pack(wide).length(wide)


def test_savings_join_neighbours(square):
    """The square's four corners become two tours of neighbours, the optimum."""
    plan = savings(square)
    assert plan.length(square) == pytest.approx(4 + 4 * np.sqrt(2))


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
