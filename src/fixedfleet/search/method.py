"""What every search has in common: when it ends, what it is given, what comes out.

A search is a function of one argument, a :class:`SearchTask`. It offers the plans that
it finds to the task and returns when the task's :class:`Stop` says so::

    def my_search(task: SearchTask) -> None:
        while not task.stop.over():
            task.offer(...)
"""

from __future__ import annotations

import copy
import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fixedfleet.errors import InputError, above, at_least, check_number, check_whole
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.instance import Instance

__all__ = [
    "LEAST_SECONDS",
    "Incumbent",
    "SearchMethod",
    "SearchResult",
    "SearchTask",
    "Stop",
    "better",
    "fit",
]

LEAST_SECONDS = 1e-3  # a step of a search is not worth its set-up in less time


class Stop:
    """
    When a search ends, and the one clock that it looks at.

    Parameters
    ----------
    seconds
        Time limit, counted from now. Default: none.
    iterations
        Most iterations. At least one of the two limits must be given.
    asked
        A function that is called now and then; the search ends when it returns True.

    Attributes
    ----------
    seconds
        The time limit; infinite if there is none.
    iterations
        Most iterations, or None.
    done
        Iterations counted so far.
    """

    def __init__(
        self,
        seconds: float | None = None,
        *,
        iterations: int | None = None,
        asked: Callable[[], bool] | None = None,
    ) -> None:
        if seconds is None and iterations is None:
            raise InputError("give a time limit or a number of iterations")
        if seconds is not None:
            seconds = check_number("time limit", seconds, above(0))
        if iterations is not None:
            iterations = check_whole("iterations", iterations, at_least(1))
        self.seconds = math.inf if seconds is None else seconds
        self.iterations = iterations
        self.done = 0
        self._asked = asked
        self._interrupted = False
        self._paused = 0.0  # seconds that do not count
        self._whole = self  # the stop that this one is a part of
        self._begin = time.perf_counter()

    def again(self, asked: Callable[[], bool] | None = None) -> Stop:
        """Return a stop with the same limits, whose own clock starts now."""
        seconds = None if math.isinf(self.seconds) else self.seconds
        return Stop(seconds, iterations=self.iterations, asked=asked)

    def part(self, share: float = 1.0) -> Stop:
        """
        Return the stop of one step of a search, whose time begins now.

        It ends when this share of the seconds of the whole is used, and whenever the
        whole ends. Both have the same clock.
        """
        step = copy.copy(self)
        step._begin = self._now()
        step.seconds = max(0.0, self._begin + share * self.seconds - step._begin)
        step.done = 0
        return step

    def elapsed(self) -> float:
        """Seconds since the clock was started, for a part as for the whole."""
        return self._now() - self._whole._begin

    def left(self) -> float:
        """Seconds left, 0 if the search is to end at once."""
        whole = self._whole
        if whole._interrupted or (self._asked is not None and self._asked()):
            return 0.0
        return max(0.0, self._begin + self.seconds - self._now())

    def over(self) -> bool:
        """Whether the search is to end."""
        if self.iterations is not None and self.done >= self.iterations:
            return True
        return self.left() <= 0.0

    def count(self, iterations: int) -> None:
        """Count iterations that were done."""
        self.done += iterations
        if self is not self._whole:
            self._whole.done += iterations

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time inside the block not count: loading and compiling code."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._whole._paused += time.perf_counter() - before

    @property
    def interrupted(self) -> bool:
        """Whether the user pressed Ctrl-C during a search."""
        return self._whole._interrupted

    def interrupt(self) -> None:
        """End the whole search now, because the user pressed Ctrl-C."""
        self._whole._interrupted = True

    def require_seconds(self, who: str) -> float:
        """Return the time limit; raise InputError if there is none."""
        if math.isinf(self.seconds):
            raise InputError(f"{who} cannot count iterations: give a time limit")
        return self.seconds

    def _now(self) -> float:
        return time.perf_counter() - self._whole._paused


class SearchMethod(Protocol):
    """A search: offers better plans to its task until the task's time is over."""

    def __call__(self, task: SearchTask, /) -> None: ...


@dataclass(frozen=True)
class SearchTask:
    """
    What a search is given.

    Attributes
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        The plan to start from, within fleet and capacity. It may leave customers
        unassigned.
    stop
        When to end.
    best
        Keeps the best plan found.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used; the search minimises the length plus this.
    fewest
        A plan with the smallest number of vehicles, if one is known.
    cores
        The most cores that the search may use.
    """

    instance: Instance
    start: Plan
    stop: Stop
    best: Incumbent
    seed: int = 0
    vehicle_cost: float = 0.0
    fewest: Plan | None = None
    cores: int = 1

    def offer(self, plan: Plan) -> None:
        """Report a plan; it is kept if it is better than the best one so far."""
        self.best.offer(plan)


