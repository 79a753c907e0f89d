"""The published figures of several cores come from the rows beside them."""

from __future__ import annotations

import json
import lzma
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean

import pytest

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    with lzma.open(RESULTS / "cores.jsonl.xz", "rt") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def page() -> str:
    return (RESULTS / "cores.md").read_text()


def gap(row: dict, cost: float) -> float:
    return 100 * (cost / row["best"] - 1)


def test_the_table_is_made_of_the_rows(rows, page):
    """Each line has the mean gaps of all runs with this limit and these cores."""
    names = re.findall(r"X-n\d+", page.split("\n\n")[2].splitlines()[0])
    groups = defaultdict(list)
    for row in rows:
        groups[row["limit"], row["cores"]].append(row)
    for (limit, cores), group in groups.items():
        gaps = {
            name: [gap(row, row["cost"]) for row in group if row["name"][:-4] == name]
            for name in {row["name"][:-4] for row in group}
        }
        means = [mean(gaps[name]) if name in gaps else None for name in names]
        cells = ["" if value is None else f"{value:.2f}" for value in means]
        seeds = len({row["seed"] for row in group})
        total = mean(value for value in means if value is not None)
        line = [f"{limit:g} s", f"{cores}", f"{seeds}", f"{total:.2f}", *cells]
        assert f"| {' | '.join(line)} |" in page
    assert sum(row["faults"] for row in rows) == 0
    assert f"{max(row['seconds'] - row['limit'] for row in rows):.3f} s after" in page


@pytest.mark.parametrize(
    ("begin", "limit", "cores"),
    [
        ("160 s, one core", 160, 1),
        ("10 s, one core", 10, 1),
        ("10 s, 16 cores", 10, 16),
    ],
)
def test_the_curves_are_made_of_the_rows(rows, page, begin, limit, cores):
    """Each entry is the mean gap of the best plans at that time."""
    group = [row for row in rows if (row["limit"], row["cores"]) == (limit, cores)]
    head = next(line for line in page.splitlines() if line.startswith("| | 0.5 s"))
    marks = re.findall(r"([\d.]+) s", head)
    cells = [
        f"{mean(gap(row, row['trace'][mark]) for row in group):.2f}"
        if mark in group[0]["trace"]
        else ""
        for mark in marks
    ]
    line = " | ".join([begin, *cells]).replace("|  |", "| |").replace("|  |", "| |")
    assert f"| {line.rstrip()}" in page
