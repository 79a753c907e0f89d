"""Predictions: their tensors are checked, and they know what was predicted."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.model import ModelConfig, Network
from fixedfleet.planning import decode, predict, predict_views

from .conftest import log_of, make_prediction

DEMANDS = torch.tensor([[0, 4, 3, 2]])


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
def test_wrong_tensors_are_named(change, message):
    """A tensor of the wrong shape, type or value is named in the error."""
    right = make_prediction(log_of({}, 3, 2), DEMANDS, 9)
    with pytest.raises(ff.InputError, match=message):
        decode(dataclasses.replace(right, **change))


@pytest.mark.parametrize(
    ("normalisation", "row_sum"), [("row", "constant"), ("joint", "probability")]
)
def test_a_prediction_knows_its_normalisation(normalisation, row_sum):
    """Decoders learn what the sums of Ŷ mean from the prediction."""
    config = ModelConfig(width=8, hidden=8, layers=1, normalisation=normalisation)
    instances = generate.uniform(20, 2, seed=1)
    assert predict(Network(config), instances).row_sum == row_sum


def test_the_first_view_is_the_prediction_itself():
    """Symmetries give other predictions of the same instances; the first is none."""
    torch.manual_seed(0)
    network = Network(ModelConfig(width=8, hidden=8, layers=1)).eval()
    instances = generate.uniform(20, 2, seed=1)
    views = list(predict_views(network, instances, 8))
    assert len(views) == 8
    assert torch.equal(views[0].log_probs, predict(network, instances).log_probs)
    assert not torch.equal(views[1].log_probs, views[0].log_probs)
    assert torch.allclose(views[1].distances, views[0].distances, atol=1e-6)
