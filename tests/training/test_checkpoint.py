"""Checkpoints: a training resumes exactly, or the reason why it cannot is named."""

from __future__ import annotations

import json

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model.weights import read_metadata, read_tensors, write_tensors
from fixedfleet.training.checkpoint import CHECKPOINT

from .conftest import (
    assert_same_state,
    changed,
    read_log,
    state,
    tiny_labels,
    train,
)

pytestmark = pytest.mark.slow  # any optimiser has torch load its compiler: 2 s


@pytest.fixture(scope="module")
def whole(preset, labels, tmp_path_factory):
    """The folder of a training that was never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    train(preset, labels, out=folder, display=None)
    return folder


def _resume(preset, labels, folder, display=None):
    return train(preset, labels, out=folder, resume=True, display=display)


@pytest.mark.parametrize("steps", [5, 7])
def test_stopped_and_resumed_equals_uninterrupted(
    preset, labels, whole, tmp_path, steps
):
    """Stopped at the end of an epoch or within one, a training continues exactly."""
    stopped = train(changed(preset, steps=steps), labels, out=tmp_path, display=None)
    assert not stopped.finished
    assert stopped.steps == steps
    _resume(preset, labels, tmp_path)
    assert_same_state(whole, tmp_path)


@pytest.mark.parametrize("steps", [6, 8])
def test_the_losses_of_a_resumed_epoch_are_of_all_its_steps(
    preset, labels, whole, tmp_path, steps
):
    """A resumed epoch is logged as it would have been without the interruption."""
    train(changed(preset, steps=steps), labels, out=tmp_path, display=None)
    train(changed(preset, steps=9), labels, out=tmp_path, resume=True, display=None)
    _resume(preset, labels, tmp_path)
    ends = {row["step"]: row for row in read_log(tmp_path, "loss/total")}
    for row in read_log(whole, "loss/total"):
        for name in ("loss/total", "loss/edges", "learning_rate"):
            assert ends[row["step"]][name] == row[name], name


def test_killed_training_resumes_from_its_last_checkpoint(
    preset, labels, whole, tmp_path
):
    """Killed without warning after a checkpoint, nothing before it is lost."""

    def die(line):
        if "epoch 3" in line:
            raise SystemExit("killed")

    train(changed(preset, steps=7), labels, out=tmp_path, display=None)
    with pytest.raises(SystemExit):
        _resume(preset, labels, tmp_path, die)
    _resume(preset, labels, tmp_path)
    assert_same_state(whole, tmp_path)
    steps = [row["step"] for row in read_log(tmp_path)]
    assert steps == sorted(steps)


def test_interrupted_training_saves_what_it_has(preset, labels, whole, tmp_path):
    """Ctrl-C leaves a checkpoint of the very step, from which it continues exactly."""

    def interrupt(line):
        if line.startswith("epoch 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(preset, labels, out=tmp_path, display=interrupt)
    _resume(preset, labels, tmp_path)
    assert_same_state(whole, tmp_path)


def test_checkpoints_are_not_overwritten_silently(preset, labels, tmp_path):
    """A folder with a checkpoint is only trained into by resuming that checkpoint."""
    train(changed(preset, steps=1), labels, out=tmp_path, display=None)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(ff.InputError, match="exists: resume it, or train into another"):
        train(preset, labels, out=tmp_path, display=None)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


def test_checkpoints_that_do_not_match_are_refused(preset, labels, tmp_path):
    """Other settings, another seed, other labels, another size: each is named."""
    train(changed(preset, steps=2), labels, out=tmp_path, display=None)
    path = tmp_path / CHECKPOINT

    def resume(data=labels, seed=0, settings=None):
        other = preset.with_settings(settings or {})
        train(other, data, out=tmp_path, resume=True, seed=seed, display=None)

    with pytest.raises(ff.InputError, match=r"made with model\.width = 16.*has 8"):
        resume(settings={"model.width": 8})
    with pytest.raises(ff.InputError, match="made with seed 0"):
        resume(seed=5)
    with pytest.raises(ff.InputError, match="labels' fingerprint"):
        resume(tiny_labels(96, seed=9))
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


def test_a_checkpoint_without_the_newer_settings_is_resumed(
    preset, labels, whole, tmp_path
):
    """A checkpoint from before the budget was a setting continues exactly."""
    train(changed(preset, steps=7), labels, out=tmp_path, display=None)
    path = tmp_path / CHECKPOINT
    tensors, metadata = read_tensors(path)
    settings = json.loads(metadata["preset"])
    del settings["training"]["minutes"], settings["training"]["steps"]
    write_tensors(path, tensors, metadata | {"preset": json.dumps(settings)})
    _resume(preset, labels, tmp_path)
    assert_same_state(whole, tmp_path)


def test_training_starts_with_given_weights(preset, labels, whole, tmp_path):
    """Given weights are what it starts from, with a new optimiser and a new count."""
    weights = whole / "model.safetensors"
    lines: list[str] = []
    train(
        changed(preset, steps=1, learning_rate=0.0),
        tiny_labels(96, seed=9),  # other labels are allowed
        out=tmp_path,
        weights=weights,
        display=lines.append,
    )
    assert "begins with the weights of model.safetensors" in lines[0]
    found = state(tmp_path)
    for name, tensor in read_tensors(weights)[0].items():
        assert torch.equal(found[f"model.{name}"], tensor.float()), name
        assert torch.equal(found[f"average.{name}"], tensor.float()), name
        assert found[f"optimizer.step.{name}"] == 1
    metadata = read_metadata(tmp_path / "model.safetensors")
    assert json.loads(metadata["card"])["weights"] == "model.safetensors"


def test_weights_that_do_not_fit_are_refused(preset, labels, whole, tmp_path):
    """A network of other settings, no network, or a checkpoint besides: no training."""
    weights, checkpoint = whole / "model.safetensors", whole / CHECKPOINT

    def begin(weights, settings=None, resume=False):
        other = preset.with_settings(settings or {})
        out = tmp_path / "run"
        train(other, labels, out=out, weights=weights, resume=resume, display=None)

    with pytest.raises(ff.InputError, match=r"model\.width = 16.*has 8"):
        begin(weights, {"model.width": 8})
    with pytest.raises(ff.InputError, match="no network 'none'"):
        begin("none")
    with pytest.raises(ff.InputError, match="not a fixedfleet network"):
        begin(checkpoint)
    with pytest.raises(ff.InputError, match="both given"):
        begin(weights, resume=True)
    assert not list(tmp_path.iterdir())
