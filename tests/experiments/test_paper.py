"""The paper's pipeline with its networks, beside its printed figures."""

from __future__ import annotations

import csv

import pytest

from experiments.__main__ import main
from experiments.cells import _counted
from experiments.definitions import Line
from fixedfleet.evaluate import Results


@pytest.mark.slow
def test_the_command_of_the_readme_shows_ours_beside_the_papers(tmp_path, capsys):
    """Ten instances of each size run without a GPU, and their page is printed."""
    pytest.importorskip("torch")
    pytest.importorskip("ortools")
    work, out = tmp_path / "work", tmp_path / "out"
    folders = ["--work", str(work), "--out", str(out)]
    command = ["paper", "--instances", "10", "--print", "--quiet", "--processes", "1"]
    assert main([*command, *folders]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# The paper's pipeline, as its authors ran it\n")
    assert "| *printed: guaranteed* | 16.93 | 859.6 |" in page
    with (out / "paper.csv").open(encoding="utf-8") as file:
        ours = [row for row in csv.DictReader(file) if row["source"] == "measured"]
    assert len(ours) == 3 * (3 * 3 + 2)
    assert {row["instances"] for row in ours} == {"10"}
    # Near-optimal plans of these instances have 6.0, 10.3 and 15.9.
    for size, raw, searched in ((20, 7.2, 6.4), (50, 13.6, 11.3), (100, 23.0, 17.5)):
        first, _, guaranteed = (
            float(row["cost"]) for row in ours if row["set"] == f"strict{size}"
        )
        assert guaranteed < first < raw
        assert guaranteed < searched
    rows = Results(work / "rows.jsonl").rows()
    assert all(row.details["start_length"] >= row.length - 1e-9 for row in rows)


@pytest.mark.parametrize(
    ("line", "lengths"),
    [
        ({}, [5.0, 6.0, 7.0]),
        ({"solved": True}, [5.0, 6.0, None]),
        ({"solved": "before"}, [5.0, None, None]),
        ({"before": True}, [5.5, 6.5, 7.5]),
        ({"before": True, "solved": "before"}, [5.5, None, None]),
    ],
)
def test_plans_count_before_or_after_the_search(make_row, line, lengths):
    """OR-Tools empties the second plan's tour beyond the fleet, not the third's."""
    rows = [
        make_row(
            length=length,
            fleet=4,
            vehicles=vehicles,
            within=vehicles <= 4,
            details={"start_length": length + 0.5, "start_vehicles": start},
        )
        for length, vehicles, start in ((5.0, 4, 4), (6.0, 4, 5), (7.0, 5, 5))
    ]
    found = _counted(Line(label="a", method="paper20", **line), rows)
    assert [row.length for row in found] == lengths
    shown = [row for row in found if row.length is not None]
    assert all(
        row.cost_v == row.length + row.vehicles * row.vehicle_cost
        for row in shown
        if line.get("before")
    )
