"""Distances of the compiled search against those of the instance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.compiling import compiled
from fixedfleet.search import cpu_distances
from fixedfleet.search.cpu_distances import (
    Points,
    lay_out_legs,
    leg_from,
    leg_to,
    nearest_first,
)


@compiled()
def read_legs(legs, customers, nodes):
    """Return the lengths between all customers and nodes, there and back."""
    there = np.empty((customers, nodes), dtype=np.float32)
    back = np.empty((customers, nodes), dtype=np.float32)
    for i in range(customers):
        for j in range(nodes):
            there[i, j] = leg_to(legs, i, j)
            back[i, j] = leg_from(legs, i, j)
    return there, back


def draw(metric: str = "euclidean", rounding: str = "none", n: int = 60) -> ff.Instance:
    """Draw locations in Europe, or in a square for Euclidean distances."""
    points = np.random.default_rng(3).uniform((40, -5), (60, 30), size=(n + 1, 2))
    return ff.Instance(
        depot=points[0],
        customers=points[1:],
        demands=[1] * n,
        capacity=9,
        vehicles=8,
        metric=metric,
        rounding=rounding,
    )


@pytest.fixture
def _measured(monkeypatch):
    monkeypatch.setattr(cpu_distances, "MOST_WITH_MATRIX", 0)


@pytest.mark.usefixtures("_measured")
@pytest.mark.parametrize("metric", ["euclidean", "great_circle", "geo"])
@pytest.mark.parametrize("rounding", ["none", "round", "ceil", "trunc"])
@pytest.mark.parametrize("unit", ["", "mi"])
def test_measured_legs_are_the_distances_of_the_instance(metric, rounding, unit):
    """Legs of large instances have the lengths that the plan is measured with."""
    instance = replace(draw(metric, rounding), length_unit=unit)
    n = instance.num_customers
    legs = lay_out_legs(instance, 2)
    assert isinstance(legs, Points)
    there, back = read_legs(legs, n + 1, n + 3)
    exact = instance.distances[1:, [*range(n + 1), 0, 0]]
    other = np.arange(n + 3) != np.arange(1, n + 1)[:, None]
    assert there[1:][other] == pytest.approx(exact[other], rel=3e-7)
    assert np.array_equal(there, back)


@pytest.mark.usefixtures("_measured")
def test_opposite_sides_of_the_earth_are_half_its_circumference_apart():
    """The longest distances on the sphere are right, too."""
    instance = ff.Instance(
        depot=(0, 0), customers=[(0, 180), (90, 0), (0, 1e-6)], demands=[1, 1, 1],
        capacity=3, vehicles=1, metric="great_circle",
    )  # fmt: skip
    there, _ = read_legs(lay_out_legs(instance, 1), 4, 5)
    assert there[0, :4] == pytest.approx(instance.distances[0], rel=1e-6)


def test_neighbours_from_coordinates_are_those_of_the_matrix(monkeypatch):
    """A large instance has the same nearest customers as one with a matrix."""
    instance = draw(n=200)
    expected = cpu_distances.nearest(lay_out_legs(instance, 1), 200, 15)
    monkeypatch.setattr(cpu_distances, "MOST_WITH_MATRIX", 0)
    found = cpu_distances.nearest(lay_out_legs(instance, 1), 200, 15)
    assert np.array_equal(found, expected)


@pytest.mark.usefixtures("_measured")
def test_customers_at_one_place_are_neighbours_but_not_their_own():
    """Nobody is its own neighbour, even if a hundred customers share a place."""
    instance = ff.Instance(
        depot=(0, 0), customers=np.ones((100, 2)), demands=[1] * 100,
        capacity=9, vehicles=12,
    )  # fmt: skip
    found = cpu_distances.nearest(lay_out_legs(instance, 1), 100, 10)
    assert not (found == np.arange(101)[:, None]).any()
    assert found.min() == 1
    assert len(set(found[5].tolist())) == 10


def test_mean_and_longest_of_a_sample_are_close(monkeypatch):
    """The temperature of a large instance is from a sample of its distances."""
    instance = draw(n=400)
    scale = cpu_distances.scale(instance)
    longest = cpu_distances.longest_leg(instance)
    monkeypatch.setattr(cpu_distances, "MOST_WITH_MATRIX", 0)
    assert cpu_distances.scale(instance) == pytest.approx(scale, rel=0.05)
    assert longest <= cpu_distances.longest_leg(instance) <= 1.5 * longest


@pytest.mark.parametrize("metric", ["euclidean", "great_circle"])
@pytest.mark.parametrize("n", [40, 600])
def test_customers_are_listed_by_their_distance(n, metric):
    """From a matrix or from coordinates, the closest customers come first, then all."""
    instance = draw(metric, n=n)
    away = instance.between(np.full(n, 7), np.arange(1, n + 1))
    listed = list(dict.fromkeys(nearest_first(instance)(7)))
    assert sorted(listed) == list(range(1, n + 1))
    assert away[np.array(listed) - 1] == pytest.approx(np.sort(away))


def test_a_curve_through_all_customers_keeps_neighbours_together():
    """Customers next to each other on the curve are near, so that caches hold them."""
    instance = draw(n=400)
    curve = cpu_distances.along_curve(instance)
    assert sorted(curve.tolist()) == list(range(1, 401))
    steps = instance.between(curve[:-1], curve[1:])
    assert steps.mean() < 0.15 * instance.distances.mean()
