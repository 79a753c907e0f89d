"""Beam search."""

from __future__ import annotations

import torch

import fixedfleet as ff
from fixedfleet.planning import decode
from fixedfleet.planning.beam import beam_tours
from fixedfleet.planning.greedy import greedy_tours

from .conftest import log_of, make_prediction


def test_a_wider_beam_sees_past_a_tempting_first_step():
    """Greedily 1 comes first and ends badly; the beam finds the likelier 2, 1."""
    edges = {(0, 0, 1): 0.6, (0, 0, 2): 0.4, (0, 1, 2): 0.1, (0, 2, 1): 0.9}
    edges |= {(0, 2, 0): 0.1, (0, 1, 0): 0.05}
    prediction = make_prediction(log_of(edges, 2, 1), [0, 1, 1], 2)
    assert decode(prediction, "beam1")[0] == ff.Plan([[1, 2]])
    assert decode(prediction, "beam4")[0] == ff.Plan([[2, 1]])


def test_a_beam_of_one_is_greedy(noisy):
    """With one partial plan kept, beam search is greedy decoding."""
    prediction = noisy(20, 3, 12, 25)
    routes = beam_tours(prediction, width=1)
    assert torch.equal(routes, greedy_tours(prediction))


def test_of_complete_plans_the_shortest_is_taken():
    """The shortest of the plans that serve everyone is taken, not the likeliest."""
    points = [[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]]
    log_probs = log_of({}, 3, 1, others=0.25)
    log_probs[0, 0, 0, 2] += 0.01  # a slight preference for a bad start
    log_probs[0, 0, :, 0] -= 1.0
    prediction = make_prediction(log_probs, [0, 1, 1, 1], 3, points)
    (tour,) = decode(prediction, "beam20")[0]
    assert tour in ((1, 2, 3), (3, 2, 1))
