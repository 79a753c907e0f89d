"""The rows in results/ give the figures of the pages beside them."""

from __future__ import annotations

import csv
import json
import lzma
from pathlib import Path
from statistics import fmean

import pytest

from fixedfleet.evaluate import Row

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.slow
def test_a_figure_of_the_papers_pipeline_is_recomputed_from_its_rows():
    """Length, share solved and Cost_v of VRP50 follow from the rows that are kept."""
    with (RESULTS / "pipeline.csv").open(encoding="utf-8") as file:
        (line,) = [
            line
            for line in csv.DictReader(file)
            if line["set"] == "vrp50"
            and line["label"].endswith("greedy (edges) + Algorithm 1, those solved")
        ]
    method = f'"method":{json.dumps(line["method"], ensure_ascii=False)},'.encode()
    with lzma.open(RESULTS / "rows-pipeline.jsonl.xz") as file:
        rows = [Row.from_json(row) for row in file if method in row]
    solved = [row for row in rows if row.within]
    assert len(rows) == int(line["instances"]) == 9525
    assert len(solved) / len(rows) == pytest.approx(float(line["share_within"]))
    assert fmean(r.length for r in solved) == pytest.approx(float(line["cost"]))
    assert fmean(r.cost_v for r in solved) == pytest.approx(float(line["cost_v"]))
