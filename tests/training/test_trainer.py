"""Training on a tiny dataset: it learns, resumes exactly, and stops in clear words."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import Network, load_model
from fixedfleet.model.weights import read_tensors, write_tensors
from fixedfleet.training import NonFiniteLossError, make_dataset, train, validate
from fixedfleet.training.__main__ import main

from .conftest import tiny_labels


def _losses(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [row["loss/total"] for row in map(json.loads, lines) if "loss/total" in row]


def _state(folder):
    return read_tensors(folder / "checkpoint.safetensors")[0]


def _network(preset, folder):
    network = Network(preset.model)
    prefix = "model."
    weights = {
        k[len(prefix) :]: v for k, v in _state(folder).items() if k[:6] == prefix
    }
    network.load_state_dict(weights)
    return network


def test_training_lowers_the_loss(preset, dataset, tmp_path):
    """After a few epochs the loss is clearly below the first epoch's."""
    result = train(preset, dataset, out=tmp_path, epochs=25, display=None)
    losses = _losses(tmp_path)
    assert losses[-1] < 0.8 * losses[0]
    assert result.finished
    assert result.epochs == 25
    assert result.validation.solved > 0.5
    assert load_model(tmp_path / "model.safetensors").config == preset.model


@pytest.mark.parametrize("normalisation", ["vehicle", "softassign"])
def test_paper_network_learns_too(preset, dataset, tmp_path, normalisation):
    """Max pooling with hard loads lowers the loss as well."""
    settings = {
        "model.pooling": "max",
        "model.numbering": "linear",
        "model.normalisation": normalisation,
        "model.softassign_iterations": 3,
        "loss.loads": "hard",
        "loss.cluster_weight": 0.0,
    }
    plain = preset.with_settings({"loss.loads": "none", "loss.cluster_weight": 0.0})
    train(plain, dataset, out=tmp_path, epochs=6, settings=settings, display=None)
    losses = _losses(tmp_path)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("steps", [5, 7])
def test_stopped_and_resumed_equals_uninterrupted(preset, dataset, tmp_path, steps):
    """Stopped at the end of an epoch or within one, a training goes on exactly."""
    train(preset, dataset, out=tmp_path / "whole", display=None)
    part = tmp_path / "part"
    stopped = train(preset, dataset, out=part, steps=steps, display=None)
    assert not stopped.finished
    assert stopped.steps == steps
    train(preset, dataset, out=part, resume=True, display=None)
    whole, resumed = _state(tmp_path / "whole"), _state(part)
    assert whole.keys() == resumed.keys()
    for name, tensor in whole.items():
        assert torch.equal(tensor, resumed[name]), name


def test_killed_training_resumes_from_its_last_checkpoint(preset, dataset, tmp_path):
    """Killed without warning after a checkpoint, nothing before it is lost."""

    def die(line):
        if "epoch 3" in line:
            raise SystemExit("killed")

    train(preset, dataset, out=tmp_path / "whole", display=None)
    part = tmp_path / "part"
    train(preset, dataset, out=part, steps=7, display=None)
    with pytest.raises(SystemExit):
        train(preset, dataset, out=part, resume=True, display=die)
    train(preset, dataset, out=part, resume=True, display=None)
    for name, tensor in _state(tmp_path / "whole").items():
        assert torch.equal(tensor, _state(part)[name]), name
    steps = [
        json.loads(x)["step"] for x in (part / "log.jsonl").read_text().splitlines()
    ]
    assert steps == sorted(steps)


def test_interrupted_training_saves_what_it_has(preset, dataset, tmp_path):
    """Ctrl-C leaves a checkpoint of the very step, from which it goes on exactly."""

    def interrupt(line):
        if line.startswith("epoch 2"):
            raise KeyboardInterrupt

    train(preset, dataset, out=tmp_path / "whole", display=None)
    part = tmp_path / "part"
    with pytest.raises(KeyboardInterrupt):
        train(preset, dataset, out=part, display=interrupt)
    train(preset, dataset, out=part, resume=True, display=None)
    for name, tensor in _state(tmp_path / "whole").items():
        assert torch.equal(tensor, _state(part)[name]), name


