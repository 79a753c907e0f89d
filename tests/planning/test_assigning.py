"""Assigning customers to vehicles within the capacity."""

from __future__ import annotations

import itertools

import numpy as np

from fixedfleet.planning.assigning import assign


def assigned(value, demands, capacity):
    """The vehicle of each customer; M without one."""
    value = np.array([[0] * len(value[0]), *value], dtype=np.int32)
    room = np.full(value.shape[1], capacity)
    order = np.argsort(-value, axis=1, kind="stable").astype(np.int16)
    customers = np.arange(len(value)) > 0
    vehicle = np.full(len(value), len(room))
    assign(vehicle, value, order, np.array([0, *demands]), customers, room)
    return vehicle[1:].tolist()


def test_a_chain_makes_room_for_the_last_customer():
    """A customer without room gets it if another one moves over."""
    # Loads 4 and 4 of 5, and customer 5 needs 2: customer 2 or 4 moves over.
    value = [[9, 0], [9, 0], [0, 9], [0, 9], [0, 0]]
    found = assigned(value, [3, 1, 3, 1, 2], 5)
    assert found in ([0, 1, 1, 1, 0], [0, 0, 1, 0, 1])


def test_a_large_customer_replaces_a_small_one():
    """If not all fit, the larger demand is served."""
    assert assigned([[9], [1]], [2, 3], 4) == [1, 0]


def test_nobody_fits():
    """Customers larger than every vehicle have none."""
    assert assigned([[9, 9], [9, 9]], [7, 8], 4) == [2, 2]


def test_assignments_are_nearly_the_best():
    """On small instances nearly every assignment has the largest possible value."""
    rng = np.random.default_rng(1)
    best = 0
    for _ in range(40):
        value, demands = rng.integers(0, 100, (8, 3)), rng.integers(1, 6, 8)
        capacity = int(np.ceil(demands.sum() / 3)) + 1
        choices = np.array(list(itertools.product(range(3), repeat=8)))
        loads = (demands * (choices[:, None] == np.arange(3)[:, None])).sum(2)
        worth = value[np.arange(8), choices].sum(1)
        most = worth[(loads <= capacity).all(1)].max(initial=0)
        found = np.array(assigned(value, demands, capacity))
        if most and (found < 3).all():
            assert value[np.arange(8), found].sum() <= most
            best += value[np.arange(8), found].sum() == most
    assert best >= 36
