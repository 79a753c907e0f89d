"""Tests of the two greedy decodings."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import pseudo_greedy, strict_greedy, to_plans

DEMANDS = torch.tensor([[0, 4, 3, 2]])
# Vehicle 0 likes 1, then 2, then 3; vehicle 1 likes 1 as well, and 2 after 3.
ARCS = {
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


def test_pseudo_greedy_follows_the_likeliest_arcs(prediction):
    """The decoding of training follows the likeliest free arcs and overloads."""
    decoded, loads = pseudo_greedy(prediction(ARCS, 3, 2), DEMANDS)
    assert to_plans(decoded)[0] == ff.Plan([[1, 2, 3]])
    assert loads.tolist() == [[9, 0]]


def test_strict_greedy_masks_what_no_longer_fits(prediction):
    """With room for 6, customer 1 is followed by 3 at once: 2 no longer fits."""
    arcs = {**ARCS, (0, 1, 3): 0.1, (1, 0, 2): 0.3}
    capacity = torch.tensor([6])
    decoded = strict_greedy(prediction(arcs, 3, 2), DEMANDS, capacity)
    assert to_plans(decoded)[0] == ff.Plan([[1, 3], [2]])
    assert not decoded.unserved.any()


def test_a_vehicle_comes_home_when_home_is_likeliest(prediction):
    """A likelier way home ends the tour though another customer would fit."""
    arcs = {(0, 0, 2): 0.9, (0, 2, 0): 0.8, (0, 2, 1): 0.7, (1, 0, 0): 0.9}
    decoded = strict_greedy(prediction(arcs, 3, 2), DEMANDS, torch.tensor([9]))
    assert to_plans(decoded)[0] == ff.Plan([[2]])
    assert decoded.unserved.tolist() == [[False, True, False, True]]


def test_a_prediction_of_nothing_serves_nobody():
    """Where every arc is ruled out all vehicles stay at the depot."""
    nothing = torch.full((1, 2, 4, 4), -torch.inf)
    decoded = strict_greedy(nothing, DEMANDS, torch.tensor([9]))
    assert decoded.routes.sum() == 0
    assert decoded.unserved.tolist() == [[False, True, True, True]]


def test_the_direction_of_a_tour_is_kept(one_hot):
    """A tour predicted backwards is decoded backwards."""
    decoded = strict_greedy(one_hot([[3, 1, 2]], 3, 2), DEMANDS, torch.tensor([9]))
    assert to_plans(decoded)[0] == ff.Plan([[3, 1, 2]])


def test_half_precision_decodes(one_hot):
    """Predictions in bfloat16 decode as those in float32 do."""
    log_probs = one_hot([[3, 1], [2]], 3, 2).bfloat16()
    decoded = strict_greedy(log_probs, DEMANDS, torch.tensor([9]))
    assert to_plans(decoded)[0] == ff.Plan([[3, 1], [2]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"demands": DEMANDS[:, :3]}, "demands has shape"),
        ({"demands": DEMANDS.float()}, "not whole units"),
        ({"demands": -DEMANDS}, "negative"),
        ({"capacity": torch.tensor([0])}, "below 1"),
        ({"log_probs": torch.zeros(2, 4, 4)}, "not \\(B, M, N', N'\\)"),
        ({"log_probs": torch.full((1, 2, 4, 4), torch.nan)}, "NaN"),
        ({"vehicles": torch.ones(1, 3, dtype=torch.bool)}, "vehicles has shape"),
    ],
)
def test_wrong_tensors_are_named(prediction, change, message):
    """A tensor of the wrong shape, kind or value is named in the error."""
    right = {
        "log_probs": prediction(ARCS, 3, 2),
        "demands": DEMANDS,
        "capacity": torch.tensor([9]),
    }
    with pytest.raises(ff.InputError, match=message):
        strict_greedy(**(right | change))
