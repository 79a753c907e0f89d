"""Customers in clusters."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate


def nearest(batch):
    """Return the mean distance of a customer to its nearest neighbour."""
    steps = batch.customers[:, :, None] - batch.customers[:, None]
    distances = np.hypot(steps[..., 0], steps[..., 1])
    distances[:, range(batch.num_customers), range(batch.num_customers)] = np.inf
    return distances.min(axis=2).mean()


def test_clusters_are_drawn_by_their_name():
    """Customers fill the unit square, demands fit the fleet, and a seed is a seed."""
    batch = generate.draw("clustered", 50, 8, seed=3)
    assert batch.customers.min() >= -1e-12
    assert batch.customers.max() <= 1 + 1e-12
    extent = np.ptp(batch.customers, axis=1).max(axis=1)
    assert extent == pytest.approx(np.ones(8))
    assert {batch.demands.min(), batch.demands.max()} == {1, 9}
    assert (batch.capacity == 40).all()
    assert (batch.vehicles == 7).all()
    assert (batch.minimum_vehicles <= 7).all()
    assert generate.draw("clustered", 50, 5, seed=3) == batch[:5]
    assert generate.draw("clustered", 50, 8, seed=4) != batch


def test_any_number_of_customers_has_a_fleet():
    """Without a usual fleet, the capacity grows with n and the fleet just suffices."""
    (instance,) = generate.clustered(33, 1, seed=1)
    assert instance.capacity == 37
    assert ff.assess_fleet(instance).status == "feasible"
    tight = generate.clustered(33, 2, seed=1, capacity=20, vehicles=9)
    assert (tight.demands.sum(axis=1) <= 180).all()
    with pytest.raises(ff.InputError, match="give more vehicles or a larger capacity"):
        generate.clustered(33, 1, seed=1, capacity=2, vehicles=3)
    with pytest.raises(ff.InputError, match="above the capacity: give a larger one"):
        generate.clustered(33, 1, seed=1, capacity=2)


def test_clusters_bring_customers_together():
    """Customers have nearer neighbours than uniform ones, the more so far apart."""
    uniform = nearest(generate.uniform(100, 40, seed=1))
    assert nearest(generate.clustered(100, 40, seed=1)) < uniform
    tight, loose = (
        nearest(generate.clustered(100, 20, seed=1, distance=distance))
        for distance in (50, 2)
    )
    assert tight < 0.7 * loose


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"modes": 0}, "modes is 0"),
        ({"distance": 0}, "distance is 0"),
        ({"radius": 3}, "'radius'"),
    ],
)
def test_wrong_options_are_named(options, said):
    """An option that cannot be is refused by its name."""
    with pytest.raises(ff.InputError, match=said):
        generate.draw("clustered", 20, 1, seed=1, **options)


@pytest.mark.parametrize("name", ["uniform", "uchoa", "clustered"])
def test_every_distribution_cites_its_source(name):
    """The docstring names the publication."""
    assert "References" in generate.DISTRIBUTIONS.get(name).__doc__
