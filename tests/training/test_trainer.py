"""Training on a few labels: it learns, is reproducible, and stops in clear words."""

from __future__ import annotations

import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import Network, UniversalNetwork, load_model
from fixedfleet.model.weights import read_metadata
from fixedfleet.training import NonFiniteLossError, get_preset, trainer
from fixedfleet.training.trainer import learning_rate
from fixedfleet.training.training_data import SHAPES, step_size

from .conftest import changed, losses, read_log, state, train

pytestmark = pytest.mark.slow  # any optimiser has torch load its compiler: 2 s


def test_training_lowers_the_loss(preset, labels, tmp_path):
    """After a few epochs the loss is clearly below the first epoch's."""
    result = train(changed(preset, epochs=25), labels, out=tmp_path, display=None)
    found = losses(tmp_path)
    assert found[-1] < 0.8 * found[0]
    assert result.finished
    assert result.epochs == 25
    assert result.validation.solved > 0.5
    assert load_model(tmp_path / "model.safetensors").config == preset.model


def test_a_universal_network_learns_from_labels_of_all_sizes(tmp_path):
    """Label files of two sizes, and groups of their tours, lower the loss."""
    paths = [tmp_path / "six.npz", tmp_path / "eight.npz"]
    for path, n in zip(paths, (6, 8), strict=True):
        alone = np.ravel([[customer, 0] for customer in range(1, n + 1)])
        facts = {"n": n, "capacity": 9, "fleet": n, "seed": 7, "count": 40}
        routes, labelled = np.tile(alone, (40, 1)), np.ones(40, dtype=bool)
        np.savez(path, routes=routes, labelled=labelled, iterations=1, **facts)
    small = {"width": 16, "hidden": 16, "heads": 2, "layers": 1, "rounds": 1}
    settings = {f"model.{name}": value for name, value in small.items()}
    brief = get_preset("universal").with_settings(settings)
    brief = changed(brief, batch_size=2, validation=8, epochs=2, warmup=1, parts=1)
    lines: list[str] = []
    result = train(brief, paths, out=tmp_path / "run", display=lines.append)
    assert losses(tmp_path / "run")[-1] < losses(tmp_path / "run")[0]
    assert (result.finished, result.validation.solved) == (True, 1.0)
    assert "begins: 72 labels and 72 groups of their tours of up to 8 " in lines[0]
    assert lines[-1].endswith("per epoch of 72 labels and 72 groups of their tours")
    metadata = read_metadata(tmp_path / "run" / "model.safetensors")
    card = json.loads(metadata["card"])
    assert (card["labels"], card["groups"]) == (72, 72)
    assert load_model(tmp_path / "run" / "model.safetensors").config == brief.model


def test_softassign_learns_too(preset, labels, tmp_path):
    """SoftAssign lowers the loss as well."""
    settings = {
        "model.normalisation": "softassign",
        "training.epochs": 6,
    }
    train(preset.with_settings(settings), labels, out=tmp_path, display=None)
    found = losses(tmp_path)
    assert found[-1] < found[0]


@pytest.mark.parametrize("precision", ["bf16", "tf32", "fp32"])
def test_every_precision_trains_the_papers_network(preset, labels, tmp_path, precision):
    """The paper's network and loss train in each precision to a finite loss."""
    short = changed(preset, epochs=2, precision=precision)
    train(short, labels, out=tmp_path, display=None)
    found = losses(tmp_path)
    assert np.isfinite(found).all()
    assert found[-1] < found[0]


@pytest.mark.parametrize("precision", ["tf32", "fp32"])
def test_torch_keeps_its_precision_of_matrix_products(
    preset, labels, tmp_path, monkeypatch, precision
):
    """A training from Python sets its own precision and restores that of the caller."""
    during = set()
    monkeypatch.setattr(
        trainer._Trainer,
        "_learning_rate",
        lambda self: during.add(torch.get_float32_matmul_precision()) or 0.1,
    )
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        short = changed(preset, steps=1, precision=precision)
        train(short, labels, out=tmp_path, display=None)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    assert during == {"highest" if precision == "fp32" else "high"}


def test_a_budget_in_minutes_replaces_the_epochs(preset, labels, tmp_path):
    """A budget of almost no time ends after one step, whatever the epochs."""
    short = changed(preset, minutes=1e-9)
    result = train(short, labels, out=tmp_path, display=None)
    assert result.finished
    assert result.steps == 1


