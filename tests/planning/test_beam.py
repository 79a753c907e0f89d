"""Tests of beam search."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import BeamOptions, decode, strict_greedy, to_plans

DEMANDS = torch.tensor([[0, 1, 1]])
CAPACITY = torch.tensor([2])


def test_a_wider_beam_sees_past_a_tempting_first_step(prediction):
    """Greedily 1 comes first and ends badly; the beam finds the likelier 2, 1."""
    arcs = {(0, 0, 1): 0.6, (0, 0, 2): 0.4, (0, 1, 2): 0.1, (0, 2, 1): 0.9}
    arcs |= {(0, 2, 0): 0.1, (0, 1, 0): 0.05}
    log_probs = prediction(arcs, 2, 1)
    narrow = decode(
        log_probs, DEMANDS, CAPACITY, method="beam", options=BeamOptions(width=1)
    )
    wide = decode(
        log_probs, DEMANDS, CAPACITY, method="beam", options=BeamOptions(width=4)
    )
    assert to_plans(narrow)[0] == ff.Plan([[1, 2]])
    assert to_plans(wide)[0] == ff.Plan([[2, 1]])


def test_a_beam_of_one_is_greedy(noisy):
    """With one partial plan kept, beam search is the strict greedy decoding."""
    log_probs, demands, capacity, _ = noisy(20, 3, 12, 25)
    beam = decode(
        log_probs,
        demands,
        capacity,
        method="beam",
        repair="none",
        options=BeamOptions(width=1),
    )
    greedy = strict_greedy(log_probs, demands, capacity)
    assert torch.equal(beam.routes, greedy.routes)


def test_of_complete_plans_the_shortest_is_taken(prediction):
    """Where lengths are known the shortest plan of the last beam wins."""
    points = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    demands = torch.tensor([[0, 1, 1, 1]])
    log_probs = prediction({}, 3, 1, others=0.25)
    log_probs[0, 0, 0, 2] += 0.01  # a slight taste for a bad start
    log_probs[0, 0, :, 0] -= 1.0
    decoded = decode(
        log_probs,
        demands,
        torch.tensor([3]),
        coordinates=points,
        method="beam",
        options=BeamOptions(width=20),
    )
    assert to_plans(decoded)[0].canonical() == ff.Plan([[1, 2, 3]])


def test_the_width_must_be_positive():
    """A beam of no width is refused."""
    with pytest.raises(ff.InputError, match="width"):
        BeamOptions(width=0)
