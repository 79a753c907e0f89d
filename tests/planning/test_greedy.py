"""The two greedy decodings."""

from __future__ import annotations

import itertools

import torch

import fixedfleet as ff
from fixedfleet.planning.greedy import (
    _random_order,
    authors_tours,
    greedy_tours,
    pseudo_greedy,
)
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


def _walk(probs, demands, capacity, order):
    """Vehicle after vehicle along the likeliest edges, written down plainly."""
    free, tours = set(range(1, len(demands))), [[] for _ in probs]
    left = [capacity] * len(probs)
    for k in order:
        here = 0
        while True:
            choices = [0, *(i for i in sorted(free) if demands[i] <= left[k])]
            here = max(choices, key=lambda j: probs[k][here][j])
            if here == 0:
                break
            free.discard(here)
            tours[k].append(here)
            left[k] -= demands[here]
    return tours, left, free


def _put_back(probs, demands, tours, left, free):
    """The repair of the authors' code for one instance, written down plainly."""
    remaining = []
    for c in sorted(free, key=lambda i: (-demands[i], i)):
        vehicles = [k for k in range(len(probs)) if left[k] >= demands[c]]
        if not vehicles:
            remaining.append(c)
            continue
        comes = {k: max(row[c] for row in probs[k]) for k in vehicles}
        goes = {k: max(probs[k][c]) for k in vehicles}
        into, onward = max(comes, key=comes.get), max(goes, key=goes.get)
        if comes[into] > goes[onward]:
            k, stops = into, [0, *tours[into]]
            place = max(range(len(stops)), key=lambda p: probs[k][stops[p]][c])
        else:
            k, stops = onward, [*tours[onward], 0]
            place = max(range(len(stops)), key=lambda p: probs[k][c][stops[p]])
        tours[k].insert(place, c)
        left[k] -= demands[c]
    return tours, remaining


def test_the_authors_tours_are_those_of_their_steps(noisy):
    """Walk, repair, and once more backwards where customers remain, step by step."""
    prediction = noisy(60, 3, 8, 16, seed=5)
    found = authors_tours(prediction, seed=2)
    orders = _random_order(prediction, 2).tolist()
    backwards = 0
    for row, order in enumerate(orders):
        probs = prediction.probabilities[row].tolist()
        demands = prediction.demands[row].tolist()
        tours, remaining = _put_back(probs, demands, *_walk(probs, demands, 16, order))
        if remaining:
            backwards += 1
            turned = [list(zip(*one, strict=True)) for one in probs]
            walked = _walk(turned, demands, 16, order)
            tours, _ = _put_back(probs, demands, *walked)
        assert [[c for c in tour if c] for tour in found[row].tolist()] == tours
    assert 5 < backwards < 55


def test_the_order_of_vehicles_is_random_but_the_same_in_any_batch(noisy):
    """All orders occur about equally often; an instance keeps its order alone."""
    prediction = noisy(600, 3, 8, 16)
    orders = _random_order(prediction, 0)
    counts = {order: 0 for order in itertools.permutations(range(3))}
    for order in orders.tolist():
        counts[tuple(order)] += 1
    assert all(70 < count < 130 for count in counts.values())
    assert torch.equal(_random_order(prediction[5], 0), orders[5:6])
    assert not torch.equal(_random_order(prediction, 1), orders)
