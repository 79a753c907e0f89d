"""Moving customers between vehicles until all fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.planning import decode, plan_by_network
from fixedfleet.planning.settling import settle

from .conftest import make_prediction


def settled(value, demands, capacity, vehicle):
    """The vehicle of each customer afterwards; None if not all fit."""
    value = np.array([[0] * len(value[0]), *value], dtype=np.int32)
    order = np.argsort(-value, axis=1, kind="stable").astype(np.int16)
    customers = np.arange(len(value)) > 0
    room = np.full(value.shape[1], capacity)
    found = np.array([value.shape[1], *vehicle])
    demands = np.array([0, *demands])
    if settle(found, value, order, demands, customers, room):
        return found[1:].tolist()
    return None


def full_fleet(rng, vehicles, capacity):
    """Demands that fill every vehicle to the last unit, in any order."""
    parts = []
    for _ in range(vehicles):
        cuts = np.sort(rng.choice(capacity - 1, 5, replace=False)) + 1
        parts.append(np.diff([0, *cuts, capacity]))
    return rng.permutation(np.concatenate(parts))


def test_the_customer_that_loses_least_moves():
    """Room is made by the customer that is nearly as well off in the other vehicle."""
    value = [[900, 0], [900, 800], [0, 900], [900, 0]]
    assert settled(value, [2, 1, 2, 1], 3, [0, 0, 1, 2]) == [0, 1, 1, 0]


def test_every_unit_of_a_fleet_is_used():
    """Where the demands fill the fleet to the last unit, all customers fit."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        demands = full_fleet(rng, vehicles=8, capacity=60)
        value = rng.integers(0, 2**23, (len(demands), 8))
        found = settled(value, demands, 60, [8] * len(demands))
        assert np.bincount(found, demands).tolist() == [60] * 8


def test_large_customers_get_a_vehicle_each():
    """Two large customers part, even if many small ones must first make room."""
    # Both large ones want vehicle 0; the small ones fill vehicle 1.
    value = [[2**23, 0]] * 2 + [[0, 2**23]] * 30
    found = settled(value, [51, 52, *[3] * 30], 100, [0, 0, *[1] * 30])
    assert found[0] != found[1]
    assert np.bincount(found, [51, 52, *[3] * 30]).max() <= 100


@pytest.mark.parametrize("demands", [[3, 3, 3], [1, 1, 5]])
def test_what_cannot_fit_is_said(demands):
    """Demands beyond the fleet, or beyond a vehicle, are refused."""
    assert settled([[1, 0]] * 3, demands, 4, [0, 1, 2]) is None


def test_a_plan_without_a_way_stays():
    """If no packing exists, the repair leaves the tours as they were."""
    prediction = make_prediction(torch.zeros((1, 2, 4, 4)), [0, 3, 3, 2], 4)
    tours = torch.tensor([[[1, 0, 0], [2, 0, 0]]])
    assert decode(prediction, lambda _: tours)[0] == ff.Plan([[1], [2]])


@pytest.mark.slow
def test_the_network_serves_everyone_in_the_smallest_fleets():
    """On Uchoa's distribution with the smallest fleets, plans serve all customers."""
    batch = generate.DISTRIBUTIONS.get("uchoa")(100, 6, seed=515001)[4:]
    assert plan_by_network(batch, passes=1).plans.feasible(batch).all()
