"""
Ctrl-C: record it, defer it to the end of a block, or hide it from child processes.

Python handles Ctrl-C in the main thread only. In any other thread, recording and
deferring have no effect.

The package imports this module first. If the process is the command ``fixedfleet`` and
Ctrl-C is pressed while it loads, it then ends with one line instead of a traceback from
some import. Other programs are not affected.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "command_loaded",
    "interrupt_noted",
    "interrupts_blocked",
    "interrupts_deferred",
]


class _Note:
    """
    A signal handler that records the first Ctrl-C in ``pressed``.

    It passes each further Ctrl-C to ``before``, the handler that it replaces.
    """

    def __init__(self, before: Any) -> None:
        self.before = before
        self.pressed = False

    def __call__(self, number: int, frame: Any) -> None:
        again, self.pressed = self.pressed, True
        if callable(self.before) and again:
            self.before(number, frame)


class _SharedNote(_Note):
    """
    A :class:`_Note` that also sets ``pressed`` of the shared notes of all outer blocks.
    """

    def __call__(self, number: int, frame: Any) -> None:
        if isinstance(self.before, _SharedNote):
            self.pressed = True
            self.before(number, frame)
        else:
            super().__call__(number, frame)


@contextlib.contextmanager
def interrupt_noted(kind: type[_Note] = _SharedNote) -> Iterator[Callable[[], bool]]:
    """
    Context manager that records the first Ctrl-C; the second raises KeyboardInterrupt.

    It yields a function that returns whether Ctrl-C was pressed. If several such blocks
    are nested, a Ctrl-C counts for all of them. ``kind`` is the class of the signal
    handler; with :class:`_Note`, a Ctrl-C counts for this block only.
    """
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or before is None:  # None: set outside Python, so it cannot be restored
        yield lambda: False
        return
    note = kind(before)
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: note.pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def interrupts_deferred() -> Iterator[None]:
    """
    Context manager that defers the first Ctrl-C until its block has ended.

    Use it where KeyboardInterrupt would be lost or would end the whole program, for
    example while a compiler loads code.
    """
    with interrupt_noted(_Note) as pressed:
        yield
    if pressed():
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """
    Context manager: child processes started inside its block ignore Ctrl-C.

    A terminal sends the signal to all processes. Children inherit the blocked signal,
    so that only their parent decides when they end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # slow to load, and rarely needed

    # The first child process starts the tracker, which would unblock the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_the_command() -> bool:
    """Return whether this process is ``fixedfleet`` or ``python -m fixedfleet``."""
    script = os.path.basename(sys.argv[0]) if sys.argv else ""
    as_module = ("-m", "fixedfleet") in pairwise(sys.orig_argv)
    return as_module or script.partition(".")[0] == "fixedfleet"


def _end_command(_number: int, _frame: object) -> None:
    os.write(2, b"fixedfleet: error: interrupted\n")
    os._exit(130)


@contextlib.contextmanager
def command_loaded() -> Iterator[None]:
    """
    Context manager: inside its block, Ctrl-C raises KeyboardInterrupt as usual.

    The command line enters this block when all its imports are done.
    """
    if signal.getsignal(signal.SIGINT) is not _end_command:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end_command)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_the_command():
    with contextlib.suppress(ValueError):  # raised if this is not the main thread
        signal.signal(signal.SIGINT, _end_command)
