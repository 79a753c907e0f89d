"""The cores of this machine, and what every child process on them needs."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    Handler = Callable[[int, Any], None]

__all__ = [
    "ONE_THREAD",
    "available_cores",
    "environment",
    "interrupts_deferred",
    "interrupts_held",
    "on_interrupt",
    "start_worker",
]

# A process a core: threads of their own would only take cores from one another.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)


def available_cores() -> int:
    """The number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables for a child: its libraries read them when they load."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def on_interrupt(press: Handler) -> Iterator[Any]:
    """Have Ctrl-C call a function; only the main thread can. Gives what it called."""
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or before is None:  # None: not set from Python, so not to be put back
        yield None
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield before
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def interrupts_deferred() -> Iterator[None]:
    """
    Keep Ctrl-C for the end of what must not be interrupted.

    A compiler that is loading code loses an exception, or makes a program that
    handled it end as if it had not. Threads but the main one are not interrupted.
    """
    pressed = False

    def press(_number: int, _frame: Any) -> None:
        nonlocal pressed
        pressed = True

    with on_interrupt(press) as before:
        yield
    if pressed and callable(before):
        before(signal.SIGINT, None)


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """
    Hold Ctrl-C back for a moment, so that a child born in it never sees one.

    A terminal sends the signal to the children too; they inherit the mask and leave
    it to the parent to end them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # begun by the first child, it lifts the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_worker(
    work: Callable[..., None], *arguments: Any
) -> tuple[SpawnProcess, Connection]:
    """
    Start a process of one thread that calls a function with a pipe and arguments.

    Returns
    -------
    tuple
        The process, and this side of the pipe, which ends when the process does.
    """
    context = multiprocessing.get_context("spawn")
    pipe, far = context.Pipe()
    process = context.Process(target=work, args=(far, *arguments), daemon=True)
    with environment(ONE_THREAD), interrupts_held():
        process.start()
    far.close()
    return process, pipe
