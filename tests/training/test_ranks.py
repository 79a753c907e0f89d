"""Several processes train as one."""

from __future__ import annotations

import json

import pytest
import torch

from fixedfleet.model import Network
from fixedfleet.training import train

from .conftest import changed, run_two_ranks, state

SCRIPT = """
import json, sys
from fixedfleet.training import Preset, make_dataset, train
from tests.training.conftest import tiny_labels

preset = Preset.from_dict("tiny", json.loads(sys.argv[1]))
data = make_dataset(*tiny_labels(96))
train(preset, data, out=sys.argv[2], device="cpu", display=None)
"""


def _network(preset, folder):
    """The network of a checkpoint, before averaging."""
    network = Network(preset.model)
    prefix = "model."
    network.load_state_dict(
        {
            name.removeprefix(prefix): tensor
            for name, tensor in state(folder).items()
            if name.startswith(prefix)
        }
    )
    return network


@pytest.mark.slow
def test_two_processes_train_as_one(preset, dataset, tmp_path):
    """Shared by two processes, a batch moves the weights as it does in one."""
    short = changed(preset, steps=3)
    train(short, dataset, out=tmp_path / "one", display=None)
    run_two_ranks(SCRIPT, tmp_path, json.dumps(short.to_dict()), tmp_path / "two")
    # Predictions are compared: weights that the softmax ignores follow noise alone.
    features = dataset.batch(torch.arange(8)).features
    one, two = (_network(preset, tmp_path / name)(features) for name in ("one", "two"))
    assert torch.allclose(one.exp(), two.exp(), atol=1e-4)
    untrained = Network(preset.model)(features)
    assert not torch.allclose(one.exp(), untrained.exp(), atol=1e-2)
