"""
The progress of a run, and its printer.

:class:`ProgressPrinter` prints a line from time to time. On a terminal, it rewrites one
line in place; elsewhere, it prints rows. A run that counts its work calls it with a
:class:`Progress`. Other code passes a text to ``show``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TextIO

__all__ = ["Progress", "ProgressPrinter"]

_CLEAR = "\r\x1b[K"  # return to the beginning of the line and clear it


@dataclass(frozen=True)
class Progress:
    """
    How much of a run is done, and how fast it goes.

    A run does a number of units, such as instances; ``unit`` says what they are.
    """

    done: int  # units done by this run and by earlier ones
    total: int  # units to do
    found: int  # units done by earlier runs
    seconds: float  # since this run began
    unit: str = "instances"  # what is counted

    @property
    def rate(self) -> float:
        """
        Number of units (such as instances) that this run does per second.

        It is 0 before the first unit is done.
        """
        new = self.done - self.found
        return new / self.seconds if new > 0 and self.seconds > 0 else 0.0

    @property
    def time_left(self) -> float | None:
        """
        Seconds to the end of the run at the present rate; None if the rate is still 0.
        """
        if self.done >= self.total:
            return 0.0
        return (self.total - self.done) / self.rate if self.rate else None

    def __str__(self) -> str:
        share = 100 * self.done / self.total if self.total else 100.0
        left = "?" if self.time_left is None else _clock(self.time_left)
        return (
            f"{self.done:,} of {self.total:,} {self.unit} ({share:.1f} %), "
            f"{self.rate:.3g}/s, {_clock(self.seconds)} passed, {left} left"
        )


class ProgressPrinter:
    """
    Print lines of progress, at most one per interval.

    Parameters
    ----------
    stream
        Where to print. Default: standard error.
    interval
        The least number of seconds between two lines. Default: 0.5 in place; 10 for
        rows, so that they do not fill a log file.
    in_place
        Whether to rewrite one line instead of printing rows. Default: on a terminal.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        interval: float | None = None,
        in_place: bool | None = None,
    ) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.in_place = self.stream.isatty() if in_place is None else in_place
        self.interval = (
            (0.5 if self.in_place else 10.0) if interval is None else interval
        )
        self._last: float | None = None
        self._kept: str | None = None
        self._finished = False

    def __call__(self, progress: Progress) -> None:
        """
        Show progress; when all units are done, print the last line.

        Calls after the last line do nothing.
        """
        if self._finished:
            return
        self.show(str(progress))
        if progress.done >= progress.total:
            self._finished = True
            self.end()

    def show(self, text: str) -> None:
        """Print a line if the interval is over; otherwise keep it for later."""
        self._kept = text
        now = time.monotonic()
        if self._last is None or now - self._last >= self.interval:
            self._last = now
            self._print()

    def end(self) -> None:
        """Print the line that was kept for later, if any, and begin a new line."""
        self._print()
        if self.in_place and self._last is not None:
            self._write("\n")

    def clear(self) -> None:
        """Remove the rewritten line from the terminal."""
        if self.in_place:
            self._write(_CLEAR)

    def _print(self) -> None:
        if self._kept is not None:
            text, self._kept = self._kept, None
            self._write(f"{_CLEAR}{text}" if self.in_place else f"{text}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}"
