"""The commands ``solvers`` and ``models``, and the way to ``train``."""

from __future__ import annotations

import pytest

from fixedfleet.cli.list_commands import _training


def test_solvers_are_listed_with_their_limits(run):
    """Each outside solver has a line with its version and what it cannot do."""
    code, out, _ = run("solvers")
    lines = dict(line.split(": ", 1) for line in out.splitlines())
    assert code == 0
    assert list(lines) == ["hgs", "pyvrp", "ortools", "ortools_descent", "vroom"]
    assert lines["hgs"].startswith("hybgensea ")
    assert "limitations: " in lines["ortools"]


@pytest.mark.slow
def test_train_and_models_reach_their_own_rooms(run):
    """Training parses its own options, and the shipped networks are listed."""
    pytest.importorskip("torch")
    code, out, _ = run("train", "--help")
    assert (code, "--labels" in out) == (0, True)
    code, _, err = run("train", "nothing", "--labels", "no", "--out", "o")
    assert (code, err.count("\n")) == (2, 1)
    code, out, _ = run("models")
    assert code == 0
    assert (
        "universal: preset universal, trained on 1,441,905 labels and groups of their "
        "tours, from the weights of start.safetensors (their training is not counted), "
        "6 epochs, 7.3 minutes, " in out
    )
    assert "{" not in out
    said = _training({"labels": 480, "groups": 960, "weights": None})
    assert said == "trained on 480 labels and 960 groups of their tours, "
    assert _training({"labels": 480, "groups": 0}) == "trained on 480 labels, "
