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


@pytest.fixture(scope="module")
def kept() -> list[bytes]:
    """The lines of the file of rows."""
    packed = (RESULTS / "rows-pipeline.jsonl.xz").read_bytes()
    return lzma.decompress(packed).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stage", "count"),
    [("vrp50", "Algorithm 1", 9525), ("vrp100", "OR-Tools for Cost_v", 9772)],
)
def test_a_figure_of_the_papers_pipeline_is_recomputed_from_its_rows(
    name, stage, count, kept
):
    """Length, share solved and Cost_v follow from the rows that are kept."""
    with (RESULTS / "pipeline.csv").open(encoding="utf-8") as file:
        (line,) = [
            line
            for line in csv.DictReader(file)
            if line["set"] == name
            and line["label"].endswith(f"greedy (edges) + {stage}, those solved")
        ]
    method = json.dumps(line["method"], ensure_ascii=False)
    made = f'"method":{method},"objective":"{line["objective"]}",'.encode()
    rows = [Row.from_json(row) for row in kept if made in row]
    solved = [row for row in rows if row.within]
    assert len(rows) == int(line["instances"]) == count
    assert len(solved) / len(rows) == pytest.approx(float(line["share_within"]))
    assert fmean(r.length for r in solved) == pytest.approx(float(line["cost"]))
    assert fmean(r.cost_v for r in solved) == pytest.approx(float(line["cost_v"]))