def test_same_seed_same_weights(preset, dataset, tmp_path):
    """The same seed trains the same weights, another seed others."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(preset, dataset, out=tmp_path / name, epochs=1, seed=seed, display=None)
    one, two, three = (_state(tmp_path / name) for name in "abc")
    key = "model.embed_depot.weight"
    assert torch.equal(one[key], two[key])
    assert not torch.equal(one[key], three[key])


def test_checkpoints_are_not_overwritten_silently(preset, dataset, tmp_path):
    """Training into a folder with a checkpoint needs a word: resume, or elsewhere."""
    train(preset, dataset, out=tmp_path, steps=2, display=None)
    with pytest.raises(ff.InputError, match="exists: resume it, or train into another"):
        train(preset, dataset, out=tmp_path, display=None)


def test_checkpoints_that_do_not_match_are_refused(preset, dataset, tmp_path):
    """Other settings, another seed, other labels, another size: each is named."""
    train(preset, dataset, out=tmp_path, steps=2, display=None)

    def resume(data=dataset, seed=0, **settings):
        return train(
            preset,
            data,
            out=tmp_path,
            resume=True,
            seed=seed,
            settings=settings,
            display=None,
        )

    with pytest.raises(ff.InputError, match=r"made with model\.width = 16.*has 8"):
        resume(**{"model.width": 8})
    with pytest.raises(ff.InputError, match="made with seed 0"):
        resume(seed=5)
    with pytest.raises(ff.InputError, match="labels' fingerprint"):
        resume(make_dataset(*tiny_labels(96, seed=9)))
    path = tmp_path / "checkpoint.safetensors"
    tensors, metadata = read_tensors(path)
    write_tensors(path, tensors, metadata | {"format": "77"})
    with pytest.raises(ff.InputError, match="format '77'"):
        resume()
    tensors.pop("model.embed_depot.weight")
    write_tensors(path, tensors, metadata)
    with pytest.raises(ff.InputError, match="a checkpoint of another size"):
        resume()
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ff.InputError, match="corrupt"):
        resume()


def test_nonfinite_loss_stops_with_its_step(preset, dataset, tmp_path):
    """A loss that is no number any more ends the training and names the step."""
    settings = {
        "training.learning_rate": 1e30,
        "training.clip": 0.0,
        "training.warmup": 0,
    }
    with pytest.raises(NonFiniteLossError, match=r"since step [1-9]\d*:"):
        train(preset, dataset, out=tmp_path, epochs=8, settings=settings, display=None)


def test_labels_of_another_size_are_refused(preset, dataset, tmp_path):
    """Labels of six customers do not go into a preset for twenty."""
    with pytest.raises(
        ff.InputError, match="have 6 customers, preset 'best20' is for 20"
    ):
        train("best20", dataset, out=tmp_path, display=None)
    with pytest.raises(ff.InputError, match="fewer than a batch"):
        settings = {"training.batch_size": 500}
        train(preset, dataset, out=tmp_path, settings=settings, display=None)


def test_validation_measures_what_decoding_gives(preset, dataset, tmp_path):
    """Solved shares and lengths lie where they can, and symmetries only help."""
    network = train(preset, dataset, out=tmp_path, epochs=2, display=None).network
    one = validate(network, dataset, precision="fp32")
    many = validate(network, dataset, precision="fp32", symmetries=8)
    assert 0 <= one.solved <= many.solved <= 1
    assert 1 <= one.vehicles <= 3
    assert one.violation >= 0
    if one.solved == many.solved == 1:
        assert many.length <= one.length


def test_command_line_trains_and_names_errors(tmp_path, shared, capsys):
    """The command trains a step; a wrong setting ends with 2 and one line."""
    labels = str(shared / "labels" / "vrp20_uniform_seed7.npz")
    common = ["--labels", labels, "--out", str(tmp_path / "run"), "--device", "cpu"]
    assert main(["best20", *common, "--set", "model.witdh=8"]) == 2
    assert "unknown model setting 'witdh'" in capsys.readouterr().err
    assert main(["best20", "--labels", "none.npz", "--out", str(tmp_path)]) == 2
    assert "no labels at none.npz" in capsys.readouterr().err


def test_two_processes_train_as_one(preset, dataset, tmp_path):
    """Shared by two processes, a batch moves the weights as it does in one."""
    train(preset, dataset, out=tmp_path / "one", steps=3, display=None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = tmp_path / "share.py"
    script.write_text(
        "import json, sys\n"
        "from fixedfleet.training import Preset, make_dataset, train\n"
        "from tests.training.conftest import tiny_labels\n"
        "preset = Preset.from_dict('tiny', json.loads(sys.argv[1]))\n"
        "data = make_dataset(*tiny_labels(96))\n"
        "train(preset, data, out=sys.argv[2], steps=3, device='cpu', display=None)\n"
    )
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    root = Path(__file__).parents[2]
    processes = [
        subprocess.Popen(
            [sys.executable, script, json.dumps(preset.to_dict()), tmp_path / "two"],
            env=os.environ | common | {"RANK": str(rank), "PYTHONPATH": str(root)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    # Not the weights: those a softmax does not feel follow noise alone.
    features = dataset.batch(torch.arange(8)).features
    one, two = (_network(preset, tmp_path / name)(features) for name in ("one", "two"))
    assert torch.allclose(one.exp(), two.exp(), atol=1e-4)
    assert not torch.allclose(
        one.exp(), Network(preset.model)(features).exp(), atol=1e-2
    )


def test_training_needs_none_of_the_solvers():
    """Training imports neither Numba nor a solver nor a reader of other formats."""
    code = (
        "import sys, fixedfleet.training.__main__;"
        "heavy = {'numba', 'ortools', 'pyvrp', 'vrplib', 'ray', 'hygese'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
