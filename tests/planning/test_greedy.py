"""The two greedy decodings."""

from __future__ import annotations

import torch

import fixedfleet as ff
from fixedfleet.planning.greedy import greedy_tours, pseudo_greedy
from fixedfleet.planning.tours import make_plans, tour_loads

from .conftest import log_of, make_prediction, one_hot_prediction

DEMANDS = [0, 4, 3, 2]
# Vehicle 0 likes 1, then 2, then 3; vehicle 1 likes 1 as well, and 2 after 3.
EDGES = {
    (0, 0, 1): 0.9,
    (0, 1, 2): 0.8,
    (0, 2, 3): 0.7,
    (0, 2, 0): 0.6,
    (0, 3, 0): 0.9,
    (1, 0, 1): 0.9,
    (1, 0, 3): 0.5,
    (1, 3, 2): 0.4,
    (1, 2, 0): 0.9,
}


def greedy(log_probs, capacity):
    """The strictly greedy plan."""
    tours = greedy_tours(make_prediction(log_probs, DEMANDS, capacity))
    return make_plans(tours)[0]


def test_pseudo_greedy_follows_the_likeliest_edges():
    """The decoding of training follows the likeliest free edges and overloads."""
    prediction = make_prediction(log_of(EDGES, 3, 2), DEMANDS, 1)
    tours = pseudo_greedy(prediction)
    assert make_plans(tours)[0] == ff.Plan([[1, 2, 3]])
    assert tour_loads(tours, prediction.demands).tolist() == [[9, 0]]


def test_greedy_masks_customers_that_no_longer_fit():
    """With room for 6, customer 1 is followed by 3 at once: 2 no longer fits."""
    edges = {**EDGES, (0, 1, 3): 0.1, (1, 0, 2): 0.3}
    assert greedy(log_of(edges, 3, 2), 6) == ff.Plan([[1, 3], [2]])


def test_a_vehicle_returns_when_the_depot_is_likeliest():
    """A likelier way back ends the tour though another customer would fit."""
    edges = {(0, 0, 2): 0.9, (0, 2, 0): 0.8, (0, 2, 1): 0.7, (1, 0, 0): 0.9}
    assert greedy(log_of(edges, 3, 2), 9) == ff.Plan([[2]])


def test_a_prediction_of_nothing_serves_nobody():
    """If no edge is allowed, all vehicles stay at the depot."""
    assert greedy(torch.full((1, 2, 4, 4), -torch.inf), 9) == ff.Plan([])


def test_half_precision_decodes():
    """Predictions in bfloat16 decode as those in float32 do."""
    likely = one_hot_prediction([[3, 1], [2]], 3, 2).bfloat16()
    assert greedy(likely, 9) == ff.Plan([[3, 1], [2]])
