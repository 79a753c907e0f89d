"""Distributions whose customers form a pattern."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.generate import point_patterns

PATTERNS = point_patterns.__all__


def nearest(batch):
    """Return the mean distance of a customer to its nearest neighbour."""
    steps = batch.customers[:, :, None] - batch.customers[:, None]
    distances = np.hypot(steps[..., 0], steps[..., 1])
    distances[:, range(batch.num_customers), range(batch.num_customers)] = np.inf
    return distances.min(axis=2).mean()


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_drawn_by_its_name(name):
    """Customers fill the unit square, demands fit the fleet, and a seed is a seed."""
    batch = generate.draw(name, 50, 8, seed=3)
    assert batch.customers.min() >= -1e-12
    assert batch.customers.max() <= 1 + 1e-12
    extent = np.ptp(batch.customers, axis=1).max(axis=1)
    assert extent == pytest.approx(np.ones(8))
    assert {batch.demands.min(), batch.demands.max()} == {1, 9}
    assert (batch.capacity == 40).all()
    assert (batch.vehicles == 7).all()
    assert (batch.minimum_vehicles <= 7).all()
    assert generate.draw(name, 50, 5, seed=3) == batch[:5]
    assert generate.draw(name, 50, 8, seed=4) != batch


@pytest.mark.parametrize("name", PATTERNS)
def test_any_number_of_customers_has_a_fleet(name):
    """Without a usual fleet, the capacity grows with n and the fleet just suffices."""
    (instance,) = generate.draw(name, 33, 1, seed=1)
    assert instance.capacity == 37
    assert ff.assess_fleet(instance).status == "feasible"
    tight = generate.draw(name, 33, 2, seed=1, capacity=20, vehicles=9)
    assert (tight.demands.sum(axis=1) <= 180).all()
    with pytest.raises(ff.InputError, match="give more vehicles or a larger capacity"):
        generate.draw(name, 33, 1, seed=1, capacity=2, vehicles=3)


def test_patterns_do_what_their_names_say():
    """Clusters and pulls bring customers together, throws leave holes."""
    uniform = nearest(generate.uniform(100, 40, seed=1))
    for name in ("clustered", "implosion", "compression"):
        assert nearest(generate.draw(name, 100, 40, seed=1)) < uniform
    tight, loose = (
        nearest(generate.clustered(100, 20, seed=1, distance=distance))
        for distance in (50, 2)
    )
    assert tight < 0.7 * loose


def test_an_explosion_leaves_a_hole():
    """No customer is left within the radius of the centre."""
    rs = np.random.RandomState(5)
    points = point_patterns._explode(rs, rs.uniform(size=(2000, 2)), 0.3)
    again = np.random.RandomState(5)
    again.uniform(size=(2000, 2))
    centre = again.uniform(size=2)
    gaps = np.hypot(*(points - centre).T)
    assert gaps.min() >= 0.3 - 1e-9


def test_a_grid_has_rows_and_columns():
    """Many customers share their x, which never happens by chance."""
    batch = generate.grid(100, 20, seed=1, radius=0.5)
    columns = batch.customers[..., 0].round(9)
    assert np.mean([len(np.unique(column)) for column in columns]) < 90
    columns = generate.uniform(100, 20, seed=1).customers[..., 0].round(9)
    assert {len(np.unique(column)) for column in columns} == {100}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("clustered", {"modes": 0}, "modes is 0"),
        ("clustered", {"distance": 0}, "distance is 0"),
        ("explosion", {"radius": 2}, "radius is 2"),
        ("rotation", {"share": -1}, "share is -1"),
        ("grid", {"modes": 3}, "'modes'"),
    ],
)
def test_wrong_options_are_named(name, options, said):
    """An option that cannot be is refused by its name."""
    with pytest.raises(ff.InputError, match=said):
        generate.draw(name, 20, 1, seed=1, **options)


@pytest.mark.parametrize("name", ["uniform", "uchoa", *PATTERNS])
def test_every_distribution_cites_its_source(name):
    """The docstring names the publication."""
    assert "References" in generate.DISTRIBUTIONS.get(name).__doc__