def test_a_cpu_looks_at_the_budget_after_every_step(
    preset, labels, tmp_path, monkeypatch
):
    """If a step takes a minute, three minutes end after three of five steps."""
    minutes = itertools.count()  # the clock is read twice for each step
    clock = SimpleNamespace(perf_counter=lambda: 30.0 * next(minutes))
    monkeypatch.setattr(trainer, "time", clock)
    clock.monotonic = lambda: 0.0
    lines: list[str] = []
    timed = changed(preset, minutes=3.0)
    result = train(timed, labels, out=tmp_path, display=lines.append)
    assert (result.finished, result.steps) == (True, 3)
    assert re.fullmatch(
        r"step 1: loss \d+\.\d+, 60\.00 s; an epoch of 5 such steps takes 5\.0 min",
        lines[1],
    )


def test_a_cpu_is_warned_of_a_batch_for_a_gpu(preset, labels, tmp_path, monkeypatch):
    """The warning comes before the first step and says which batch to take."""
    lines: list[str] = []
    one = changed(preset, steps=1)
    train(one, labels, out=tmp_path / "a", display=lines.append)
    assert "warning" not in lines[1]
    weights = sum(p.numel() for p in Network(preset.model).parameters())
    half = 6 * weights * 8 * (7 + 3)  # operations on eight of sixteen instances
    monkeypatch.setattr(trainer, "_CPU_WORK", half)
    lines.clear()
    train(one, labels, out=tmp_path / "b", display=lines.append)
    assert lines[1].startswith("warning: a step has up to 16 instances")
    assert lines[1].endswith("set training.batch_size to 8 or less")
    assert lines[2].startswith("step 1: ")


def test_the_batch_to_take_on_a_cpu_is_small_enough(labels, tmp_path, monkeypatch):
    """Where labels are fewer than a batch, the advice is still below their number."""
    small = {"width": 16, "hidden": 16, "heads": 2, "layers": 1, "rounds": 1}
    settings = {f"model.{name}": value for name, value in small.items()}
    brief = get_preset("universal").with_settings(settings)
    brief = changed(brief, batch_size=64, validation=16, steps=1, parts=0)
    weights = sum(p.numel() for p in UniversalNetwork(brief.model).parameters())
    monkeypatch.setattr(trainer, "_CPU_WORK", 6 * weights * 64 * 32)
    lines: list[str] = []
    train(brief, labels, out=tmp_path, display=lines.append)
    assert "a step has up to 80 instances" in lines[1]
    assert lines[1].endswith("to 8 or less")  # a batch of 64 has 512 small instances
    assert step_size(8, SHAPES[0]) == 64


def test_the_learning_rate_follows_warm_up_and_budget(preset):
    """It rises over the warm-up and falls to nothing at the end of the budget."""
    config = preset.training  # cosine, three steps of warm-up
    assert learning_rate(config, 0, 0.0) == pytest.approx(5e-3 / 3)
    assert learning_rate(config, 3, 0.0) == pytest.approx(5e-3)
    assert learning_rate(config, 10, 0.5) == pytest.approx(2.5e-3)
    assert learning_rate(config, 20, 1.0) == pytest.approx(0, abs=1e-9)
    constant = changed(preset, schedule="constant").training
    assert learning_rate(constant, 20, 1.0) == 5e-3


def test_same_seed_same_weights(preset, labels, tmp_path):
    """The same seed trains the same weights, another seed others."""
    short = changed(preset, epochs=1)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(short, labels, out=tmp_path / name, seed=seed, display=None)
    one, two, three = (state(tmp_path / name) for name in "abc")
    key = "model.embed_depot.weight"
    assert torch.equal(one[key], two[key])
    assert not torch.equal(one[key], three[key])


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_nonfinite_loss_stops_with_its_step(preset, labels, tmp_path, precision):
    """A loss that is not finite ends the training and names the step."""
    diverging = changed(
        preset, precision=precision, learning_rate=1e30, clip=0.0, warmup=0, epochs=8
    )
    with pytest.raises(NonFiniteLossError, match=r"since step [1-9]\d*:"):
        train(diverging, labels, out=tmp_path, display=None)


def test_ruined_weights_are_not_saved(preset, labels, tmp_path):
    """Weights ruined by the very last step are noticed, and no file is left of them."""
    ruinous = changed(preset, learning_rate=1e30, weight_decay=1e30, steps=1)
    with pytest.raises(NonFiniteLossError, match="weights are not finite at step 1"):
        train(ruinous, labels, out=tmp_path, display=None)
    assert not list(tmp_path.glob("*.safetensors"))


