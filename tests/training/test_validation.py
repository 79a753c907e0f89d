"""Validation: figures of decoded plans, and the loss of the labels held out."""

from __future__ import annotations

import pytest
import torch

from fixedfleet.model import Network
from fixedfleet.planning import decode, predict, pseudo_greedy
from fixedfleet.planning.tours import tour_loads
from fixedfleet.training import validate, validation
from fixedfleet.training.training_data import to_tensors

from .conftest import CAPACITY, changed, read_log, train


@pytest.mark.slow
def test_validation_measures_what_decoding_gives(preset, labels, tmp_path):
    """Its numbers are the means over the instances with a feasible plan."""
    short = changed(preset, epochs=2)
    network = train(short, labels, out=tmp_path, display=None).network
    instances, wanted = labels
    prediction = predict(instances, network, precision="fp32")
    plans = decode(prediction)
    solved = plans.feasible(instances)
    loads = tour_loads(pseudo_greedy(prediction), prediction.demands)
    found = validate(network, *labels, preset.loss, precision="fp32")
    assert found.solved == solved.mean() > 0
    lengths = plans.lengths(instances)
    assert found.length == pytest.approx(lengths[solved].mean())
    assert found.vehicles == pytest.approx(plans.vehicles()[solved].mean())
    excess = (loads / CAPACITY - 1).clamp_min(0)
    assert found.violation == pytest.approx(float(excess.mean()))
    lengths = wanted.lengths(instances)
    assert found.label_length == pytest.approx(lengths[solved].mean())


def test_validation_in_parts_is_the_same(preset, labels, monkeypatch):
    """How many instances are predicted at a time does not change the figures."""
    network = Network(preset.model)
    whole = validate(network, *labels, preset.loss, precision="fp32").to_dict()
    monkeypatch.setattr(validation, "_BATCH_SIZE", 40)
    parts = validate(network, *labels, preset.loss, precision="fp32").to_dict()
    assert parts == pytest.approx(whole, abs=1e-5)


@pytest.mark.slow
def test_validation_reports_the_loss_of_the_held_out_labels(preset, labels, tmp_path):
    """The log has the held-out loss and its terms, as the loss itself gives them."""
    done = train(preset, labels, out=tmp_path, display=None)
    found = read_log(tmp_path, "validation/loss")
    assert [row["step"] for row in found] == [10, 20]
    count = preset.training.validation
    batch = to_tensors(labels[0][-count:], labels[1][-count:], "cpu")
    with torch.no_grad():
        parts = preset.loss(done.network(batch.features), batch)
    for name, value in parts.items():
        key = "loss" if name == "total" else f"loss_{name}"
        assert found[-1][f"validation/{key}"] == pytest.approx(float(value), abs=1e-5)
    assert done.validation.losses["total"] == found[-1]["validation/loss"]
