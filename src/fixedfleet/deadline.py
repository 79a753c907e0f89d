"""The limits of a computation: seconds, iterations, or a function that stops it."""

from __future__ import annotations

import math
import time
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, above, at_least, check_number, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Deadline"]


def _now() -> float:
    return time.perf_counter()


@dataclass(frozen=True)
class Deadline:
    """
    When a computation must end.

    A deadline is immutable: its methods return new deadlines.

    Parameters
    ----------
    seconds
        The time limit in seconds, counted from ``begin``. Default: no limit.
    iterations
        Maximum number of iterations, which the search itself counts. Default: no limit.
    stop
        A function that is called now and then. The computation ends when it returns
        True.
    clock
        A function that returns the present time in seconds.
    begin
        The time on the clock from which the seconds count. Default: now.
    """

    seconds: float = math.inf
    _: KW_ONLY
    iterations: int | None = None
    stop: Callable[[], bool] | None = None
    clock: Callable[[], float] = _now
    begin: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.begin):
            object.__setattr__(self, "begin", self.clock())

    @classmethod
    def of(
        cls,
        time_limit: float | None = None,
        iterations: int | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Deadline:
        """
        Check a user's limits and return them as a deadline that begins now.

        Raises
        ------
        InputError
            If a limit is wrong, or if neither seconds nor iterations are limited.
        """
        if time_limit is None and iterations is None:
            raise InputError("give a time limit or a number of iterations")
        if time_limit is not None:
            time_limit = check_number("time limit", time_limit, above(0))
        if iterations is not None:
            iterations = check_whole("iterations", iterations, at_least(1))
        seconds = math.inf if time_limit is None else time_limit
        return cls(seconds, iterations=iterations, stop=stop)

    def elapsed(self) -> float:
        """Return the seconds since the deadline began."""
        return self.clock() - self.begin

    def left(self) -> float:
        """
        Return the seconds that are left; 0 if ``stop`` returns True.

        Without a time limit, this is infinite.
        """
        if self.stop is not None and self.stop():
            return 0.0
        return max(0.0, self.seconds - self.elapsed())

    def over(self) -> bool:
        """
        Return whether the seconds are over or ``stop`` returns True.

        Iterations are not considered, because the search itself counts them.
        """
        return self.left() <= 0.0

    def used(self) -> float:
        """
        Return the share of the seconds that is used, from 0 to 1.

        Without a time limit, this is 0.
        """
        if self.seconds <= 0:
            return 1.0
        return min(1.0, self.elapsed() / self.seconds)

    def until(self, share: float) -> Deadline:
        """
        Return a deadline that begins now and ends when this share of the time is used.

        The time is that of this deadline. Its limit on iterations is kept unchanged.
        """
        elapsed = self.elapsed()
        seconds = max(0.0, share * self.seconds - elapsed)
        return replace(self, seconds=seconds, begin=self.begin + elapsed)

    def within(self, seconds: float) -> Deadline:
        """
        Return a deadline that begins now and ends after ``seconds``.

        It ends earlier if this deadline does.
        """
        rest = self.until(1.0)
        return replace(rest, seconds=min(seconds, rest.seconds))

    def or_when(self, stop: Callable[[], bool]) -> Deadline:
        """Return a copy of this deadline that also ends when ``stop`` returns True."""
        asked = self.stop
        if asked is None:
            return replace(self, stop=stop)
        return replace(self, stop=lambda: stop() or asked())
