"""The page of results about fine-tuning."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_its_rows_give():
    """`benchmarks/fine_tuning.py` renders the page from the rows that are kept."""
    make_page = runpy.run_path(str(ROOT / "benchmarks/fine_tuning.py"))["make_page"]
    page = make_page(ROOT / "results/fine-tuning.jsonl")
    assert page == (ROOT / "results/fine-tuning.md").read_text(encoding="utf-8")
    assert "| fine-tuned | 20,000 | 250 | 500 |" in page
