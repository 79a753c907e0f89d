"""The command ``predict``."""

from __future__ import annotations

from pathlib import Path

import pytest

import fixedfleet as ff

from .cli_helpers import EXAMPLE, PNG, refused

pytest.importorskip("torch")
pytest.importorskip("safetensors")


@pytest.mark.slow
def test_predict_writes_the_plan_and_draws_the_prediction(run):
    """The names of decoders and repairs are those of Python's ``decode``."""
    pytest.importorskip("matplotlib")
    options = ("--decoding", "greedy", "--repair", "paper", "--model", "universal")
    files = ("--output", "plan.json", "--plot", "y.png")
    code, out, _ = run("predict", EXAMPLE, *options, *files)
    plan, instance = ff.read_plan("plan.json"), ff.read(EXAMPLE)
    assert code == (0 if plan.is_feasible(instance) else 4)
    assert plan == ff.predict(instance, "universal").decode("greedy", repair="paper")
    assert "written: plan.json" in out
    assert Path("y.png").read_bytes().startswith(PNG)


def test_predict_says_who_is_left_out(run):
    """Without a repair, customers that the decoding left out are faults: code 4."""
    code, out, _ = run("predict", EXAMPLE, "--decoding", "greedy", "--repair", "none")
    assert code == 4
    assert "fault of the plan: customer" in out


def test_predict_refuses_unknown_names(run):
    """An unknown network, decoder or repair is answered with those there are."""
    assert refused(run("predict", EXAMPLE, "--model", "vrp7"), "universal")
    assert refused(
        run("predict", EXAMPLE, "--decoding", "best"), "greedy, authors, edges"
    )
    names = "none, paper, likeliest, room"
    assert refused(run("predict", EXAMPLE, "--repair", "magic"), names)
