"""The rows that ``solve(display=True)`` prints: one for each better plan or bound."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fixedfleet.progress import ProgressPrinter

if TYPE_CHECKING:
    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.result import Result
    from fixedfleet.solving.bounded_plan import BetterBound, Improvement

__all__ = ["Display"]


class Display:
    """
    Print a row for each better plan and each better lower bound.

    Each plan and each bound is also passed on to the user's callback, if there is one.
    """

    def __init__(
        self, on_improvement: Improvement | None, on_bound: BetterBound | None
    ) -> None:
        self._rows = ProgressPrinter(sys.stdout, interval=0.25, in_place=False)
        self._on_improvement, self._on_bound = on_improvement, on_bound
        self._best = ""  # cost and vehicles of the best plan

    def begin(self, instance: Instance, verdict: FleetVerdict) -> None:
        """
        Print the instance, the verdict on the fleet, and the headings of the rows.
        """
        names = f"{'seconds':>9}  {'best cost':>14}  {'vehicles':>8}"
        print(f"{instance!r}\n{verdict}\n{names}", flush=True)

    def show(self, seconds: float, cost: float, plan: Plan) -> None:
        """Print a row for a better plan, and pass the plan to the user's callback."""
        self._best = f"{cost:14.8g}  {plan.vehicles:8d}"
        self._rows.show(f"{seconds:9.2f}  {self._best}")
        if self._on_improvement is not None:
            self._on_improvement(seconds, cost, plan)

    def show_bound(self, seconds: float, bound: float) -> None:
        """Print a row with a lower bound, and pass it to the user's callback."""
        self._rows.show(f"{seconds:9.2f}  {self._best}  at least {bound:.8g}")
        if self._on_bound is not None:
            self._on_bound(seconds, bound)

    def end(self, result: Result) -> None:
        """Print the last row and the result."""
        self._rows.end()
        print(result, flush=True)
