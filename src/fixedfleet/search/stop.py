"""When a search ends: after a time, after iterations, or when it is asked to."""

from __future__ import annotations

import copy
import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, above, at_least, check_number, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Stop"]


class Stop:
    """
    When a search ends, and the one clock that it looks at.

    Parameters
    ----------
    seconds
        Time limit, counted from now. Default: none.
    iterations
        Most iterations. At least one of the two limits must be given.
    asked
        A function that is called now and then; the search ends when it returns True.

    Attributes
    ----------
    seconds, iterations
        The limits. Without a time limit, the seconds are infinite.
    done
        Iterations counted so far.
    """

    def __init__(
        self,
        seconds: float | None = None,
        *,
        iterations: int | None = None,
        asked: Callable[[], bool] | None = None,
    ) -> None:
        if seconds is None and iterations is None:
            raise InputError("give a time limit or a number of iterations")
        if seconds is not None:
            seconds = check_number("time limit", seconds, above(0))
        if iterations is not None:
            iterations = check_whole("iterations", iterations, at_least(1))
        self.seconds = math.inf if seconds is None else seconds
        self.iterations = iterations
        self.done = 0
        self._asked = asked
        self._interrupted = False
        self._paused = 0.0  # seconds that do not count
        self._whole = self  # the stop that this one is a part of
        self._begin = time.perf_counter()

    def again(self, asked: Callable[[], bool] | None = None) -> Stop:
        """Return a stop with the same limits, whose own clock starts now."""
        seconds = None if math.isinf(self.seconds) else self.seconds
        return Stop(seconds, iterations=self.iterations, asked=asked)

    def part(self, share: float = 1.0) -> Stop:
        """
        Return the stop of one step of a search, whose time begins now.

        It ends when this share of the seconds of the whole is used, and whenever the
        whole ends. Both have the same clock.
        """
        step = copy.copy(self)
        step._begin = self._now()
        step.seconds = max(0.0, self._begin + share * self.seconds - step._begin)
        step.done = 0
        return step

    def elapsed(self) -> float:
        """Seconds since the clock was started, for a part as for the whole."""
        return self._now() - self._whole._begin

    def left(self) -> float:
        """Seconds left, 0 if the search is to end at once."""
        whole = self._whole
        if whole._interrupted or (self._asked is not None and self._asked()):
            return 0.0
        return max(0.0, self._begin + self.seconds - self._now())

    def used(self) -> float:
        """Share of the iterations that is used; without them, of the seconds."""
        if self.iterations is not None:
            return self.done / self.iterations
        return 1 - self.left() / self.seconds

    def over(self) -> bool:
        """Whether the search is to end."""
        if self.iterations is not None and self.done >= self.iterations:
            return True
        return self.left() <= 0.0

    def count(self, iterations: int) -> None:
        """Count iterations that were done."""
        self.done += iterations
        if self is not self._whole:
            self._whole.done += iterations

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time inside the block not count: loading and compiling code."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._whole._paused += time.perf_counter() - before

    @property
    def interrupted(self) -> bool:
        """Whether the user pressed Ctrl-C during a search."""
        return self._whole._interrupted

    def interrupt(self) -> None:
        """End the whole search now, because the user pressed Ctrl-C."""
        self._whole._interrupted = True

    def require_seconds(self, who: str) -> float:
        """Return the time limit; raise InputError if there is none."""
        if math.isinf(self.seconds):
            raise InputError(f"{who} cannot count iterations: give a time limit")
        return self.seconds

    def _now(self) -> float:
        return time.perf_counter() - self._whole._paused