class Incumbent:
    """
    The best plan of a search so far.

    Parameters
    ----------
    instance
        The instance that plans are checked and measured with.
    start
        The first plan.
    stop
        Whose clock is noted.
    vehicle_cost
        Fixed cost of each vehicle used.
    on_improvement
        Called with (seconds, cost, plan) for each better plan without unassigned
        customers.

    Attributes
    ----------
    plan, cost
        The best plan and its cost.
    trace
        (seconds, cost) of each improvement.
    """

    def __init__(
        self,
        instance: Instance,
        start: Plan,
        stop: Stop,
        vehicle_cost: float = 0.0,
        on_improvement: Callable[[float, float, Plan], None] | None = None,
    ) -> None:
        self.instance = instance
        self.stop = stop
        self.vehicle_cost = vehicle_cost
        self.on_improvement = on_improvement
        self.plan = start
        self.unassigned = len(start.unserved(instance))
        self.cost = start.cost_v(instance, vehicle_cost)
        self.trace: list[tuple[float, float]] = []
        self._next = 0.0

    @property
    def watched(self) -> bool:
        """Whether somebody wants to see a plan now, before the search ends."""
        return self.on_improvement is not None and self.stop.elapsed() >= self._next

    def offer(self, plan: Plan) -> None:
        """
        Keep a plan if it is better: fewer unassigned customers, then lower cost.

        Raises
        ------
        RuntimeError
            If the plan is better but exceeds fleet or capacity or serves a customer
            twice.
        """
        begin = self.stop.elapsed()
        unassigned = len(plan.unserved(self.instance))
        cost = plan.cost_v(self.instance, self.vehicle_cost)
        if (unassigned, cost) >= (self.unassigned, self.cost):
            return
        faults = plan.check(self.instance)
        if len(faults) > unassigned:  # each unassigned customer is one fault
            other = next(fault for fault in faults if not fault.endswith("missing"))
            raise RuntimeError(f"the search returned a wrong plan: {other}")
        self.plan, self.unassigned, self.cost = plan, unassigned, cost
        self.report()
        # Plans that are only shown take at most a tenth of the time.
        self._next = self.stop.elapsed() + 9 * (self.stop.elapsed() - begin)

    def report(self) -> None:
        """Note and report the best plan, unless it leaves customers unassigned."""
        if self.unassigned:
            return
        self.note(self.cost)
        if self.on_improvement is not None:
            self.on_improvement(*self.trace[-1], self.plan)

    def note(self, cost: float) -> None:
        """Add a cost to the trace if it is the lowest; its plan is offered later."""
        if not self.trace or cost < self.trace[-1][1]:
            self.trace.append((self.stop.elapsed(), cost))


@dataclass(frozen=True)
class SearchResult:
    """
    The best plan of a search, and how it was found.

    Attributes
    ----------
    plan
        The best plan found. It may leave customers unassigned if the start did.
    cost
        Its length, plus the vehicle cost of each vehicle used.
    seconds
        Time of the search.
    iterations
        Iterations done.
    trace
        Each improvement as (seconds on the clock of the :class:`Stop`, best cost). Only
        plans without unassigned customers count.
    interrupted
        Whether the user ended the search with Ctrl-C.
    """

    plan: Plan
    cost: float
    seconds: float
    iterations: int = 0
    trace: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    interrupted: bool = False


def better(instance: Instance, found: Plan, known: Plan, vehicle_cost: float) -> Plan:
    """
    Return the better of two plans, the known one on a tie.

    A plan with fewer unassigned customers is better; among equals, the cheaper one.
    """

    def rank(plan: Plan) -> tuple[int, float]:
        return len(plan.unserved(instance)), plan.cost_v(instance, vehicle_cost)

    return found if rank(found) < rank(known) else known


def fit(instance: Instance, start: Plan) -> Plan:
    """
    Return a start without the tours and customers that exceed fleet or capacity.

    Raises
    ------
    InputError
        If the start serves a customer twice or one that does not exist.
    """
    served = [customer for tour in start.tours for customer in tour]
    if (
        len(set(served)) < len(served)
        or max(served, default=0) > instance.num_customers
    ):
        fault = start.check(instance)[0]  # such faults come first
        raise InputError(f"the start is not a plan for this instance: {fault}")
    units, capacity = instance.demand_units, instance.capacity_units
    tours = []
    for tour in start.tours:
        kept, load = [], 0
        for customer in tour:
            if load + units[customer] <= capacity:
                kept.append(customer)
                load += units[customer]
        tours.append(kept)
    if len(tours) > instance.vehicles:
        tours = sorted(tours, key=len, reverse=True)[: instance.vehicles]
    return Plan(tours)
