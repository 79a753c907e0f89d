"""The log of a training: a file, and TensorBoard where it is installed."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from .conftest import changed, read_log, train


@pytest.fixture
def board(monkeypatch):
    """What TensorBoard is told, whether it is installed or not."""
    told: dict[str, list] = {"opened": [], "scalars": [], "closed": []}

    class SummaryWriter:
        def __init__(self, folder, purge_step):
            told["opened"].append((Path(folder), purge_step))

        def add_scalar(self, name, value, step):
            told["scalars"].append((name, value, step))

        def close(self):
            told["closed"].append(True)

    stub = types.ModuleType("torch.utils.tensorboard")
    stub.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stub)
    return told


@pytest.mark.slow
def test_tensorboard_gets_what_the_log_gets(preset, labels, tmp_path, board):
    """Every number of the log is a scalar of the same name, step and value."""
    train(changed(preset, steps=7), labels, out=tmp_path, display=None)
    logged = [
        (name, value, row["step"])
        for row in read_log(tmp_path)
        for name, value in row.items()
        if name != "step"
    ]
    assert board["scalars"] == logged
    assert {"loss/total", "rate"} <= {name for name, _, _ in logged}
    train(preset, labels, out=tmp_path, resume=True, display=None)
    # What a killed training wrote after its checkpoint is not shown twice.
    assert board["opened"] == [(tmp_path, 1), (tmp_path, 8)]
    assert board["closed"] == [True, True]


@pytest.mark.slow
def test_without_tensorboard_the_log_is_all(preset, labels, tmp_path, monkeypatch):
    """TensorBoard is optional: the log is written without it."""
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    train(changed(preset, steps=5), labels, out=tmp_path, display=None)
    assert read_log(tmp_path)
    assert not list(tmp_path.glob("events*"))
