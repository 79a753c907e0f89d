"""How far a labelling run is, how fast it goes, and a plain line that says so."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

__all__ = ["Progress", "ProgressCallback", "ProgressPrinter"]


@dataclass(frozen=True)
class Progress:
    """
    How far a labelling run is.

    Attributes
    ----------
    done
        Instances the teacher is done with, with those found in the folder.
    total
        Instances there are.
    found
        Instances that were in the folder already when the run began.
    seconds
        Wall time since the run began.
    """

    done: int
    total: int
    found: int
    seconds: float

    @property
    def rate(self) -> float:
        """Instances a second in this run; 0 before the first is done."""
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
            f"{self.done:,} of {self.total:,} instances ({share:.1f} %), "
            f"{self.rate:.3g}/s, {_clock(self.seconds)} gone, {left} left"
        )


ProgressCallback = Callable[[Progress], None]


@dataclass
class ProgressPrinter:
    """
    Print progress as one line, rewritten in place on a terminal.

    Parameters
    ----------
    stream
        Where to print. Default: standard error.
    interval
        Least seconds between two lines. Default: 0.5 on a terminal, 10 elsewhere (a
        log file is not to fill with them). The last line is always printed.
    """

    stream: TextIO | None = None
    interval: float | None = None
    _last: float | None = field(default=None, init=False, repr=False)
    _finished: bool = field(default=False, init=False, repr=False)

    def __call__(self, progress: Progress) -> None:
        stream = sys.stderr if self.stream is None else self.stream
        terminal = stream.isatty()
        interval = self.interval
        if interval is None:
            interval = 0.5 if terminal else 10.0
        now, finished = time.monotonic(), progress.done >= progress.total
        if finished and self._finished:  # the last row, then the last shard
            return
        if self._last is not None and now - self._last < interval and not finished:
            return
        self._last, self._finished = now, finished
        if terminal:  # \x1b[K clears what a longer line left behind
            stream.write(f"\r{progress}\x1b[K" + ("\n" if finished else ""))
        else:
            stream.write(f"{progress}\n")
        stream.flush()


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}"
