"""Progress: the one printer of lines that say how far something is.

:class:`ProgressPrinter` prints a line now and then: on a terminal one line that is
rewritten in place, else rows. A run that counts something passes it a
:class:`Progress`; anything else passes lines of text to ``show``, as
:class:`SearchRows` does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from fixedfleet.plan import Plan

__all__ = ["Progress", "ProgressCallback", "ProgressPrinter", "SearchRows"]

_CLEAR = "\r\x1b[K"  # back to the begin of the line, and clear the rest of it


@dataclass(frozen=True)
class Progress:
    """
    How far a run is that counts something.

    Attributes
    ----------
    done
        What is done, with what an earlier run has left.
    total
        What there is to do in all.
    found
        What an earlier run has left.
    seconds
        Wall time since this run began.
    unit
        What is counted.
    """

    done: int
    total: int
    found: int
    seconds: float
    unit: str = "instances"

    @property
    def rate(self) -> float:
        """Units per second in this run; 0 before the first is done."""
        new = self.done - self.found
        return new / self.seconds if new > 0 and self.seconds > 0 else 0.0

    @property
    def time_left(self) -> float | None:
        """Seconds to the end at this rate; None while there is no rate yet."""
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


ProgressCallback = Callable[[Progress], None]


class ProgressPrinter:
    """
    Print lines of progress, and not too many of them.

    Parameters
    ----------
    stream
        Where to print. Default: standard error.
    interval
        Seconds between two lines, at least. Default: 0.5 in place; 10 for rows, so that
        they do not fill a log file.
    in_place
        Whether one line is rewritten. Default: on a terminal.
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
        self._waiting: str | None = None
        self._finished = False

    def __call__(self, progress: Progress) -> None:
        """Show progress; the line of a finished run is always printed, and once."""
        if self._finished:
            return
        self.show(str(progress))
        if progress.done >= progress.total:
            self._finished = True
            self.end()

    def show(self, text: str) -> None:
        """Print a line, or keep it until the interval is over or a newer one comes."""
        self._waiting = text
        now = time.monotonic()
        if self._last is None or now - self._last >= self.interval:
            self._last = now
            self._print()

    def end(self) -> None:
        """Print the line that waits, and leave the line that was rewritten."""
        self._print()
        if self.in_place and self._last is not None:
            self._write("\n")

    def clear(self) -> None:
        """Remove the line that was rewritten."""
        if self.in_place:
            self._write(_CLEAR)

    def _print(self) -> None:
        if self._waiting is not None:
            text, self._waiting = self._waiting, None
            self._write(f"{_CLEAR}{text}" if self.in_place else f"{text}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class SearchRows:
    """
    Print a row of time, cost and vehicles as the best plan of a search improves.

    Parameters
    ----------
    stream
        Where to print.
    forward
        Called too with each better plan, as (seconds, cost, plan).
    """

    def __init__(
        self,
        stream: TextIO,
        forward: Callable[[float, float, Plan], None] | None = None,
    ) -> None:
        self._printer = ProgressPrinter(stream, interval=0.25, in_place=False)
        self._forward = forward

    def head(self, text: str) -> None:
        """Print some lines, then the names of the columns."""
        names = f"{'seconds':>9}  {'best cost':>14}  {'vehicles':>8}"
        print(text, names, sep="\n", file=self._printer.stream, flush=True)

    def improved(self, seconds: float, cost: float, plan: Plan) -> None:
        """Show a better plan."""
        self._printer.show(f"{seconds:9.2f}  {cost:14.8g}  {plan.vehicles:8d}")
        if self._forward is not None:
            self._forward(seconds, cost, plan)

    def end(self, text: str) -> None:
        """Print the last row, if it still waits, then some lines."""
        self._printer.end()
        print(text, file=self._printer.stream, flush=True)


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}"
