"""The table of ablations: rows of their own, done once, in several processes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fixedfleet.training import get_preset

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "ablations.py"


@pytest.fixture(scope="module")
def ablations():
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("ablations", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(ablations, monkeypatch, capsys):
    """Run the benchmark in this process; it must have no row to train."""
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")

    def call(*arguments):
        code = ablations.main(list(map(str, arguments)))
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def toy(tmp_path):
    """Arguments for trainings of a tiny network on labels of two customers."""
    routes = np.tile(np.array([1, 0, 2, 0], dtype=np.uint8), (40, 1))
    numbers = {"n": 2, "capacity": 30, "fleet": 2, "seed": 7, "count": 40}
    np.savez(
        tmp_path / "labels.npz", routes=routes, labelled=np.ones(40, bool), **numbers
    )
    (tmp_path / "mine.toml").write_text(
        "[two]\ncustomers = 2\n"
        '[two.model]\nwidth = 8\nhidden = 8\nlayers = 1\nnormalisation = "joint"\n'
        'pooling = "attention"\nheads = 2\n'
        '[two.loss]\nloads = "soft"\n'
        '[two.training]\nbatch_size = 8\nvalidation = 8\nprecision = "fp32"\n'
    )
    return [
        *("--labels", tmp_path / "labels.npz", "--preset", tmp_path / "mine.toml:two"),
        *("--device", "cpu", "--count", 8, "--out", tmp_path / "out"),
    ]


def test_rows_run_side_by_side_and_once(toy, tmp_path, run):
    """Two rows at a time leave a result each, a table, and nothing to do again."""
    rows = ["--rows", "best", "paper's network and loss", "--epochs", 1]
    command = [sys.executable, SCRIPT, *toy, *rows, "--jobs", 2]
    subprocess.run(list(map(str, command)), check=True, timeout=300)
    results = tmp_path / "out" / "results"
    files = {path.name: json.loads(path.read_text()) for path in results.iterdir()}
    assert sorted(files) == ["best.json", "paper_s_network_and_loss.json"]
    for row in files.values():
        assert row["steps"] == 4
        assert row["validation"]["loss"] > 0
        assert 0 < row["membership, 8 symmetries"] <= row["membership"]
    table = (tmp_path / "out" / "table.md").read_text()
    assert "| best |" in table
    assert "| paper's network and loss |" in table
    assert "Up to 2 rows shared the GPU" in table

    code, out, _ = run(*toy, *rows)  # no row is trained again
    assert (code, out.strip()) == (0, table.strip())
    assert run("--out", tmp_path / "out", "--table")[1].strip() == table.strip()
    code, _, err = run(*toy, "--rows", "best", "--epochs", 2)
    assert code == 2
    assert "is of another run" in err


def test_no_row_begins_after_the_time(toy, run):
    """With no time left, nothing is begun and the rows left out are named."""
    code, out, _ = run(*toy, "--rows", "best", "4 layers", "--epochs", 1, "--time", 0)
    assert code == 0
    assert "out of time, not begun: best, 4 layers" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", 1, "--jobs", 2], "get unequal parts of a minute"),
        ([], "give --epochs or --minutes"),
        (["--epochs", 1, "--jobs", 0], "--jobs is 0"),
    ],
)
def test_budgets_that_compare_nothing_are_refused(
    toy, tmp_path, run, arguments, message
):
    """Rows that share a GPU need a budget in epochs, and every row needs one."""
    code, _, err = run(*toy, *arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("preset", ["best20", "best50", "best100"])
def test_every_row_is_a_preset_that_makes_sense(ablations, preset):
    """All rows' settings go with each of the presets they are meant for."""
    changed = [
        get_preset(preset).with_settings(settings)
        for settings in ablations.ROWS.values()
    ]
    assert len(set(changed)) == len(ablations.ROWS) <= 25


def test_a_network_is_not_compiled_twice_at_once(ablations, tmp_path):
    """While one row compiles a network, rows with another one go first."""
    options = SimpleNamespace(preset="best20", out=tmp_path)
    waiting = ["no load terms", "max pooling"]  # the first has the network of "best"
    assert ablations.choose(waiting, ["best"], options) == "max pooling"
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "log.jsonl").touch()  # it trains
    assert ablations.choose(waiting, ["best"], options) == "no load terms"
    assert ablations.choose(waiting[:1], ["no cluster term"], options) == waiting[0]
