"""The stages of a call: how long each step took, and what it gained."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fixedfleet.result import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.deadline import Deadline

__all__ = ["Stages"]


class Stages:
    """The stages of a call so far; the time of each begins where the last one ended."""

    def __init__(self, deadline: Deadline) -> None:
        self.closed: list[Stage] = []
        self._deadline = deadline
        self._begin = 0.0  # of the stage that is running
        self._cost = math.inf  # of the plan so far

    @property
    def seconds(self) -> float:
        """Seconds since the running stage began."""
        return self._deadline.elapsed() - self._begin

    def close(self, name: str, cost: Callable[[], float]) -> Stage:
        """
        Close the running stage, after which the plan has this cost.

        The time to compute the cost counts for the next stage. A partial plan is no
        plan to compare others with.
        """
        now = self._deadline.elapsed()
        seconds, self._begin = now - self._begin, now
        value, gain = cost(), 0.0
        if name != "partial":
            if self._cost < math.inf:
                gain = self._cost - value
            self._cost = value
        self.closed.append(Stage(name, seconds, value, gain))
        return self.closed[-1]
