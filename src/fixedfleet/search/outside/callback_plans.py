"""The plans of a solver that reports them to a callback, as an iterator."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol

from fixedfleet.search.task import ReportPace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.deadline import Deadline
    from fixedfleet.plan import Plan

__all__ = ["Report", "plans_of_callback"]

_POLL_SECONDS = 0.05  # after which the deadline's ``stop`` is called again


class Report(Protocol):
    """What a solver calls with each plan that is better than the one before."""

    def __call__(self, read_plan: Callable[[], Plan] | None = None) -> None:
        """
        Hand over a plan, which is read by calling ``read_plan``.

        Plans that follow each other closely are held back, as
        :class:`fixedfleet.search.task.ReportPace` says. A call without an argument
        hands over the last plan that was held back, if it is time to.
        """


def plans_of_callback(
    run: Callable[[Report, Deadline], None], deadline: Deadline
) -> Iterator[Plan]:
    """
    Run a solver in a thread, and yield the plans that it reports.

    The solver pauses while a plan is read and checked, so both never compete for the
    processor, and the time at which a plan arrives is the time at which it was found.
    If the iterator is closed or ``stop`` returns True, the solver's deadline is over.
    A solver that does not look at it runs on until its limit, and its plan is lost.

    Parameters
    ----------
    run
        Runs the solver: it is given the function to report to, and the deadline.
    deadline
        When the solver must end.
    """
    # What the thread sends: a plan, or at its end None or its error.
    sent: SimpleQueue[Plan | BaseException | None] = SimpleQueue()
    resume, ended = threading.Semaphore(0), threading.Event()
    pace = ReportPace(deadline)
    held: list[Callable[[], Plan]] = []  # the newest plan that was held back, if any

    def report(read_plan: Callable[[], Plan] | None = None) -> None:
        if read_plan is not None:
            held[:] = [read_plan]
        if held and pace.is_due() and not ended.is_set():
            for plan in pace.report(held.pop()):
                sent.put(plan)
                resume.acquire()

    def work() -> None:
        try:
            run(report, deadline.or_when(ended.is_set))
            if held:
                sent.put(held.pop()())
        except BaseException as error:
            sent.put(error)
        else:
            sent.put(None)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            try:
                plan = sent.get(timeout=_POLL_SECONDS)
            except Empty:
                if deadline.stop is not None and deadline.stop():
                    return
                continue
            if plan is None:
                return
            if isinstance(plan, BaseException):
                raise plan
            yield plan
            resume.release()
    finally:
        ended.set()
        resume.release()
        thread.join(_POLL_SECONDS)
