"""Training on a tiny dataset: it learns, resumes exactly, and stops in clear words."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.cli import main
from fixedfleet.model import Network, load_model
from fixedfleet.model.weights import read_metadata, read_tensors, write_tensors
from fixedfleet.planning import MembershipOptions, decode, predicted
from fixedfleet.training import (
    NonFiniteLossError,
    list_presets,
    make_dataset,
    plan_loss,
    train,
    validate,
)
from fixedfleet.training.validation import decode_raw

from .conftest import tiny_labels


def _log(folder):
    return [
        json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()
    ]


def _losses(folder):
    return [row["loss/total"] for row in _log(folder) if "loss/total" in row]


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
    train(preset, dataset, out=tmp_path, epochs=6, settings=settings, display=None)
    losses = _losses(tmp_path)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("precision", ["bf16", "tf32", "fp32"])
def test_every_precision_trains_the_papers_network(
    preset, dataset, tmp_path, precision
):
    """The paper's network and loss train in each precision to a finite loss."""
    settings = {
        "model.pooling": "max",
        "model.numbering": "linear",
        "model.normalisation": "vehicle",
        "model.membership": False,
        "loss.loads": "hard",
        "loss.cluster_weight": 0.0,
        "training.precision": precision,
    }
    train(preset, dataset, out=tmp_path, epochs=2, settings=settings, display=None)
    losses = _losses(tmp_path)
    assert np.isfinite(losses).all()
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
    steps = [row["step"] for row in _log(part)]
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
    train(preset, dataset, out=tmp_path / "other", steps=1, display=None)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    with pytest.raises(ff.InputError, match="exists: resume it, or train into another"):
        elsewhere = tmp_path / "other" / "checkpoint.safetensors"
        train(preset, dataset, out=tmp_path, resume=elsewhere, display=None)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


def test_training_begins_with_given_weights(preset, dataset, tmp_path):
    """Given weights are what it starts from, with a new optimiser and a new count."""
    train(preset, dataset, out=tmp_path / "one", epochs=4, display=None)
    weights = tmp_path / "one" / "model.safetensors"
    lines: list[str] = []
    still = {"training.learning_rate": 0.0}
    train(
        preset,
        make_dataset(*tiny_labels(96, seed=9)),  # other labels are welcome
        out=tmp_path / "two",
        steps=1,
        weights=weights,
        settings=still,
        display=lines.append,
    )
    assert "begins with the weights of model.safetensors" in lines[0]
    state = _state(tmp_path / "two")
    for name, tensor in read_tensors(weights)[0].items():
        assert torch.equal(state[f"model.{name}"], tensor.float()), name
        assert torch.equal(state[f"average.{name}"], tensor.float()), name
        assert state[f"optimizer.step.{name}"] == 1
    metadata = read_metadata(tmp_path / "two" / "model.safetensors")
    assert json.loads(metadata["card"])["weights"] == "model.safetensors"


