"""What a training says and keeps: lines, a log, and TensorBoard where it is."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from fixedfleet.training import record as module
from fixedfleet.training import train
from fixedfleet.training.record import Record


def _log(folder):
    return [
        json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()
    ]


def test_gpu_memory_is_said_where_there_is_a_gpu(tmp_path):
    """With a GPU the last line names the memory in use at the peak."""
    lines: list[str] = []
    record = Record(tmp_path, 0, lines.append)
    record.conclusion(10, 4.0, 2.0, 80, 3 * 2**29)
    assert lines == [
        "10 steps in 4.0 s: 2.000 s an epoch of 80 labels, 1.50 GiB of GPU memory at "
        "the peak"
    ]
    assert _log(tmp_path)[0]["peak_GiB"] == 1.5


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
    monkeypatch.setattr(module, "has_tensorboard", lambda: True)
    return told


def test_tensorboard_gets_what_the_log_gets(preset, dataset, tmp_path, board):
    """Every number of the log is a scalar of the same name, step and value."""
    train(preset, dataset, out=tmp_path, steps=7, display=None)
    logged = [
        (name, value, row["step"])
        for row in _log(tmp_path)
        for name, value in row.items()
        if name != "step"
    ]
    assert board["scalars"] == logged
    assert {"loss/total", "rate"} <= {name for name, _, _ in logged}
    train(preset, dataset, out=tmp_path, resume=True, display=None)
    # What a killed training wrote after its checkpoint is not shown twice.
    assert board["opened"] == [(tmp_path, 1), (tmp_path, 8)]
    assert board["closed"] == [True, True]


def test_without_tensorboard_the_log_is_all(preset, dataset, tmp_path, monkeypatch):
    """TensorBoard is no requirement: without it the log is written all the same."""
    monkeypatch.setattr(module, "has_tensorboard", lambda: False)
    train(preset, dataset, out=tmp_path, steps=5, display=None)
    assert _log(tmp_path)
    assert not list(tmp_path.glob("events*"))
