"""Decoders by name, and the one way from a prediction to plans."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import (
    DECODERS,
    RepairOptions,
    beam,
    decode,
)
from fixedfleet.planning.beam import beam_tours
from fixedfleet.planning.greedy import greedy_tours
from fixedfleet.planning.tours import make_plans

from .conftest import make_prediction, one_hot_prediction


def test_the_default_is_membership_with_room(noisy):
    """Without a choice, customers are assigned to vehicles, and room is made."""
    prediction = noisy(10, 3, 12, 25)
    chosen = decode(prediction, "membership", RepairOptions("room"))
    assert list(decode(prediction)) == list(chosen)


def test_a_repair_serves_more_customers(noisy):
    """A repair leaves fewer customers out; without one, plans are the decoder's."""
    prediction = noisy(10, 3, 12, 25)
    bare = decode(prediction, "greedy", "none")
    assert list(bare) == list(make_plans(greedy_tours(prediction)))
    repaired = decode(prediction, "greedy", "paper")
    assert (repaired.routes > 0).sum() > (bare.routes > 0).sum()


@pytest.mark.parametrize("decoder", ["greedy", "membership", "beam"])
def test_chunks_make_no_difference(noisy, monkeypatch, decoder):
    """A batch too large for the memory is decoded in parts to the same plans."""
    prediction, repair = noisy(7, 3, 12, 18), RepairOptions(guarantee=True)
    whole = decode(prediction, decoder, repair)
    monkeypatch.setattr(beam, "_CHUNK", 1)
    parts = decode(prediction, decoder, repair)
    assert list(parts) == list(whole)


def test_empty_tours_drop_out():
    """A plan has only the tours that serve a customer."""
    tours = [[[2, 1, 0], [0, 0, 0], [3, 0, 0]], [[0, 0, 0], [1, 2, 3], [0, 0, 0]]]
    plans = make_plans(torch.tensor(tours))
    assert list(plans) == [ff.Plan([[2, 1], [3]]), ff.Plan([[1, 2, 3]])]


def test_an_empty_batch_has_no_plans(noisy):
    """Nothing in, nothing out."""
    assert len(decode(noisy(2, 2, 3, 9)[:0])) == 0


@pytest.mark.parametrize("decoder", ["greedy", "membership", "beam"])
def test_gradients_stay_outside(noisy, decoder):
    """A prediction that carries a gradient decodes as one without does."""
    prediction = noisy(2, 3, 6, 25)
    expected = list(decode(prediction, decoder))
    prediction.log_probs.requires_grad_()
    assert list(decode(prediction, decoder)) == expected


def test_plans_are_compact():
    """Empty tours and padding leave no trace in the batch of plans."""
    log_probs = one_hot_prediction([[2], [], [3, 1]], 3, 4)
    plans = decode(make_prediction(log_probs, [0, 1, 1, 1], 2), "greedy")
    assert plans.routes.tolist() == [[2, 0, 3, 1, 0]]


def test_a_number_after_beam_is_its_width(noisy):
    """The names "beam" and "beam20" mean the same; another width, other plans."""
    prediction = noisy(10, 3, 12, 25)
    usual = list(decode(prediction, "beam", "none"))
    assert list(decode(prediction, "beam20", "none")) == usual
    assert list(make_plans(beam_tours(prediction, width=20))) == usual
    assert list(decode(prediction, "beam2", "none")) != usual


def nobody(prediction):
    """A decoder that serves nobody."""
    return torch.zeros_like(prediction.log_probs[:, :, 0, 1:], dtype=torch.int64)


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
        assert not decode(prediction, decoder, "none").routes.any()
        assert ((decode(prediction, decoder, "room").routes > 0).sum(1) == 6).all()
    same = decode(prediction, f"{file}:first")
    assert list(same) == list(decode(prediction, "greedy"))


def test_a_decoder_that_overloads_is_refused(noisy):
    """Plans above the capacity are an error, not a result."""
    prediction = noisy(3, 3, 12, 5)
    with pytest.raises(ff.InputError, match="exceeds the capacity"):
        decode(prediction, all_in_one)


def all_in_one(prediction):
    """All customers in the first tour."""
    tours = nobody(prediction)
    tours[:, 0] = torch.arange(1, prediction.locations)
    return tours


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            ("magic",),
            "unknown decoder 'magic': choose from greedy, authors",
        ),
        (("beam0",), "width is 0"),
        (("greedy", "magic"), "'magic': choose from none, paper, likeliest, room"),
    ],
)
def test_wrong_choices_are_named(noisy, choice, message):
    """An unknown choice is an error that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        decode(noisy(2, 3, 6, 25), *choice)
