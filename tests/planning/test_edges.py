"""The strictly greedy decoding, edge by edge."""

from __future__ import annotations

import itertools

import torch

import fixedfleet as ff
from fixedfleet.planning.edges import edge_tours
from fixedfleet.planning.tours import make_plans

from .conftest import log_of, make_prediction, noisy_prediction, one_hot_prediction

DEMANDS = [0, 4, 3, 2]


def edges(log_probs, capacity):
    """The strictly greedy plan of one instance of three customers."""
    return make_plans(edge_tours(make_prediction(log_probs, DEMANDS, capacity)))[0]


def test_the_likeliest_edge_of_all_vehicles_is_taken_first():
    """Customer 1 goes to vehicle 1, which wants it more, though vehicle 0 is first."""
    wanted = {(0, 0, 1): 0.5, (0, 1, 2): 0.4, (1, 1, 3): 0.9, (0, 2, 0): 0.3}
    assert edges(log_of(wanted, 3, 2), 9) == ff.Plan([[2], [1, 3]])


def test_a_likely_way_back_leaves_nobody_out():
    """Customers that still fit are served though the way back is likelier."""
    wanted = {(0, 0, 2): 0.9, (0, 2, 0): 0.8, (0, 2, 1): 0.7, (1, 0, 0): 0.9}
    plan = edges(log_of(wanted, 3, 2), 9)
    assert sorted(customer for tour in plan for customer in tour) == [1, 2, 3]
    assert all(sum(DEMANDS[customer] for customer in tour) <= 9 for tour in plan)


def test_edges_that_would_exceed_the_capacity_are_skipped():
    """With room for 6, customer 1 is joined with 3, because 2 no longer fits."""
    wanted = {(0, 0, 1): 0.9, (0, 1, 2): 0.8, (0, 1, 3): 0.7, (1, 0, 2): 0.1}
    assert edges(log_of(wanted, 3, 2), 6) == ff.Plan([[1, 3], [2]])


def test_a_prediction_of_nothing_serves_nobody():
    """If no edge is allowed, all vehicles stay at the depot."""
    assert edges(torch.full((1, 2, 4, 4), -torch.inf), 9) == ff.Plan([])


def test_a_sure_prediction_is_followed():
    """A prediction that is sure of a plan decodes to that plan."""
    plan = edges(one_hot_prediction([[3, 1], [2]], 3, 2), 9)
    assert plan == ff.Plan([[3, 1], [2]])


def test_paths_of_a_vehicle_join_as_the_plain_algorithm_joins_them():
    """The batched decoding takes the same edges as one written down plainly."""
    prediction = noisy_prediction(20, 3, 9, 20, seed=5)
    found = make_plans(edge_tours(prediction))
    for row in range(len(prediction)):
        assert set(found[row]) == set(plain(prediction[row : row + 1]))


def plain(prediction):
    """The tours of one instance: lists of customers, joined edge by edge."""
    logs, demands = prediction.log_probs[0], prediction.demands[0].tolist()
    fleet, size, _ = logs.shape
    room = [int(prediction.capacity[0])] * fleet
    # Each vehicle has open paths; a path that touches the depot begins or ends with 0.
    paths = [[[0], [0]] for _ in range(fleet)]  # the way out, the way back, others
    free = set(range(1, size))
    while True:
        best = None
        for k, i, j in itertools.product(range(fleet), range(size), range(size)):
            a = next((p for p in paths[k] if p[-1] == i and p is not paths[k][1]), None)
            b = next((p for p in paths[k] if p[0] == j and p is not paths[k][0]), None)
            a = [i] if a is None and i in free else a
            b = [j] if b is None and j in free else b
            if a is None or b is None or i == j or a is b:
                continue
            if a is paths[k][0] and b is paths[k][1]:
                continue  # this would close the tour
            load = sum(demands[c] for c in {i, j} & free)
            if load <= room[k] and (best is None or logs[k, i, j] > best[0]):
                best = (logs[k, i, j], k, a, b, load, {i, j} & free)
        if best is None:
            return [
                tuple(c for c in o + r if c) for o, r, *_ in paths if o + r != [0, 0]
            ]
        _, k, a, b, load, new = best
        room[k] -= load
        free -= new
        joined = a + b
        out, back, *others = paths[k]
        others = [p for p in others if p is not a and p is not b]
        if a is out:
            out = joined
        elif b is back:
            back = joined
        else:
            others.append(joined)
        paths[k] = [out, back, *others]
