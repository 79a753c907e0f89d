"""
The stages of a call: how long each step took, and by how much it lowered the cost.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fixedfleet.result import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.deadline import Deadline

__all__ = ["Stages"]


class Stages:
    """The stages of a call so far. Each stage begins when the previous one ends."""

    def __init__(self, deadline: Deadline) -> None:
        self.closed: list[Stage] = []
        self._deadline = deadline
        self._begin = 0.0  # when the running stage began
        self._cost = math.inf  # cost of the plan after the last closed stage

    @property
    def seconds(self) -> float:
        """Seconds since the running stage began."""
        return self._deadline.elapsed() - self._begin

    def close(self, name: str, cost: Callable[[], float]) -> Stage:
        """
        Close the running stage and return it.

        ``cost`` returns the cost of the plan that the stage has made. The time to
        compute this cost is added to the next stage. The stage ``partial`` has a gain
        of 0, because its plan does not serve all customers.
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
