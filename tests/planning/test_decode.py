"""Tests of the one entrance to all decoders."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet import planning
from fixedfleet.planning import BeamOptions, decode, strict_greedy, to_plans


def test_the_default_is_greedy_and_the_papers_repair(noisy):
    """Without choices the prediction is followed greedily and repaired."""
    log_probs, demands, capacity, _ = noisy(10, 3, 12, 25)
    greedy = strict_greedy(log_probs, demands, capacity)
    bare = decode(log_probs, demands, capacity, repair="none")
    assert torch.equal(bare.routes, greedy.routes)
    repaired = decode(log_probs, demands, capacity)
    assert repaired.unserved.sum() < greedy.unserved.sum()


@pytest.mark.parametrize("method", ["greedy", "membership", "beam", "sample"])
def test_chunks_make_no_difference(noisy, monkeypatch, method):
    """A batch too large for the memory is decoded in parts to the same plans."""
    log_probs, demands, capacity, points = noisy(7, 3, 12, 18)
    args = {"coordinates": points, "method": method, "guarantee": True}
    whole = decode(log_probs, demands, capacity, **args)
    monkeypatch.setattr(planning, "_CHUNK", 1)
    parts = decode(log_probs, demands, capacity, **args)
    assert list(to_plans(parts)) == list(to_plans(whole))
    assert torch.equal(parts.unserved, whole.unserved)


def test_an_empty_batch_has_no_plans():
    """Nothing in, nothing out."""
    decoded = decode(
        torch.zeros((0, 2, 4, 4)),
        torch.zeros((0, 4), dtype=torch.int64),
        torch.zeros(0, dtype=torch.int64),
    )
    assert decoded.routes.shape == (0, 2, 3)
    assert len(to_plans(decoded)) == 0


def test_gradients_stay_outside(noisy):
    """A prediction that carries a gradient decodes, and the plan carries none."""
    log_probs, demands, capacity, points = noisy(2, 3, 6, 25)
    log_probs.requires_grad_()
    decoded = decode(
        log_probs, demands, capacity, coordinates=points, method="membership"
    )
    assert not decoded.routes.requires_grad


def test_plans_are_compact(one_hot):
    """Empty tours and padding leave no trace in the batch of plans."""
    log_probs = one_hot([[2], [], [3, 1]], 3, 4)
    decoded = decode(log_probs, torch.tensor([[0, 1, 1, 1]]), torch.tensor([2]))
    assert to_plans(decoded).routes.tolist() == [[2, 0, 3, 1, 0]]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"method": "magic"}, "method 'magic' is unknown"),
        ({"repair": "magic"}, "repair 'magic' is unknown"),
        ({"order": "magic"}, "order 'magic' is unknown"),
        ({"repair": "none", "guarantee": True}, "needs a repair"),
        ({"options": BeamOptions()}, "takes none as options"),
        ({"method": "sample", "options": BeamOptions()}, "takes SampleOptions"),
        ({"repair": "insertion"}, "coordinates or distances"),
    ],
)
def test_wrong_choices_are_named(noisy, choice, message):
    """An unknown or contradictory choice is an error that says what would be right."""
    log_probs, demands, capacity, _ = noisy(2, 3, 6, 25)
    with pytest.raises(ff.InputError, match=message):
        decode(log_probs, demands, capacity, **choice)
