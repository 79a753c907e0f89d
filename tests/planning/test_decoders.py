"""Decoders by name, and the one way from a prediction to plans."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import (
    DECODERS,
    Decoded,
    RepairOptions,
    beam,
    decode,
)
from fixedfleet.planning.beam import beam_tours
from fixedfleet.planning.greedy import greedy_tours

from .conftest import make_prediction, one_hot_prediction


def test_the_default_is_membership_with_room(noisy):
    """Without a choice, customers are assigned to vehicles, and room is made."""
    prediction = noisy(10, 3, 12, 25)
    chosen = decode(prediction, "membership", RepairOptions("room"))
    assert torch.equal(decode(prediction).routes, chosen.routes)


def test_a_repair_serves_more_customers(noisy):
    """A repair leaves fewer customers out; without one, plans are the decoder's."""
    prediction = noisy(10, 3, 12, 25)
    bare = decode(prediction, "greedy", "none")
    assert torch.equal(bare.routes, greedy_tours(prediction).routes)
    repaired = decode(prediction, "greedy", "paper")
    assert repaired.unserved.sum() < bare.unserved.sum()


@pytest.mark.parametrize("decoder", ["greedy", "membership", "beam"])
def test_chunks_make_no_difference(noisy, monkeypatch, decoder):
    """A batch too large for the memory is decoded in parts to the same plans."""
    prediction, repair = noisy(7, 3, 12, 18), RepairOptions(guarantee=True)
    whole = decode(prediction, decoder, repair)
    monkeypatch.setattr(beam, "_CHUNK", 1)
    parts = decode(prediction, decoder, repair)
    assert list(parts.plans()) == list(whole.plans())
    assert torch.equal(parts.unserved, whole.unserved)


def test_empty_tours_drop_out():
    """A plan has only the tours that serve a customer."""
    tours = [[[2, 1, 0], [0, 0, 0], [3, 0, 0]], [[0, 0, 0], [1, 2, 3], [0, 0, 0]]]
    decoded = Decoded.from_routes(torch.tensor(tours), torch.ones(2, 4).bool())
    assert list(decoded.plans()) == [ff.Plan([[2, 1], [3]]), ff.Plan([[1, 2, 3]])]


def test_an_empty_batch_has_no_plans(noisy):
    """Nothing in, nothing out."""
    decoded = decode(noisy(2, 2, 3, 9)[:0])
    assert decoded.routes.shape == (0, 2, 3)
    assert len(decoded.plans()) == 0


@pytest.mark.parametrize("decoder", ["greedy", "membership", "beam"])
def test_gradients_stay_outside(noisy, decoder):
    """A prediction that carries a gradient decodes, and the plan carries none."""
    prediction = noisy(2, 3, 6, 25)
    prediction.log_probs.requires_grad_()
    assert not decode(prediction, decoder).routes.requires_grad


def test_plans_are_compact():
    """Empty tours and padding leave no trace in the batch of plans."""
    log_probs = one_hot_prediction([[2], [], [3, 1]], 3, 4)
    decoded = decode(make_prediction(log_probs, [0, 1, 1, 1], 2), "greedy")
    assert decoded.plans().routes.tolist() == [[2, 0, 3, 1, 0]]


def test_a_number_after_beam_is_its_width(noisy):
    """The names "beam" and "beam20" mean the same; another width, other plans."""
    prediction = noisy(10, 3, 12, 25)
    usual = decode(prediction, "beam", "none").routes
    assert torch.equal(decode(prediction, "beam20", "none").routes, usual)
    assert torch.equal(beam_tours(prediction, width=20).routes, usual)
    assert not torch.equal(decode(prediction, "beam2", "none").routes, usual)


def nobody(prediction):
    """A decoder that serves nobody."""
    routes = torch.zeros_like(prediction.log_probs[:, :, 0, 1:], dtype=torch.int64)
    return Decoded.from_routes(routes, prediction.customers)


def test_a_decoder_of_ones_own(noisy, tmp_path):
    """A function is a decoder: given itself, registered, or in a file."""
    prediction = noisy(3, 3, 6, 25)
    DECODERS.register("test-nobody")(nobody)
    file = tmp_path / "own.py"
    file.write_text(
        "from fixedfleet.planning.greedy import greedy_tours\n"
        "def first(prediction):\n    return greedy_tours(prediction)\n"
    )
    for decoder in (nobody, "test-nobody"):
        decoded = decode(prediction, decoder, "none")
        assert torch.equal(decoded.unserved, prediction.customers)
        assert not decode(prediction, decoder, "room").unserved.any()
    same = decode(prediction, f"{file}:first").routes
    assert torch.equal(same, decode(prediction, "greedy").routes)


def test_a_decoder_that_overloads_is_refused(noisy):
    """Plans above the capacity are an error, not a result."""
    prediction = noisy(3, 3, 12, 5)
    with pytest.raises(ff.InputError, match="exceeds the capacity"):
        decode(prediction, all_in_one)


def all_in_one(prediction):
    """All customers in the first tour."""
    routes = torch.zeros_like(prediction.log_probs[:, :, 0, 1:], dtype=torch.int64)
    routes[:, 0] = torch.arange(1, prediction.locations)
    return Decoded.from_routes(routes, prediction.customers)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (("magic",), "unknown decoder 'magic': choose from greedy, edges, memb"),
        (("beam0",), "width is 0"),
        (("greedy", "magic"), "'magic': choose from none, paper, paper-demand, room"),
    ],
)
def test_wrong_choices_are_named(noisy, choice, message):
    """An unknown choice is an error that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        decode(noisy(2, 3, 6, 25), *choice)
