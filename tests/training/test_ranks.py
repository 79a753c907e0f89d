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

from fixedfleet.model import Network
from fixedfleet.training import fresh, train

from .conftest import changed, losses, state
from .test_fresh import recipe

pytestmark = pytest.mark.slow

CHUNK = 24  # rows that a process labels at a time
SCRIPT = f"""
import json, os, sys
from fixedfleet.training import Preset, fresh, make_dataset, train
from tests.training.conftest import tiny_labels
from tests.training.test_fresh import recipe

preset = Preset.from_dict("tiny", json.loads(sys.argv[1]))
data, common = make_dataset(*tiny_labels(96)), {{"device": "cpu", "display": None}}
train(preset, data, out=sys.argv[2] + "/given", **common)
os.environ["MASTER_PORT"] = sys.argv[3]  # the first port may still be in use
fresh._CHUNK = {CHUNK}
train(preset, fresh=recipe(), out=sys.argv[2] + "/fresh", **common)
"""


def _free_ports(count):
    """Ports that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for free in sockets:
        free.bind(("127.0.0.1", 0))
    ports = [str(free.getsockname()[1]) for free in sockets]
    for free in sockets:
        free.close()
    return ports


@pytest.fixture(scope="module")
def short(preset):
    """A training of five steps."""
    return changed(preset, steps=5)


@pytest.fixture(scope="module")
def two(short, tmp_path_factory):
    """The folder of trainings by two processes, started as torchrun would."""
    folder = tmp_path_factory.mktemp("two")
    script, ports = folder / "ranks.py", _free_ports(2)
    script.write_text(SCRIPT)
    root = Path(__file__).parents[2]
    places = {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": ports[0],
        "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}",
    }
    arguments = [script, json.dumps(short.to_dict()), folder, ports[1]]
    running = [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env=os.environ | places | {"RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    errors = [process.communicate(timeout=240)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], errors
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


def test_two_processes_train_as_one(short, dataset, two, tmp_path):
    """Shared by two processes, a batch moves the weights as it does in one."""
    train(short, dataset, out=tmp_path, display=None)
    # Predictions are compared: weights that the softmax ignores follow noise alone.
    features = dataset.batch(torch.arange(8)).features
    places = (tmp_path, two / "given")
    one, shared = (_network(short, folder)(features).exp() for folder in places)
    assert torch.allclose(one, shared, atol=1e-4)
    untrained = Network(short.model)(features).exp()
    assert not torch.allclose(one, untrained, atol=1e-2)


def test_two_processes_share_the_labelling(short, two, tmp_path, monkeypatch):
    """Each process labels its part, and both train on all of it."""
    monkeypatch.setattr(fresh, "_CHUNK", CHUNK)
    train(short, fresh=recipe(), out=tmp_path, device="cpu", display=None)
    assert losses(two / "fresh") == pytest.approx(losses(tmp_path), abs=1e-4)
