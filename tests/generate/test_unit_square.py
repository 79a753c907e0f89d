"""Tests of the uniform instances."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate

# Mean length, vehicles and ⌈Σq/Q⌉ of the reference plans, as published with them.
REFERENCE = {
    "ref_vrp20_cost": (6.1209, 3.816, 3.805),
    "ref_vrp20_costv": (6.1221, 3.805, 3.805),
    "ref_vrp50_cost": (10.3880, 6.715, 6.698),
    "ref_vrp50_costv": (10.3890, 6.698, 6.698),
    "ref_vrp100_cost": (15.5876, 10.461, 10.439),
    "ref_vrp100_costv": (15.5881, 10.439, 10.439),
}


@pytest.mark.parametrize(
    ("n", "demands", "remaining"),
    [
        (20, [5, 3, 5, 8, 5], 9646),
        (50, [9, 2, 7, 5, 7], 9525),
        (100, [1, 3, 1, 4, 4], 9772),
    ],
)
def test_the_public_test_set_bit_for_bit(n, demands, remaining):
    """Seed 1234 gives the public test set, with the known number after rejection."""
    whole = generate.test_set(n, reject=False)
    assert len(whole) == 10_000
    assert whole.depots[0].tolist() == [0.1915194503788923, 0.6221087710398319]
    assert whole.demands[0, :5].tolist() == demands
    kept = generate.test_set(n)
    assert len(kept) == remaining
    capacity, vehicles = generate.FLEETS[n]
    within = whole.demands.sum(axis=1) <= vehicles * capacity
    for array in ("depots", "customers", "demands", "sizes"):
        assert np.array_equal(getattr(kept, array), getattr(whole, array)[within])
    assert (kept.capacity == capacity).all() and (kept.vehicles == vehicles).all()


def test_uniform_without_rejection_is_the_stream_itself():
    """The arrays are NumPy's legacy stream in the order depot, customers, demands."""
    batch = generate.uniform(50, 30, seed=5, reject=False)
    rs = np.random.RandomState(5)
    assert np.array_equal(batch.depots, rs.uniform(size=(30, 2)))
    assert np.array_equal(batch.customers, rs.uniform(size=(30, 50, 2)))
    assert np.array_equal(batch.demands, rs.randint(1, 10, size=(30, 50)))


def test_uniform_gives_as_many_as_wanted_within_the_fleet():
    """With rejection, the wanted number of instances comes back, all with Σq ≤ MQ."""
    batch = generate.uniform(30, 200, seed=1, capacity=40, vehicles=4)
    assert batch.demands.shape == (200, 30)
    assert (batch.demands.sum(axis=1) <= 160).all()
    assert batch == generate.uniform(30, 200, seed=1, capacity=40, vehicles=4)
    assert batch != generate.uniform(30, 200, seed=2, capacity=40, vehicles=4)


def test_a_fleet_beyond_all_counting_rejects_nothing():
    """Vehicles times capacity may exceed what 64 bits hold; every instance passes."""
    huge = generate.uniform(20, 10, seed=1, capacity=10**13, vehicles=10**13)
    plain = generate.uniform(20, 10, seed=1, capacity=1000, vehicles=1000)
    assert np.array_equal(huge.demands, plain.demands)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 30}, "no capacity and fleet are known for n = 30"),
        ({"n": 0}, "n is 0"),
        ({"n": "x"}, "n is 'x'"),
        ({"seed": float("nan")}, "seed is nan"),
        ({"count": -1}, "count is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**32}, "seed is 4294967296, not a whole number from 0 to"),
        ({"vehicles": 3}, "give more vehicles or a larger capacity"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    """What is wrong with an argument is said in one line."""
    arguments = {"n": 20, "count": 1000, "seed": 0} | arguments
    with pytest.raises(ff.InputError, match=message):
        generate.uniform(arguments.pop("n"), arguments.pop("count"), **arguments)


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_plans_have_their_published_means(shared, name):
    """The reference plans are feasible for the test set, with the means published."""
    with np.load(shared / "reference" / f"{name}.npz") as file:
        index, routes = file["index"], file["routes"]
    n = int(name.partition("vrp")[2].partition("_")[0])
    batch = generate.test_set(n, reject=False)[index]
    plans = ff.PlanBatch(routes)
    assert plans.feasible(batch).all()
    least = -(-batch.demands.sum(axis=1) // batch.capacity)
    found = plans.lengths(batch).mean(), plans.vehicles().mean(), least.mean()
    assert found == pytest.approx(REFERENCE[name], abs=6e-4)
    # Rows count in the whole set; the first 1,000 that pass the rejection are meant.
    within = batch.demands.sum(axis=1) <= batch.vehicles * batch.capacity
    assert len(index) == 1000 and within.all()
