"""Rows that say how far a search is, as it goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.plan import Plan

__all__ = ["Rows"]

_INTERVAL = 0.25  # seconds between two rows, so that a quick search does not flood


class Rows:
    """
    Print a row as the best plan becomes better: time, cost and vehicles.

    Parameters
    ----------
    stream
        Where to print.
    forward
        Told of each better plan too, as (seconds, cost, plan).
    """

    def __init__(
        self,
        stream: TextIO,
        forward: Callable[[float, float, Plan], None] | None = None,
    ) -> None:
        self.stream = stream
        self.forward = forward
        self.begin = time.perf_counter()
        self._last = -_INTERVAL
        self._waiting = ""

    def head(self, text: str) -> None:
        """Print some lines, then the names of the columns."""
        self._say(f"{text}\n{'seconds':>9}  {'best cost':>14}  {'vehicles':>8}")

    def improved(self, seconds: float, cost: float, plan: Plan) -> None:
        """Note a better plan; its row may wait for the next one."""
        now = time.perf_counter() - self.begin
        self._waiting = f"{now:9.2f}  {cost:14.8g}  {plan.vehicles:8d}"
        if now - self._last >= _INTERVAL:
            self._last = now
            self._flush()
        if self.forward is not None:
            self.forward(seconds, cost, plan)

    def end(self, text: str) -> None:
        """Print the last row, if it still waits, then some lines."""
        self._flush()
        self._say(text)

    def _flush(self) -> None:
        if self._waiting:
            self._say(self._waiting)
            self._waiting = ""

    def _say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)
