"""Validation: figures of decoded plans, and the loss of the labels held out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import Network
from fixedfleet.planning import decode, predict, pseudo_greedy
from fixedfleet.planning.tours import tour_loads
from fixedfleet.training import plan_loss, train, validate, validation

from .conftest import CAPACITY, changed, read_log


@pytest.mark.slow
def test_validation_measures_what_decoding_gives(preset, dataset, tmp_path):
    """Its numbers are the means over the instances with a feasible plan."""
    short = changed(preset, epochs=2)
    network = train(short, dataset, out=tmp_path, display=None).network
    prediction = predict(dataset.instances, network, precision="fp32")
    plans = decode(prediction)
    solved = plans.feasible(dataset.instances)
    loads = tour_loads(pseudo_greedy(prediction), prediction.demands)
    found = validate(network, dataset, preset.loss, precision="fp32")
    assert found.solved == solved.mean() > 0
    lengths = plans.lengths(dataset.instances)
    assert found.length == pytest.approx(lengths[solved].mean())
    assert found.vehicles == pytest.approx(plans.vehicles()[solved].mean())
    excess = (loads / CAPACITY - 1).clamp_min(0)
    assert found.violation == pytest.approx(float(excess.mean()))
    labels = ff.PlanBatch(dataset.routes.numpy()).lengths(dataset.instances)
    assert found.label_length == pytest.approx(labels[solved].mean())


def test_validation_in_parts_is_the_same(preset, dataset, monkeypatch):
    """How many instances are predicted at a time does not change the figures."""
    network = Network(preset.model)
    whole = validate(network, dataset, preset.loss, precision="fp32").to_dict()
    monkeypatch.setattr(validation, "_BATCH_SIZE", 40)
    parts = validate(network, dataset, preset.loss, precision="fp32").to_dict()
    assert parts == pytest.approx(whole, abs=1e-5)


@pytest.mark.slow
def test_validation_reports_the_loss_of_the_held_out_labels(preset, dataset, tmp_path):
    """The log has the held-out loss and its terms, as the loss itself gives them."""
    done = train(preset, dataset, out=tmp_path, display=None)
    found = read_log(tmp_path, "validation/loss")
    assert [row["step"] for row in found] == [10, 20]
    held_out = dataset.split(preset.training.validation)[1]
    batch = held_out.batch(torch.arange(len(held_out)))
    with torch.no_grad():
        parts = plan_loss(done.network(batch.features), batch, preset.loss)
    for name, value in parts.items():
        key = "loss" if name == "total" else f"loss_{name}"
        assert found[-1][f"validation/{key}"] == pytest.approx(float(value), abs=1e-5)
    assert done.validation.losses["total"] == found[-1]["validation/loss"]


def test_validation_without_instances_is_refused(preset, dataset):
    """Rows that do not keep their instances cannot be decoded."""
    with pytest.raises(ff.InputError, match="keeps no instances"):
        validate(Network(preset.model), replace(dataset, instances=None), preset.loss)
