"""Reproduce the paper's tables and figures: ``python -m experiments NAME``."""

from pathlib import Path

__all__ = ["RESULTS"]

# The folder of the committed pages, of their rows and of the rows of reference plans.
RESULTS = Path(__file__).parents[1] / "results"