def test_weights_that_do_not_fit_are_refused(preset, dataset, tmp_path):
    """A network of other settings, no network, or a checkpoint besides: no training."""
    train(preset, dataset, out=tmp_path / "one", steps=1, display=None)
    weights = tmp_path / "one" / "model.safetensors"

    def begin(weights, **changes):
        train(preset, dataset, out=tmp_path, weights=weights, display=None, **changes)

    with pytest.raises(ff.InputError, match=r"model\.membership = True.*has False"):
        begin(weights, settings={"model.membership": False})
    with pytest.raises(ff.InputError, match="no network 'none'"):
        begin("none")
    with pytest.raises(ff.InputError, match="no fixedfleet network"):
        begin(tmp_path / "one" / "checkpoint.safetensors")
    with pytest.raises(ff.InputError, match="both given"):
        begin(weights, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


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


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_nonfinite_loss_stops_with_its_step(preset, dataset, tmp_path, precision):
    """A loss that is no number any more ends the training and names the step."""
    settings = {
        "training.precision": precision,
        "training.learning_rate": 1e30,
        "training.clip": 0.0,
        "training.warmup": 0,
    }
    with pytest.raises(NonFiniteLossError, match=r"since step [1-9]\d*:"):
        train(preset, dataset, out=tmp_path, epochs=8, settings=settings, display=None)


def test_ruined_weights_are_not_saved(preset, dataset, tmp_path):
    """Weights ruined by the very last step are noticed, and no file is left of them."""
    settings = {"training.learning_rate": 1e30, "training.weight_decay": 1e30}
    with pytest.raises(NonFiniteLossError, match="weights are not finite at step 1"):
        train(preset, dataset, out=tmp_path, steps=1, settings=settings, display=None)
    assert not list(tmp_path.glob("*.safetensors"))


def test_labels_of_another_size_are_refused(preset, dataset, tmp_path):
    """Labels of six customers do not go into a preset for twenty."""
    with pytest.raises(
        ff.InputError, match="have 6 customers, preset 'best20' is for 20"
    ):
        train("best20", dataset, out=tmp_path, display=None)
    with pytest.raises(ff.InputError, match="fewer than a batch"):
        settings = {"training.batch_size": 500}
        train(preset, dataset, out=tmp_path, settings=settings, display=None)


def test_too_large_a_batch_is_refused_before(preset, dataset, tmp_path, monkeypatch):
    """A batch that memory cannot hold is an error before a folder is made."""
    module = sys.modules["fixedfleet.model.predict"]  # not the function
    monkeypatch.setattr(module, "_free_bytes", lambda device: 2**10)
    with pytest.raises(ff.InputError, match=r"lower training\.batch_size"):
        train(preset, dataset, out=tmp_path / "run", display=None)
    assert not (tmp_path / "run").exists()


def test_validation_measures_what_decoding_gives(preset, dataset, tmp_path):
    """Its numbers are the means over the solved plans, and symmetries only help."""
    network = train(preset, dataset, out=tmp_path, epochs=2, display=None).network
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
    """The log has the held-out loss and its parts, as the loss itself gives them."""
    done = train(preset, dataset, out=tmp_path, display=None)
    found = [row for row in _log(tmp_path) if "validation/loss" in row]
    assert [row["step"] for row in found] == [10, 20]
    held_out = dataset.split(preset.training.validation)[1]
    batch = held_out.batch(torch.arange(len(held_out)))
    with torch.no_grad():
        parts = plan_loss(done.network(batch.features), *batch, preset.loss)
    for name, value in parts._asdict().items():
        key = "loss" if name == "total" else f"loss_{name}"
        assert found[-1][f"validation/{key}"] == pytest.approx(float(value), abs=1e-5)
    assert done.validation.losses["total"] == found[-1]["validation/loss"]


def test_validation_without_instances_is_refused(preset, dataset):
    """Rows that do not keep their instances cannot be decoded."""
    bare = dataset.with_room(1, "none")
    with pytest.raises(ff.InputError, match="keeps no instances"):
        validate(Network(preset.model), bare)


def test_training_ends_with_what_it_took(preset, dataset, tmp_path):
    """Its last line and its log have seconds an epoch and the peak of the memory."""
    lines: list[str] = []
    done = train(preset, dataset, out=tmp_path, epochs=2, display=lines.append)
    assert lines[-1].startswith("10 steps in ")
    assert lines[-1].endswith(" s an epoch of 80 labels")  # no GPU, no memory
    last = _log(tmp_path)[-1]
    assert last["epoch_seconds"] == pytest.approx(done.seconds / 2)
    assert done.epoch_seconds == last["epoch_seconds"]
    assert last["peak_GiB"] == done.peak_bytes == 0


def test_row_softmax_is_judged_by_both_arcs(preset, dataset, monkeypatch):
    """Where rows sum to one, membership is read from the arcs into a customer too."""
    assert MembershipOptions.suited_to("row").arcs == "both"
    seen = []

    def spy(*arguments, **options):
        seen.append(options["options"])
        return decode(*arguments, **options)

    monkeypatch.setattr(predicted, "decode", spy)
    rows = {"model.normalisation": "row", "loss.loads": "none"}
    config = preset.with_settings(rows | {"loss.cluster_weight": 0.0}).model
    few = dataset.instances.take(slice(4))
    for method in ("membership", "greedy"):
        decode_raw(Network(config), few, method=method, precision="fp32")
    assert seen == [MembershipOptions(arcs="both"), None]


@pytest.fixture
def command(preset, tmp_path):
    """Arguments of a training on a label file of two customers, but for --out."""
    routes = np.tile(np.array([1, 0, 2, 0], dtype=np.uint8), (40, 1))
    numbers = {"n": 2, "capacity": 30, "fleet": 2, "seed": 7, "count": 40}
    np.savez(
        tmp_path / "labels.npz", routes=routes, labelled=np.ones(40, bool), **numbers
    )
    (tmp_path / "mine.toml").write_text(
        "[two]\ncustomers = 2\n"
        "[two.model]\nwidth = 8\nhidden = 8\nlayers = 1\n"
        '[two.training]\nbatch_size = 8\nvalidation = 8\nprecision = "fp32"\n'
    )
    labels = ["--labels", str(tmp_path / "labels.npz"), "--device", "cpu"]
    return ["train", f"{tmp_path / 'mine.toml'}:two", *labels]


def test_command_line_trains_and_resumes(command, tmp_path, capsys):
    """The command trains, goes on, and begins again with the weights it left."""
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    common = [*command, "--epochs", "2"]
    assert main([*common, "--out", one, "--steps", "3"]) == 0
    assert main([*common, "--out", one, "--resume"]) == 0
    assert "resumes at step 3" in capsys.readouterr().out
    assert int(_state(tmp_path / "one")["step"]) == 8
    weights = str(tmp_path / "one" / "model.safetensors")
    assert main([*common, "--out", two, "--weights", weights, "--steps", "1"]) == 0
    assert "begins with the weights of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "model.witdh=8"], "unknown model setting 'witdh'"),
        (["--set", "training.clip=tight"], "clip is 'tight', not a number"),
        (["--set", "loss.load_weight=much"], "load_weight is 'much', not a number"),
        (["--steps", "0"], "steps is 0, not 1 or more"),
        (["--weights", "none.safetensors"], "no network 'none.safetensors'"),
        (["--labels", "none.npz"], "no labels at none.npz"),
    ],
)
def test_command_line_names_errors(command, tmp_path, capsys, arguments, message):
    """A wrong setting or file ends with 2 and one line, and leaves no folder."""
    assert main([*command, "--out", str(tmp_path / "run"), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_help_names_the_command_and_every_preset(capsys):
    """The help begins with what the user typed, and lists the presets."""
    assert main(["train", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: fixedfleet train ")
    assert all(name in shown for name in list_presets())


def test_help_does_not_load_torch():
    """The command line can be parsed and explained without PyTorch."""
    code = (
        "import sys, fixedfleet.cli;"
        "fixedfleet.cli.main(['train', '--help']);"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


def test_weights_and_resume_exclude_each_other(command, tmp_path, capsys):
    """The command line takes a checkpoint or weights, not both."""
    both = ["--resume", "--weights", "vrp20"]
    assert main([*command, "--out", str(tmp_path), *both]) == 2
    assert "not allowed with argument" in capsys.readouterr().err


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
            env=os.environ
            | common
            | {"RANK": str(rank), "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
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
        "import sys, fixedfleet.cli.networks, fixedfleet.training;"
        "heavy = {'numba', 'ortools', 'pyvrp', 'vrplib', 'ray', 'hygese'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
