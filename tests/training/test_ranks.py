"""Several processes train as one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fixedfleet.model import Network, collate

from .conftest import changed, state, train

pytestmark = pytest.mark.slow

SCRIPT = """
import json, sys
from fixedfleet.training import Preset, train
from tests.training.conftest import tiny_labels

preset = Preset.from_dict("tiny", json.loads(sys.argv[1]))
labels = tiny_labels(96)
print("ready", flush=True)
train(preset, labels, out=sys.argv[2], device="cpu", display=None)
"""


def _free_port():
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture(scope="module")
def short(preset):
    """A training of two steps: rounding grows with each further one."""
    return changed(preset, steps=2)


@pytest.fixture(scope="module")
def two(short, labels, tmp_path_factory):
    """The folder of a training by this process and another, as torchrun starts them."""
    folder = tmp_path_factory.mktemp("two")
    root = Path(__file__).parents[2]
    places = {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": _free_port(),
    }
    path = {"PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}", "RANK": "1"}
    other = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, json.dumps(short.to_dict()), folder],
        env=os.environ | places | path,
        stdout=subprocess.PIPE,
        text=True,
    )
    with other, pytest.MonkeyPatch.context() as patch:
        try:
            assert other.stdout.readline() == "ready\n"  # or this process would wait
            for name, value in {**places, "RANK": "0"}.items():
                patch.setenv(name, value)
            train(short, labels, out=folder, device="cpu", display=None)
            assert other.wait(60) == 0
        finally:
            other.kill()
    return folder


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


def test_two_processes_train_as_one(short, labels, two, tmp_path):
    """Shared by two processes, a batch moves the weights as it does in one."""
    train(short, labels, out=tmp_path, display=None)
    # Predictions are compared: weights that the softmax ignores follow noise alone.
    features = collate(labels[0][:8]).features
    places = (tmp_path, two)
    one, shared = (_network(short, folder)(features).exp() for folder in places)
    assert torch.allclose(one, shared, atol=1e-4)
    untrained = Network(short.model)(features).exp()
    assert not torch.allclose(one, untrained, atol=1e-2)
