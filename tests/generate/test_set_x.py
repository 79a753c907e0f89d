"""Tests of the instances after Uchoa et al."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import assess_fleet

KINDS = {
    "depot": get_args(generate.DepotPosition),
    "customers": get_args(generate.CustomerPosition),
    "demand": get_args(generate.Demand),
}


def mean_gap_to_nearest(instance):
    distances = instance.distances[1:, 1:] + np.where(
        np.eye(len(instance.demands)), 9e9, 0
    )
    return distances.min(axis=1).mean()


@pytest.mark.slow
@given(
    st.integers(1, 120),
    st.integers(0, 2**32 - 1),
    *(st.sampled_from((None, *kinds)) for kinds in KINDS.values()),
    st.none() | st.floats(1, 30),
)
@settings(deadline=None, max_examples=100)
def test_every_instance_is_sound(n, seed, depot, customers, demand, route_size):
    """Locations are different points of the grid, and the fleet suffices."""
    kinds = {"depot": depot, "customers": customers, "demand": demand}
    instance = generate.uchoa(n, seed=seed, route_size=route_size, **kinds)
    places = instance.coordinates
    assert places.shape == (n + 1, 2)
    assert len(np.unique(places, axis=0)) == n + 1
    assert (places == np.floor(places)).all()
    assert places.min() >= 0 and places.max() <= 1000
    assert instance.demands.min() >= 1 and instance.demands.max() <= instance.capacity
    assert assess_fleet(instance).status == "feasible"
    again = generate.uchoa(n, seed=seed, route_size=route_size, **kinds)
    assert again == instance


def test_another_seed_is_another_instance():
    """Different seeds give different instances."""
    assert generate.uchoa(50, seed=1) != generate.uchoa(50, seed=2)


def test_depot_positions():
    """The depot lies in the centre, in the corner, or anywhere."""
    assert generate.uchoa(9, seed=1, depot="central").depot.tolist() == [500, 500]
    assert generate.uchoa(9, seed=1, depot="eccentric").depot.tolist() == [0, 0]
    places = [generate.uchoa(3, seed=s, depot="random").depot for s in range(200)]
    assert np.mean(places, axis=0) == pytest.approx([500, 500], abs=80)
    assert np.std(places, axis=0) == pytest.approx([289, 289], abs=50)


def test_clustered_customers_lie_closer_together():
    """Clustered is denser than random-clustered, and that denser than random."""
    gaps = {
        kind: np.mean(
            [
                mean_gap_to_nearest(generate.uchoa(200, seed=s, customers=kind))
                for s in range(10)
            ]
        )
        for kind in KINDS["customers"]
    }
    assert 1.5 * gaps["clustered"] < gaps["random-clustered"] < gaps["random"]
    # For 200 points on a square of side 1000, half of 1000/√200 and some for the edge.
    assert gaps["random"] == pytest.approx(35.4, rel=0.12)


def test_clusters_decay_as_published():
    """Around a single seed the distances have the mean of density r·exp(−r/40)."""
    from fixedfleet.generate.set_x import _place

    rs = np.random.RandomState(0)
    taken = {(0, 0): None}
    _place(rs, 2000, taken, np.array([[500, 500]]))
    gaps = np.hypot(*(np.array(list(taken)[1:]) - 500).T)
    assert gaps.mean() == pytest.approx(80, rel=0.05)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("unitary", 1, 1), ("1-10", 1, 10), ("5-10", 5, 10), ("1-100", 1, 100),
     ("50-100", 50, 100)],
)  # fmt: skip
def test_demand_ranges(kind, low, high):
    """Demands take every value of their range, both ends included, and no other."""
    demands = generate.uchoa(3000, seed=4, demand=kind).demands
    assert set(demands.tolist()) == set(range(low, high + 1))


def test_demand_by_quadrant():
    """Upper left and lower right demand 1 to 50, the other quadrants 51 to 100."""
    instance = generate.uchoa(3000, seed=5, demand="quadrant")
    right, upper = (instance.customers >= 500).T
    assert set(instance.demands[right != upper].tolist()) == set(range(1, 51))
    assert set(instance.demands[right == upper].tolist()) == set(range(51, 101))


def test_demand_many_small_few_large():
    """From 70 to 95 % of the demands are 1 to 10, the others 50 to 100, mixed."""
    shares = []
    for seed in range(40):
        demands = generate.uchoa(400, seed=seed, demand="many-small").demands
        small = demands <= 10
        assert (demands[~small] >= 50).all() and demands.max() <= 100
        shares.append(small.mean())
        assert 0.5 < small[:200].mean() < 1  # not all the small ones first
    assert 0.69 < min(shares) < 0.76
    assert 0.89 < max(shares) < 0.96


@pytest.mark.parametrize("route_size", [3, 7.5, 20])
@pytest.mark.parametrize("demand", KINDS["demand"])
def test_average_route_size(demand, route_size):
    """The capacity fits the wanted number of customers per tour on average."""
    instance = generate.uchoa(400, seed=6, demand=demand, route_size=route_size)
    exact = math.ceil(route_size * int(instance.demands.sum()) / 400)
    assert instance.capacity == max(exact, instance.demands.max())
    if demand != "many-small":  # where the largest demand may ask for more
        fitting = instance.capacity / instance.demands.mean()
        assert route_size <= fitting <= route_size + 1


@pytest.mark.slow
def test_route_sizes_are_drawn_from_the_triangle():
    """By default, route sizes have the mean (3 + 6 + 25) / 3 and lie in 3 to 25."""
    batch = generate.uchoa_batch(60, 400, seed=1, demand="1-10")
    sizes = batch.capacity / batch.demands.mean(axis=1)
    assert sizes.mean() == pytest.approx(34 / 3, abs=0.8)
    assert sizes.min() >= 3 and sizes.max() <= 25.3


def test_fleet_is_the_least_or_the_given():
    """The fleet is the smallest that suffices unless one is given."""
    for seed in range(10):
        instance = generate.uchoa(60, seed=seed, demand=None, customers=None)
        assert assess_fleet(instance, time_limit=30).smallest == instance.vehicles
    assert generate.uchoa(60, seed=1, vehicles=50).vehicles == 50
    assert generate.uchoa(60, seed=1, vehicles=50.0).name == "uchoa-n61-k50-seed1"


def test_batch_draws_every_attribute():
    """A batch mixes capacities, fleets and kinds, and is the same for a seed."""
    batch = generate.uchoa_batch(40, 60, seed=3)
    assert len(batch) == 60 and batch.num_customers == 40
    assert len(set(batch.capacity.tolist())) > 20
    assert len(set(batch.vehicles.tolist())) > 5
    depots = {tuple(depot) for depot in batch.depots.tolist()}
    assert {(0.0, 0.0), (500.0, 500.0)} < depots
    assert (
        5
        < (batch.demands.max(axis=1) == 1).sum()
        + (batch.demands.max(axis=1) == 10).sum()
        < 55
    )
    assert batch == generate.uchoa_batch(40, 60, seed=3)
    assert batch[:10] == generate.uchoa_batch(40, 10, seed=3)
    assert all(assess_fleet(row).status == "feasible" for row in batch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"n": 10**6}, "n is 1000000, above 100000"),
        ({"depot": "west"}, "unknown depot 'west': choose from central"),
        ({"customers": "dense"}, "unknown customers 'dense'"),
        ({"demand": "3-4"}, "unknown demand '3-4'"),
        ({"route_size": 0.5}, "route size is 0.5"),
        ({"route_size": math.nan}, "route size is nan"),
        ({"vehicles": 0}, "vehicles is 0"),
        ({"seed": -3}, "seed is -3"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    """What is wrong with an argument is said in one line."""
    arguments = {"n": 20, "seed": 0} | arguments
    with pytest.raises(ff.InputError, match=message):
        generate.uchoa(arguments.pop("n"), **arguments)
