"""
One search on several cores: it runs side by side with itself and exchanges plans.

Each of the searches has a thread and a seed of its own, so they find different plans.
Between two of its steps a search calls the ``exchange`` of its task with its plan, and
goes on from the plan that it gets back::

    while not task.deadline.over():
        plan = task.exchange(plan)
        ...

The best of all plans is combined with the others, see
:mod:`fixedfleet.search.combining`. The search that found it and the searches whose
plans are in the worse half go on from the result: of two searches, both. The others
keep their own plans, so that the searches do not all become the same.
"""

from __future__ import annotations

import math
import operator
import queue
import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.search.combining import combine, measure_tours
from fixedfleet.search.task import rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.plan import Plan
    from fixedfleet.search.combining import MeasuredPlan
    from fixedfleet.search.task import Search, SearchTask

__all__ = ["Exchange", "search_side_by_side"]

_POLL_SECONDS = 0.02  # after which a deadline is looked at again while threads work
_GRACE_SECONDS = 0.05  # for stopped threads to end; then they are abandoned
_BRIEF_SECONDS = 0.1  # a single search that is this short runs without a thread
_PATIENCE_SECONDS = 0.02  # for other searches to hand in a plan
_SEED_STEP = 7919  # between the seeds of two searches, which count on from there


def search_side_by_side(
    search: Search, task: SearchTask, count: int | None = None
) -> Iterator[Plan]:
    """
    Run a search in several threads; yield each plan that is better than all before.

    With a limit on iterations, the same seed, number of cores and count give the same
    plan: if several searches find plans of the same cost, that of the search with the
    smallest number is yielded last. With a time limit, a search waits only for a moment
    for another one.

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
        Number of searches; default: one for each core. There are no more searches than
        iterations.
    """
    count, iterations = count or task.cores, task.deadline.iterations
    if iterations is not None:
        count = min(count, iterations)  # each search does at least one
    if count == 1 and task.deadline.seconds <= _BRIEF_SECONDS:
        yield from search(task)
        return
    stopped = threading.Event()
    limit = replace(task.deadline, stop=stopped.is_set)
    exchange = Exchange(replace(task, deadline=limit), count, stopped.is_set)
    if iterations is not None:
        limit = replace(limit, iterations=iterations // count)
    news: queue.SimpleQueue[_News] = queue.SimpleQueue()
    for number in range(count):
        own = replace(
            task,
            deadline=limit,
            seed=task.seed + _SEED_STEP * number,
            cores=max(1, task.cores // count + (number < task.cores % count)),
            exchange=task.exchange if count == 1 else exchange.of(number),
        )
        run = search, own, number, exchange.end_of(number), stopped, news
        threading.Thread(target=_run, args=run, daemon=True).start()
    try:
        yield from _better_plans(task, count, stopped, news)
    finally:  # also if ``stop`` raises an error, or if no further plan is wanted
        stopped.set()


class _News:
    """
    A message of a search thread: a plan, an error, or None when the search has ended.

    ``number`` is that of the search.
    """

    def __init__(self, number: int, found: Plan | BaseException | None) -> None:
        self.number = number
        self.found = found
        self.received = threading.Event()


def _run(
    search: Search,
    task: SearchTask,
    number: int,
    end: Callable[[], None],
    stopped: threading.Event,
    news: queue.SimpleQueue[_News],
) -> None:
    """Run one search in this thread, and report its plans and its end."""
    try:
        for plan in search(task):
            found = _News(number, plan)
            news.put(found)
            # ReportPace counts this wait as the time of a report. So a search reports
            # rarely, and reports take little of the calling thread's time.
            while not found.received.wait(_POLL_SECONDS):
                if stopped.is_set():
                    return
        end()
        news.put(_News(number, None))
    except BaseException as error:  # the calling thread raises it
        news.put(_News(number, error))


def _better_plans(
    task: SearchTask,
    running: int,
    stopped: threading.Event,
    news: queue.SimpleQueue[_News],
) -> Iterator[Plan]:
    """
    Yield each plan of the threads that is better than all before, until all have ended.

    Of equal plans, that of the search with the smallest number is better, and of one
    search the last. ``running`` is the number of threads. After the time limit, only
    the best of the remaining plans is yielded. If the search is stopped, threads that
    do not end soon are not waited for.
    """
    stop = task.deadline.stop
    least = rank(task.instance, task.initial_plan, task.vehicle_cost), -1
    best, last, patience = task.initial_plan, None, math.inf
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
        elif (value := _value(task, one.found, one.number)) <= least:
            least = value
            if one.found != best:
                best = last = one.found
            if last is not None and not task.deadline.over():
                yield last
                last = None
        one.received.set()
    if last is not None:
        yield last


def _value(task: SearchTask, plan: Plan, number: int) -> tuple[tuple[int, float], int]:
    """Return (rank of a plan, number of its search). The smaller, the better."""
    return rank(task.instance, plan, task.vehicle_cost), number


class _HandedIn(NamedTuple):
    """
    A plan that a search has handed in.

    Attributes
    ----------
    rank
        How good the plan is, see :func:`~fixedfleet.search.task.rank`.
    number
        The number of the search.
    plan
        The plan.
    measured
        What is needed to combine the plan with others; None if it cannot be combined,
        because customers are unserved or vehicles differ.
    """

    rank: tuple[int, float]
    number: int
    plan: Plan
    measured: MeasuredPlan | None


class Exchange:
    """
    The exchange of plans between searches that run side by side.

    A search hands in a plan by calling its ``exchange`` function, which :meth:`of`
    returns, and the plans of all searches are compared. A search that has ended is not
    waited for; its last plan counts.

    With a limit on iterations, call k of a search waits for call k of all others, so
    that the result does not depend on the speed of the threads. With a time limit, a
    search waits for a moment only, for those that have handed in nothing since its last
    call, and the latest plans are compared.

    Parameters
    ----------
    task
        The task of all searches. Its instance and its vehicle cost determine which of
        two plans is better; its deadline says whether iterations are limited, and how
        long a search may wait. The threads of the searches call its ``stop``.
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
        self._by_calls = task.deadline.iterations is not None
        # The latest two plans of each search with their ranks, and how many it has
        # handed in. If iterations are limited, no search is more than one plan ahead.
        self._plans: list[deque[_HandedIn]] = [deque(maxlen=2) for _ in range(count)]
        self._times = [0] * count
        # By search: how many plans each one had handed in when its last call ended.
        self._seen = [[0] * count for _ in range(count)]
        self._ended = [False] * count
        self._changed = threading.Condition()
        # The plans that were combined last, and the result.
        self._combined: tuple[list[_HandedIn], Plan] | None = None

    def of(self, number: int) -> Callable[[Plan], Plan]:
        """
        Return the function by which the search with this number exchanges plans.

        It is the ``exchange`` of the search's task: it is called with the search's own
        plan, and returns the plan from which the search goes on.
        """

        def exchange(plan: Plan) -> Plan:
            own = self._hand_in(number, plan)
            with self._changed:
                self._plans[number].append(own)
                self._times[number] += 1
                self._changed.notify_all()
                self._await_others(number)
                self._seen[number] = list(self._times)
                plans = [self._plan_of(other, number) for other in self._handed_in()]
                return self._choose(own, sorted(plans, key=lambda one: one[:2]))

        return exchange

    def _hand_in(self, number: int, plan: Plan) -> _HandedIn:
        """Return the plan of a search with its rank and with what combining needs."""
        instance, measured = self._task.instance, None
        value = rank(instance, plan, self._task.vehicle_cost)
        if instance.is_plain and value[0] == 0:
            measured = measure_tours(instance, plan)
        return _HandedIn(value, number, plan, measured)

    def end_of(self, number: int) -> Callable[[], None]:
        """Return the function that the search with this number calls at its end."""

        def end() -> None:
            with self._changed:
                self._ended[number] = True
                self._changed.notify_all()

        return end

    def _await_others(self, number: int) -> None:
        """
        Wait until no other search is late, or until patience ends.

        If iterations are limited, a search is late until it has handed in as many plans
        as this one. Otherwise it is late if it has handed in none since the last call.
        """
        if self._by_calls:
            end, seen = math.inf, [self._times[number] - 1] * len(self._times)
        else:
            left = self._task.deadline.left()
            end = time.monotonic() + min(_PATIENCE_SECONDS, left)
            seen = self._seen[number]
        for other in range(len(self._times)):
            while (
                other != number
                and self._times[other] <= seen[other]
                and not self._ended[other]
                and not self._stopped()
                and (left := end - time.monotonic()) > 0
            ):
                self._changed.wait(min(left, _POLL_SECONDS))

    def _handed_in(self) -> list[int]:
        """Return the numbers of the searches that have handed in a plan."""
        return [number for number, plans in enumerate(self._plans) if plans]

    def _plan_of(self, other: int, number: int) -> _HandedIn:
        """
        Return the plan that search ``other`` contributes to an exchange of ``number``.

        This is the latest, but if iterations are limited, not a later one than that of
        search ``number``.
        """
        plans = self._plans[other]
        ahead = self._times[other] > self._times[number]
        return plans[-2] if self._by_calls and ahead else plans[-1]

    def _choose(self, own: _HandedIn, plans: list[_HandedIn]) -> Plan:
        """
        Return the plan with which a search goes on.

        The best of ``plans`` and those in the worse half get the best plan, combined
        with all others. The other searches keep their ``own`` plans. ``plans`` are
        sorted, the best first.
        """
        place = [one.number for one in plans].index(own.number)
        if 0 < place < len(plans) / 2:
            return own.plan
        known, combined = self._combined or ([], own.plan)
        if len(known) != len(plans) or any(map(operator.is_not, known, plans)):
            combined = self._combine(plans)
            self._combined = plans, combined
        return combined

    def _combine(self, plans: list[_HandedIn]) -> Plan:
        """Return the first plan with all groups of tours that cost less in others."""
        best = plans[0].measured
        if best is None:
            return plans[0].plan
        for other in plans[1:]:
            if other.measured is not None and other.plan != best.plan:
                best = combine(
                    self._task.instance, best, other.measured, self._task.vehicle_cost
                )
        return best.plan
