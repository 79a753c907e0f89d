"""The command ``plot``."""

from __future__ import annotations

from pathlib import Path

from .cli_helpers import FLEET, PNG, make, refused


def test_plot_draws_instances_and_plans(run, csv, tmp_path):
    """A picture is written, and the faults of a plan that has some are said."""
    code, out, _ = run("plot", csv, *FLEET, "--output", "i.png")
    assert (code, "written: i.png" in out) == (0, True)
    plan = make(tmp_path, "p.sol", "Route #1: 1 2 3\nCost 1\n")
    code, _, err = run("plot", csv, plan, *FLEET, "--output", "p.png")
    assert code == 0
    assert "fault of the plan: customer 4 missing" in err
    for name in ("i.png", "p.png"):
        assert Path(name).read_bytes().startswith(PNG)
    other = make(tmp_path, "o.sol", "Route #1: 9\nCost 1\n")
    assert refused(run("plot", csv, other, *FLEET, "--output", "o.png"), "customer 9")
    matrix = '{"matrix": [[0, 1], [1, 0]], "demands": [1], "capacity": 1}'
    answer = run(
        "plot", make(tmp_path, "m.json", matrix), "--vehicles", 1, "--output", "m.png"
    )
    assert refused(answer, "no coordinates")
