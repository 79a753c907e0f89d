"""Outside solvers behind one protocol; only the one that is chosen is imported."""

from __future__ import annotations

from fixedfleet.solvers.protocol import SOLVERS, CheckedPlan, Solver, get, run

__all__ = ["SOLVERS", "CheckedPlan", "Solver", "get", "run"]
