"""``train`` and ``models`` as a user types them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from fixedfleet.cli import main
from fixedfleet.cli.options import parse_setting
from fixedfleet.evaluate import Results
from fixedfleet.model import NORMALISATIONS
from fixedfleet.model.weights import read_tensors
from fixedfleet.registry import user_modules
from fixedfleet.training import get_preset, list_presets

from .cli_helpers import EXAMPLE

PRESET = """
[two]
customers = 2
[two.model]
width = 8
hidden = 8
layers = 1
[two.training]
batch_size = 8
validation = 8
precision = "fp32"
"""


@pytest.fixture
def command(tmp_path):
    """Arguments of a training on a label file of two customers, except --out."""
    routes = np.tile(np.array([1, 0, 2, 0], dtype=np.uint8), (40, 1))
    numbers = {"n": 2, "capacity": 30, "fleet": 2, "seed": 7, "count": 40}
    labelled = np.ones(40, bool)
    labels = tmp_path / "labels.npz"
    np.savez(labels, routes=routes, labelled=labelled, iterations=1, **numbers)
    (tmp_path / "mine.toml").write_text(PRESET)
    preset = f"{tmp_path / 'mine.toml'}:two"
    return ["train", preset, "--labels", str(labels), "--device", "cpu"]


@pytest.mark.slow
def test_command_line_trains_and_resumes(command, tmp_path, capsys):
    """The command trains, resumes, and starts again with the weights it left."""
    one, two = (str(tmp_path / name) for name in ("one", "two"))
    common = [*command, "--epochs", "2"]
    assert main([*common, "--out", one, "--set", "training.steps=3"]) == 0
    assert main([*common, "--out", one, "--resume"]) == 0
    assert "resumes at step 3" in capsys.readouterr().out
    assert int(read_tensors(f"{one}/checkpoint.safetensors")[0]["step"]) == 8
    weights, first = f"{one}/model.safetensors", ["--set", "training.steps=1"]
    assert main([*common, "--out", two, "--weights", weights, *first]) == 0
    assert "begins with the weights of" in capsys.readouterr().out


@pytest.fixture
def forget(monkeypatch):
    """Forget the normalisations that were loaded, as another process would."""
    monkeypatch.setattr(NORMALISATIONS, "_parts", dict(NORMALISATIONS._parts))
    known = dict(NORMALISATIONS._parts)

    def forget() -> None:
        NORMALISATIONS._parts = dict(known)
        for module in user_modules():
            if Path(module.__file__).name == "own_parts.py":
                del sys.modules[module.__name__]

    yield forget
    forget()


@pytest.mark.slow
def test_a_normalisation_in_a_file_goes_with_its_network(
    command, tmp_path, capsys, monkeypatch, forget
):
    """Named again with --parts, it reaches predict, train, evaluate and its workers."""
    monkeypatch.chdir(tmp_path)
    Path("own_parts.py").write_text(
        "def sharp(scores, allowed, features):\n"
        "    return (2 * scores).flatten(2).log_softmax(2).view_as(scores)\n"
    )
    own = ["--epochs", "1", "--set", "model.normalisation=own_parts.py:sharp"]
    assert main([*command, *own, "--out", "net"]) == 0
    network, parts = "net/model.safetensors", ["--parts", "own_parts.py"]
    for line in (
        ["predict", str(EXAMPLE), "--model", network],
        [*command, "--out", "more", "--epochs", "1", "--weights", network],
        ["evaluate", "--set", "labels.npz", "--count", "2", "--results", "r"],
    ):
        if line[0] == "evaluate":
            line += ["--method", f"network:model={network}", "--processes", "1"]
        forget()
        assert main(line) == 2
        assert "own_parts.py to the command" in capsys.readouterr().err
        forget()
        again = [*own, *parts] if line[0] == "train" else parts
        assert main([*line, *again]) in (0, 4)  # 4: the plan has a fault
    assert [row.fault for row in Results("r").rows()] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "model.witdh=8"], "unknown model setting 'witdh'"),
        (["--set", "loss.weight=8"], "unknown loss setting 'weight'"),
        (["--set", "training.stepps=8"], "unknown training setting 'stepps'"),
        (["--set", "modell.width=8"], "'modell.width'"),
        (["--set", "training.clip=tight"], "training.clip is 'tight', not a number"),
        (["--set", "loss.load_weight=much"], "load_weight is 'much', not a number"),
        (
            ["--set", "training.steps=0"],
            "training.steps is 0, not a whole number",
        ),
        (["--seed", "-1"], "seed is -1, not a whole number from 0"),
        (["--minutes", "0"], "training.minutes is 0.0, not a number above 0"),
        (["--epochs", "0"], "training.epochs is 0, not a whole number of at least 1"),
        (["--weights", "none.safetensors"], "no network 'none.safetensors'"),
        (["--resume"], "checkpoint.safetensors"),
        (["--labels", "none.npz"], "none.npz"),
        (["--minutes", "1", "--epochs", "2"], "not allowed with argument"),
        (["--resume", "--weights", "vrp20"], "not allowed with argument"),
        (["--epochs", "many"], "invalid int value: 'many'"),
    ],
)
def test_command_line_names_errors(command, tmp_path, capsys, arguments, message):
    """A wrong setting or file ends with 2 and one line, and leaves no folder."""
    assert main([*command, "--out", str(tmp_path / "run"), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_interrupted_training_says_how_to_resume(command, tmp_path, capsys):
    """After Ctrl-C, one line names the checkpoint and the option --resume."""
    from fixedfleet.training import trainer

    out = str(tmp_path / "run")
    report = trainer._Trainer._report

    def press_ctrl_c(*_):
        raise KeyboardInterrupt

    trainer._Trainer._report = press_ctrl_c
    try:
        assert main([*command, "--out", out, "--epochs", "2"]) == 130
    finally:
        trainer._Trainer._report = report
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "checkpoint.safetensors holds the training so far" in error
    assert "with --resume continues it" in error
    assert main([*command, "--out", out, "--epochs", "2", "--resume"]) == 0


@pytest.mark.slow
def test_a_diverging_training_ends_with_1(command, tmp_path, capsys):
    """A loss that is not finite is no wrong input, so it has another exit code."""
    out = ["--out", str(tmp_path / "run")]
    assert main([*command, *out, "--set", "training.learning_rate=1e30"]) == 1
    assert "not finite" in capsys.readouterr().err


@pytest.mark.parametrize("precision", ["bf16", "tf32", "fp32"])
@pytest.mark.parametrize("n", [20, 50, 100])
def test_paper_presets_take_any_precision(n, precision):
    """--set training.precision=… changes the precision and nothing else."""
    name, value = parse_setting(f"training.precision={precision}")
    preset = get_preset(f"paper{n}")
    changed = preset.with_settings({name: value})
    assert changed.training == replace(preset.training, precision=precision)
    assert (changed.model, changed.loss) == (preset.model, preset.loss)


def test_help_names_the_command_and_every_preset(capsys):
    """The help begins with what the user typed, and lists the presets."""
    assert main(["train", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: fixedfleet train ")
    assert all(name in shown for name in list_presets())


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ("papper20", "unknown preset 'papper20': choose from "),
        ("none.toml:mine", "none.toml"),
    ],
)
def test_an_unknown_preset_is_named(tmp_path, capsys, preset, message):
    """A misspelt preset, or a missing file of presets, ends with 2 and one line."""
    out = str(tmp_path / "run")
    assert main(["train", preset, "--labels", "labels.npz", "--out", out]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