def test_labels_of_another_size_are_refused(preset, labels, tmp_path):
    """Labels of six customers do not go into a preset for twenty."""
    with pytest.raises(
        ff.InputError, match="have 6 customers, preset 'paper20' is for 20"
    ):
        train("paper20", labels, out=tmp_path, display=None)
    with pytest.raises(ff.InputError, match="fewer than a batch"):
        train(changed(preset, batch_size=500), labels, out=tmp_path, display=None)


@pytest.mark.parametrize("device", ["cuda:99", "tpu"])
def test_a_device_that_is_not_there_is_refused(preset, labels, tmp_path, device):
    """A device that torch does not find is named before a folder is made."""
    with pytest.raises(ff.InputError, match=f"device '{device}' was|is '{device}', n"):
        train(preset, labels, out=tmp_path / "run", device=device, display=None)
    assert not (tmp_path / "run").exists()


def test_frozen_weights_stay_as_they_are(preset, labels, tmp_path):
    """Weights whose names begin as `training.freeze` says are not trained."""
    torch.manual_seed(0)
    before = Network(preset.model)
    done = train(changed(preset, freeze="embed,priming"), labels, out=tmp_path)
    same = {
        name.partition(".")[0]
        for name, weight in done.network.named_parameters()
        if torch.equal(weight, before.get_parameter(name))
    }
    assert {"embed_depot", "embed_customer", "embed_vehicle", "priming"} <= same
    assert "decoder" not in same


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("embed,tail", "no weight's name begins with 'tail': choose from decoder, em"),
        ("embed,priming,layers,decoder", "leaves no weight to train"),
    ],
)
def test_what_cannot_be_frozen_is_refused(preset, labels, tmp_path, names, said):
    """A name that no weight has, and a training of nothing, are errors."""
    with pytest.raises(ff.InputError, match=said):
        train(changed(preset, freeze=names), labels, out=tmp_path)


def test_too_large_a_batch_is_refused_before(preset, labels, tmp_path, monkeypatch):
    """A batch that memory cannot hold is an error before a folder is made."""
    monkeypatch.setattr(Network, "required_bytes", lambda *_: 2**60)
    with pytest.raises(ff.InputError, match=r"lower training\.batch_size"):
        train(preset, labels, out=tmp_path / "run", display=None)
    assert not (tmp_path / "run").exists()


def test_training_ends_with_what_it_took(preset, labels, tmp_path):
    """Its last line and its log have seconds per epoch and the peak of the memory."""
    lines: list[str] = []
    short = changed(preset, epochs=2)
    done = train(short, labels, out=tmp_path, display=lines.append)
    assert lines[-1].startswith("10 steps in ")
    assert lines[-1].endswith(" s per epoch of 80 labels")  # no GPU, no memory
    last = read_log(tmp_path)[-1]
    assert last["epoch_seconds"] == pytest.approx(done.seconds / 2)
    assert last["peak_GiB"] == 0


def test_gpu_memory_is_reported_where_there_is_a_gpu(
    preset, labels, tmp_path, monkeypatch
):
    """With a GPU the last line names the memory in use at the peak."""
    monkeypatch.setattr(
        "fixedfleet.training.ranks.Ranks.peak_bytes", lambda self: 3 * 2**29
    )
    lines: list[str] = []
    train(changed(preset, steps=2), labels, out=tmp_path, display=lines.append)
    assert lines[-1].endswith(" labels, 1.50 GiB of GPU memory at the peak")
    assert read_log(tmp_path)[-1]["peak_GiB"] == 1.5


def test_a_training_on_a_cpu_computes_in_calm_threads(
    preset, labels, tmp_path, monkeypatch
):
    """Without a decision of the user, steps on a busy CPU do not wait in loops."""
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    seen = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    one = preset.with_settings({"training.steps": 1})
    train(one, labels, out=tmp_path / "run", display=None)
    assert (seen[0], seen[-1]) == (1, 3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_captured_step_trains_as_any_other(preset, labels, tmp_path):
    """On a GPU, the losses are the same if the step is compiled and if it is not."""
    for compiled in (True, False):
        train(
            changed(preset, compile=compiled, precision="fp32"),
            labels,
            out=tmp_path / str(compiled),
            device="cuda",
            display=None,
        )
    captured, plain = losses(tmp_path / "True"), losses(tmp_path / "False")
    assert captured == pytest.approx(plain, rel=1e-3)
