"""One search on several cores: it runs side by side with itself and exchanges plans.

Each of the searches has a thread and a seed of its own, so they find different plans.
Between two of its steps a search calls the ``exchange`` of its task with its best plan,
and goes on from the plan that it gets back::

    while not task.deadline.over():
        plan = task.exchange(plan)
        ...

A search whose plan is in the worse half of all gets the best plan. The others keep
their own, so that the searches do not all become the same.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.search.task import rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.plan import Plan
    from fixedfleet.search.task import Search, SearchTask

__all__ = ["Exchange", "search_side_by_side"]

_POLL_SECONDS = 0.02  # after which a deadline is looked at again while threads work
_GRACE_SECONDS = 0.05  # for stopped threads to end; then they are abandoned
_BRIEF_SECONDS = 0.1  # a single search that is this short runs without a thread
_SEED_STEP = 7919  # between the seeds of two searches, which count on from there


def search_side_by_side(
    search: Search, task: SearchTask, count: int | None = None
) -> Iterator[Plan]:
    """
    Run a search in several threads; yield each plan that is better than all before.

    With a limit on iterations, the same seed, number of cores and count give a plan of
    the same cost. It may be another plan if several searches find plans of this cost.
    With a time limit, no search waits for another one.

    Some compiled code does not ask whether to stop. If a thread runs such code when the
    search is stopped, it is not waited for, and the plan that it finds is lost.

    Parameters
    ----------
    search
        The search. Each thread runs it with a copy of the task.
    task
        The task. All searches begin from its initial plan, and share its cores and
        iterations. Only the calling thread calls the ``stop`` of its deadline.
    count
        Number of searches. Default: one for each core.
    """
    count = task.cores if count is None else count
    if count == 1 and task.deadline.seconds <= _BRIEF_SECONDS:
        yield from search(task)
        return
    stopped = threading.Event()
    exchange = Exchange(task, count, stopped.is_set)
    limit = replace(task.deadline, stop=stopped.is_set)
    if limit.iterations is not None:
        limit = replace(limit, iterations=max(1, limit.iterations // count))
    news: queue.SimpleQueue[_News] = queue.SimpleQueue()
    for number in range(count):
        own = replace(
            task,
            deadline=limit,
            seed=task.seed + _SEED_STEP * number,
            cores=max(1, task.cores // count + (number < task.cores % count)),
            exchange=exchange.of(number),
        )
        run = search, own, exchange.end_of(number), stopped, news
        threading.Thread(target=_run, args=run, daemon=True).start()
    try:
        yield from _better_plans(task, count, stopped, news)
    finally:  # also if ``stop`` raises an error, or if no further plan is wanted
        stopped.set()


class _News:
    """
    A message of a search thread: a plan, an error, or None when the search has ended.
    """

    def __init__(self, found: Plan | BaseException | None) -> None:
        self.found = found
        self.received = threading.Event()


def _run(
    search: Search,
    task: SearchTask,
    end: Callable[[], None],
    stopped: threading.Event,
    news: queue.SimpleQueue[_News],
) -> None:
    """Run one search in this thread, and report its plans and its end."""
    try:
        for plan in search(task):
            found = _News(plan)
            news.put(found)
            # ReportPace counts this wait as the time of a report. So a search reports
            # rarely, and reports take little of the calling thread's time.
            while not found.received.wait(_POLL_SECONDS):
                if stopped.is_set():
                    return
        end()
        news.put(_News(None))
    except BaseException as error:  # the calling thread raises it
        news.put(_News(error))


def _better_plans(
    task: SearchTask,
    running: int,
    stopped: threading.Event,
    news: queue.SimpleQueue[_News],
) -> Iterator[Plan]:
    """
    Yield each plan of the threads that is better than all before, until all have ended.

    ``running`` is the number of threads. After the time limit, only the best of the
    remaining plans is yielded. If the search is stopped, threads that do not end soon
    are not waited for.
    """
    stop = task.deadline.stop
    least = rank(task.instance, task.initial_plan, task.vehicle_cost)
    last, patience = None, math.inf
    while running and time.monotonic() < patience:
        if not stopped.is_set() and stop is not None and stop():
            stopped.set()
            patience = time.monotonic() + _GRACE_SECONDS
        try:
            one = news.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            continue
        if isinstance(one.found, BaseException):
            raise one.found
        if one.found is None:
            running -= 1
        elif (value := rank(task.instance, one.found, task.vehicle_cost)) < least:
            least, last = value, one.found
            if not task.deadline.over():
                yield last
                last = None
        one.received.set()
    if last is not None:
        yield last


class Exchange:
    """
    The exchange of plans between searches that run side by side.

    A search hands in a plan by calling its ``exchange`` function, which :meth:`of`
    returns. The function compares the plan with one plan of each other search, and
    returns the plan with which the search goes on.

    With a time limit, the plan of another search is the latest that it has handed in.
    With a limit on iterations, call k of a search takes the plan that the other search
    handed in at its call k − 1, and waits for this plan if necessary. So the result
    does not depend on the speed of the threads.

    Parameters
    ----------
    task
        The task of all searches. Its instance and its vehicle cost determine which of
        two plans is better; its deadline says whether iterations are limited.
    count
        Number of searches.
    stopped
        Returns whether all searches must end. Then no search waits any longer.
    """

    def __init__(
        self, task: SearchTask, count: int, stopped: Callable[[], bool]
    ) -> None:
        self._task = task
        self._stopped = stopped
        self._in_turn = task.deadline.iterations is not None
        # The latest plans of each search, and how many it has left in all. If searches
        # wait for each other, none is more than one plan ahead, so three plans suffice.
        self._plans: list[deque[Plan]] = [deque(maxlen=3) for _ in range(count)]
        self._times = [0] * count
        self._ended = [False] * count
        self._changed = threading.Condition()

    def of(self, number: int) -> Callable[[Plan], Plan]:
        """
        Return the function by which the search with this number exchanges plans.

        It is the ``exchange`` of the search's task: it is called with the search's own
        plan, and returns the plan from which the search goes on.
        """

        def exchange(plan: Plan) -> Plan:
            with self._changed:
                self._plans[number].append(plan)
                self._times[number] += 1
                self._changed.notify_all()
                if self._in_turn:
                    self._await_others(number)
                plans = [
                    (other, plan if other == number else self._plan_of(other, number))
                    for other in range(len(self._plans))
                ]
            return self._choose(number, plan, plans)

        return exchange

    def end_of(self, number: int) -> Callable[[], None]:
        """Return the function that the search with this number calls at its end."""

        def end() -> None:
            with self._changed:
                self._ended[number] = True
                self._changed.notify_all()

        return end

    def _await_others(self, number: int) -> None:
        """
        Wait for the plans that the latest call of search ``number`` needs.

        If this is its call k, every other search must have handed in at least k − 1
        plans. A search that has ended is not waited for.
        """
        needed = self._times[number] - 1
        for other, times in enumerate(self._times):
            while times < needed and not self._ended[other] and not self._stopped():
                self._changed.wait(_POLL_SECONDS)
                times = self._times[other]

    def _plan_of(self, other: int, number: int) -> Plan | None:
        """
        Return the plan that search ``other`` contributes to an exchange of ``number``.

        It is the latest exchange of search ``number``. The docstring of the class says
        which plan is taken. Return None if there is none.
        """
        plans = self._plans[other]
        if not plans:
            return None
        if not self._in_turn:
            return plans[-1]
        ahead = self._times[other] - (self._times[number] - 1)
        return plans[-1 - max(0, ahead)] if ahead < len(plans) else None

    def _choose(
        self, number: int, own: Plan, plans: list[tuple[int, Plan | None]]
    ) -> Plan:
        """
        Return ``own``, or the best of ``plans`` if ``own`` is in their worse half.

        ``plans`` has (number of the search, its plan) for each search, including this
        one. The plan is None if a search has not handed in any.
        """
        task = self._task
        ranked = sorted(
            (rank(task.instance, plan, task.vehicle_cost), other, plan)
            for other, plan in plans
            if plan is not None
        )
        place = next(k for k, (_, other, _) in enumerate(ranked) if other == number)
        return own if 2 * place < len(ranked) else ranked[0][2]
