"""Lower bounds on the cost of a plan, and proofs that a plan is optimal."""

from __future__ import annotations

from fixedfleet.bound.bounding import Bound, bounds
from fixedfleet.bound.proving import LowerBound, lower_bound

__all__ = ["Bound", "LowerBound", "bounds", "lower_bound"]
