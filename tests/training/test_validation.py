"""Validation: figures of decoded plans, and the loss of the labels held out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import Network
from fixedfleet.training import plan_loss, train, validate
from fixedfleet.training.validation import decode_raw

from .conftest import changed, read_log


def test_validation_measures_what_decoding_gives(preset, dataset, tmp_path):
    """Its numbers are the means over the solved plans, and symmetries only help."""
    short = changed(preset, epochs=2)
    network = train(short, dataset, out=tmp_path, display=None).network
    one = decode_raw(network, dataset.instances, precision="fp32")
    many = decode_raw(network, dataset.instances, precision="fp32", symmetries=8)
    assert (many.length <= one.length).all()
    assert (many.length < one.length).any()
    solved = np.isfinite(one.length)
    found = validate(network, dataset, precision="fp32")
    assert found.solved == solved.mean() > 0
    assert found.length == pytest.approx(one.length[solved].mean())
    assert found.vehicles == pytest.approx(one.vehicles[solved].mean())
    assert found.violation == pytest.approx(one.violation.mean())
    with pytest.raises(ff.InputError, match="symmetries is 9, not between 1 and 8"):
        decode_raw(network, dataset.instances, symmetries=9)


def test_validation_reports_the_loss_of_the_held_out_labels(preset, dataset, tmp_path):
    """The log has the held-out loss and its terms, as the loss itself gives them."""
    done = train(preset, dataset, out=tmp_path, display=None)
    found = read_log(tmp_path, "validation/loss")
    assert [row["step"] for row in found] == [10, 20]
    held_out = dataset.split(preset.training.validation)[1]
    batch = held_out.batch(torch.arange(len(held_out)))
    with torch.no_grad():
        parts = plan_loss(done.network(batch.features), batch, preset.loss)
    for name, value in parts._asdict().items():
        key = "loss" if name == "total" else f"loss_{name}"
        assert found[-1][f"validation/{key}"] == pytest.approx(float(value), abs=1e-5)
    assert done.validation.losses["total"] == found[-1]["validation/loss"]


def test_validation_without_instances_is_refused(preset, dataset):
    """Rows that do not keep their instances cannot be decoded."""
    with pytest.raises(ff.InputError, match="keeps no instances"):
        validate(Network(preset.model), dataset.with_room(1))
