"""
Ctrl-C while the command line is still being loaded.

The package imports this module first. If the process is the command ``fixedfleet``,
Ctrl-C then ends it at once, with one line instead of a traceback out of some import.
In any other program nothing is changed.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["loaded"]


def _is_the_command() -> bool:
    """Return whether this is ``fixedfleet`` or ``python -m fixedfleet``."""
    script = os.path.basename(sys.argv[0]) if sys.argv else ""
    as_module = ("-m", "fixedfleet") in pairwise(sys.orig_argv)
    return as_module or script.partition(".")[0] == "fixedfleet"


def _end(_number: int, _frame: object) -> None:
    os.write(2, b"fixedfleet: error: interrupted\n")
    os._exit(130)


@contextmanager
def loaded() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt inside this block, as usual in Python."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_the_command():
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, _end)
