"""Turn a solver that reports plans to a callback into an iterator over these plans."""

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

_POLL_SECONDS = 0.05  # the deadline's ``stop`` is called at this interval


class Report(Protocol):
    """A function that a solver calls for each plan better than those before."""

    def __call__(self, read_plan: Callable[[], Plan] | None = None) -> None:
        """
        Report the plan that ``read_plan`` returns.

        If the last report was too recent for
        :class:`fixedfleet.search.task.ReportPace`, the plan is held back. A call
        without an argument reports the plan that was held back last, if there is one
        and enough time has passed.
        """


def plans_of_callback(
    run: Callable[[Report, Deadline], None], deadline: Deadline
) -> Iterator[Plan]:
    """
    Run a solver in a thread, and yield the plans that it reports.

    The solver pauses while a plan is read and checked. So solver and check never
    compete for the processor, and a plan arrives at the time at which it was found. If
    ``stop`` returns True or the iterator is closed, the deadline that the solver was
    given is over. A solver that does not check the deadline runs on until its own
    limit, and its later plans are lost.

    Parameters
    ----------
    run
        Runs the solver. It is called with a :class:`Report` and the deadline.
    deadline
        When the solver must end.
    """
    # The thread sends plans. When it ends, it sends None or its error.
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
