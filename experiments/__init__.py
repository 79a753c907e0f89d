"""Reproduces the paper's tables and figures: ``python -m experiments NAME``."""

from pathlib import Path

__all__ = ["RESULTS"]

# The committed pages, the rows behind them and the rows of reference plans.
RESULTS = Path(__file__).parents[1] / "results"
