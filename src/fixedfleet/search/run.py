"""A search under way: its clock, the best plan so far and how it came about."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fixedfleet.search.result import SearchResult, better

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["Run"]


class Run:
    """
    Keeps the best plan of a search that consists of several steps.

    Parameters
    ----------
    instance
        The instance to plan for.
    start
        The plan to begin with.
    time_limit
        Seconds for all steps together, from now.
    vehicle_cost
        Fixed cost of each vehicle used.
    on_improvement
        Called with (seconds, cost, plan) as the best plan becomes better.
    stop
        Asked before each step; there is none after it answers True.
    """

    def __init__(
        self,
        instance: Instance,
        start: Plan,
        *,
        time_limit: float,
        vehicle_cost: float = 0.0,
        on_improvement: Callable[[float, float, Plan], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self.begin = time.perf_counter()
        self.instance = instance
        self.best = start
        self.time_limit = time_limit
        self.vehicle_cost = vehicle_cost
        self.on_improvement = on_improvement
        self.stop = stop
        self.iterations = 0
        self.interrupted = False
        self.trace: list[tuple[float, float]] = []
        self._record(start)

    def elapsed(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.begin

    def left(self, until: float = 1.0) -> float:
        """Seconds until a share of the time is used; 0 if the user has had enough."""
        if self.interrupted or (self.stop is not None and self.stop()):
            return 0.0
        return self.time_limit * until - self.elapsed()

    def offer(self, plan: Plan) -> None:
        """Keep a plan if it is better than the best."""
        kept = better(self.instance, plan, self.best, self.vehicle_cost)
        if kept is not self.best:
            self.best = kept
            self._record(kept)

    def result(self) -> SearchResult:
        """Return the best plan and how it was found."""
        return SearchResult(
            plan=self.best,
            cost=self.best.cost_v(self.instance, self.vehicle_cost),
            seconds=self.elapsed(),
            iterations=self.iterations,
            trace=tuple(self.trace),
            interrupted=self.interrupted,
        )

    def _record(self, plan: Plan) -> None:
        """Note an improvement and tell the user."""
        if plan.unserved(self.instance):
            return
        cost = plan.cost_v(self.instance, self.vehicle_cost)
        self.trace.append((self.elapsed(), cost))
        if self.on_improvement is not None:
            self.on_improvement(*self.trace[-1], plan)
