"""Decoding by membership: vehicles, exchanges, the order of tours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import Membership, decode
from fixedfleet.planning.exchange import exchange
from fixedfleet.planning.membership import membership_scores
from fixedfleet.planning.ordering import by_distance

from .conftest import log_of, make_prediction


def members(plan):
    """The sets of customers that share a vehicle."""
    return sorted(sorted(tour) for tour in plan)


def test_customers_go_where_their_edges_are():
    """The sum of a customer's edges decides its vehicle, not its best single edge."""
    # Customer 1's likeliest edge is vehicle 0's, but vehicle 1 has more in sum.
    edges = {(0, 1, 2): 0.3, (1, 1, 0): 0.25, (1, 1, 3): 0.25}
    edges |= {(0, 2, 0): 0.9, (1, 3, 0): 0.9}
    prediction = make_prediction(log_of(edges, 3, 2), [0, 1, 1, 1], 3)
    assert members(decode(prediction).plans()[0]) == [[1, 3], [2]]


def test_the_largest_regret_goes_first():
    """With room for one, the customer with no good alternative gets the vehicle."""
    edges = {(0, 1, 0): 0.5, (1, 1, 0): 0.4, (0, 2, 0): 0.5, (1, 2, 0): 0.001}
    decoded = decode(make_prediction(log_of(edges, 2, 2), [0, 2, 2], 3))
    assert decoded.routes[0, :, 0].tolist() == [2, 1]


def test_edges_into_a_customer_count_if_row_sums_say_nothing():
    """If all rows sum to one, the edges into a customer decide."""
    # Each row sums to one, whatever the vehicle; vehicle 1 drives into customer 1.
    edges = {(0, 1, 0): 1.0, (1, 1, 0): 1.0, (0, 2, 0): 1.0, (1, 2, 0): 1.0}
    edges |= {(0, 0, 2): 0.9, (1, 0, 1): 0.9}
    prediction = make_prediction(log_of(edges, 2, 2), [0, 1, 1], 2, row_sum="constant")
    assert decode(prediction).routes[0, :, 0].tolist() == [2, 1]
    scores = membership_scores(prediction)[0]
    assert scores[1, 1] > scores[1, 0]
    assert scores[2, 0] > scores[2, 1]


def test_exchange_finds_the_likelier_swap():
    """Two customers in each other's best vehicle change places."""
    prediction = make_prediction(torch.zeros((1, 2, 3, 3)), [0, 2, 2], 2)
    value = torch.tensor([[[0, 0], [5, 1], [1, 5]]])
    wrong = torch.tensor([[2, 1, 0]])
    better = exchange(prediction, wrong, value, steps=5, polish=True)
    assert better.tolist() == [[2, 0, 1]]
    kept = exchange(prediction, wrong, value, steps=5, polish=False)
    assert kept.tolist() == wrong.tolist()


@pytest.mark.parametrize("symmetric", [True, False])
def test_tours_are_ordered_well(symmetric):
    """Seven stops are ordered within a few per cent of the best order."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(5):
        points = rng.uniform(size=(8, 2))
        matrix = np.linalg.norm(points[:, None] - points[None], axis=2)
        if not symmetric:
            matrix = matrix * rng.uniform(0.9, 1.1, size=matrix.shape)
        instance = ff.Instance(demands=[1] * 7, capacity=7, vehicles=1, matrix=matrix)
        prediction = make_prediction(
            torch.zeros((1, 1, 8, 8)),
            [0] + [1] * 7,
            7,
            distances=torch.from_numpy(matrix)[None],
        )
        vehicle = torch.tensor([[1] + [0] * 7])
        plan = by_distance(prediction, vehicle).plans()[0]
        orders = itertools.permutations(range(1, 8))
        best = min(ff.Plan([order]).length(instance) for order in orders)
        ratios.append(plan.length(instance) / best)
    assert min(ratios) >= 1 - 1e-12
    assert np.mean(ratios) < 1.03


def test_crossing_tours_are_untangled():
    """A tour round a square comes out without a crossing."""
    points = [[[0, 0], [1, 1], [1, 0], [0, 1.0]]]
    prediction = make_prediction(torch.zeros((1, 1, 4, 4)), [0, 1, 1, 1], 3, points)
    assert decode(prediction).plans()[0].canonical() == ff.Plan([[2, 1, 3]])


def test_tours_may_follow_the_prediction():
    """With ``tour="prediction"`` the order is the likeliest one, not the shortest."""
    points = [[[0, 0], [1, 1], [1, 0], [0, 1.0]]]
    edges = {(0, 0, 2): 0.9, (0, 2, 3): 0.9, (0, 3, 1): 0.9}
    prediction = make_prediction(log_of(edges, 3, 1), [0, 1, 1, 1], 3, points)
    decoded = decode(prediction, Membership(tour="prediction"))
    assert decoded.plans()[0] == ff.Plan([[2, 3, 1]])


@pytest.mark.parametrize("wrong", [{"tour": "x"}, {"exchanges": -1}])
def test_wrong_options_are_named(wrong):
    """An unknown choice or a negative number is an error that names it."""
    with pytest.raises(ff.InputError, match=next(iter(wrong))):
        Membership(**wrong)
