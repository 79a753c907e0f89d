"""A line on the terminal that says how far a search is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fixedfleet.plan import Plan
    from fixedfleet.progress import ProgressPrinter

__all__ = ["LiveLine"]


class LiveLine:
    """
    Shows time, best cost and vehicles of a search, and keeps its best plan.

    Parameters
    ----------
    printer
        Where to show it; None for nowhere.
    vehicles
        The fleet.
    """

    def __init__(self, printer: ProgressPrinter | None, vehicles: int) -> None:
        self.printer, self.vehicles = printer, vehicles
        self.begin = time.perf_counter()
        self.plan: Plan | None = None
        self.cost = float("inf")

    def improved(self, _seconds: float, cost: float, plan: Plan) -> None:
        """Note a better plan."""
        self.cost, self.plan = cost, plan
        self.tick()

    def tick(self) -> bool:
        """Show the time; the search asks this whether to stop, and the answer is no."""
        if self.printer is not None:
            said = "no plan yet"
            if self.plan is not None:
                used = f"vehicles {self.plan.vehicles} of {self.vehicles}"
                said = f"best cost {self.cost:.6g}, {used}"
            seconds = time.perf_counter() - self.begin
            self.printer.show(f"{seconds:6.1f} s  {said}")
        return False

    def clear(self) -> None:
        """Leave an empty line for what is printed next."""
        if self.printer is not None:
            self.printer.clear()
