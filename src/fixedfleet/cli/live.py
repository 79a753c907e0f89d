"""A line on the terminal that says how far a search is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from fixedfleet.plan import Plan

__all__ = ["LiveLine"]

_INTERVAL = 0.1  # seconds between two rewritings


class LiveLine:
    """
    Shows time, best cost and vehicles, rewritten in place; keeps the best plan.

    Parameters
    ----------
    stream
        Where to write.
    shown
        Whether to write at all.
    vehicles
        The number of vehicles there are.
    """

    def __init__(self, stream: TextIO, shown: bool, vehicles: int) -> None:
        self.stream, self.shown, self.vehicles = stream, shown, vehicles
        self.begin = time.perf_counter()
        self.plan: Plan | None = None
        self.cost = float("inf")
        self._last = -_INTERVAL

    def improved(self, _seconds: float, cost: float, plan: Plan) -> None:
        """Note a better plan."""
        self.cost, self.plan = cost, plan
        self._write()

    def tick(self) -> bool:
        """Let the time go on; the search asks this whether to stop, and it says no."""
        self._write()
        return False

    def clear(self) -> None:
        """Leave an empty line for what is printed next."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def _write(self) -> None:
        seconds = time.perf_counter() - self.begin
        if not self.shown or seconds - self._last < _INTERVAL:
            return
        self._last = seconds
        said = "no plan yet"
        if self.plan is not None:
            used = f"vehicles {self.plan.vehicles} of {self.vehicles}"
            said = f"best cost {self.cost:.6g}, {used}"
        self.stream.write(f"\r{seconds:6.1f} s  {said}\x1b[K")
        self.stream.flush()
