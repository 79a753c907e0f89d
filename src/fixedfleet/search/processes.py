"""Work over the cores of one machine, a process each, that Ctrl-C ends cleanly."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from fixedfleet.cores import ONE_THREAD, environment, interrupts_held, on_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from multiprocessing.synchronize import Event

__all__ = ["over_cores"]

Job = TypeVar("Job")
Answer = TypeVar("Answer")

_WAITING = 2  # jobs in the queue for each process, so that none waits for its next


def over_cores(
    work: Callable[[Job, Callable[[], bool]], Answer],
    jobs: Iterable[Job],
    processes: int,
    done: Callable[[Answer], None],
) -> bool:
    """
    Do jobs in processes of one thread each; a single process is this one.

    Parameters
    ----------
    work
        Does one job. It is also given a function that says whether to make an end,
        after Ctrl-C, and should then answer soon with what it has.
    jobs
        The jobs, taken as processes become free.
    processes
        The number of processes, at least 1.
    done
        Told each answer, in the order they come.

    Returns
    -------
    bool
        Whether Ctrl-C ended it; jobs not begun by then are not done.

    Raises
    ------
    RuntimeError
        If a process dies.
    """
    if processes == 1:
        return _here(work, jobs, done)
    context = multiprocessing.get_context("spawn")
    ending = context.Event()
    waiting = iter(jobs)
    running: set[Future[Answer]] = set()
    interrupted = False
    with ProcessPoolExecutor(
        processes, mp_context=context, initializer=_prepare, initargs=(ending,)
    ) as pool:
        try:
            while True:
                for job in islice(waiting, _WAITING * processes - len(running)):
                    with environment(ONE_THREAD), interrupts_held():
                        running.add(pool.submit(_work, work, job))  # may start one
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    done(future.result())
                    running.remove(future)
        except KeyboardInterrupt:
            interrupted = True
            ending.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for future in running:
                if not future.cancelled() and future.exception() is None:
                    done(future.result())
        except BrokenProcessPool:
            raise RuntimeError(
                "a worker process ended before its work was done; a script that uses "
                "several must keep its code under: if __name__ == '__main__'"
            ) from None
        except BaseException:
            ending.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return interrupted


def _here(
    work: Callable[[Job, Callable[[], bool]], Answer],
    jobs: Iterable[Job],
    done: Callable[[Answer], None],
) -> bool:
    """Do the jobs in this process, one after the other."""
    pressed = False

    def press(_number: int, _frame: Any) -> None:
        nonlocal pressed
        pressed = True

    with on_interrupt(press):
        for job in jobs:
            done(work(job, lambda: pressed))
            if pressed:
                break
    return pressed


# --------------------------------------------------------------- within a process

_ending: Event | None = None


def _prepare(ending: Event) -> None:
    """Keep what tells of Ctrl-C, which is the parent's to hear."""
    global _ending
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _ending = ending


def _work(work: Callable[[Job, Callable[[], bool]], Answer], job: Job) -> Answer:
    if _ending is None:
        raise RuntimeError("a worker process was not prepared")
    return work(job, _ending.is_set)
