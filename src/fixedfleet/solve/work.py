"""The steps of the pipeline, and what is known after each."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from fixedfleet.fleet import assess_fleet
from fixedfleet.plan import Plan
from fixedfleet.search import SearchName, better, improve
from fixedfleet.search.partial import partial_plan
from fixedfleet.solve.result import Objective, Result, Stage
from fixedfleet.starts import StartName, make_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance

__all__ = ["Work"]

_LEAST_SECONDS = 1e-3  # that a search gets, however long the rest took
_PARTIAL_SHARE = 0.2  # of the time, for a plan that leaves customers out


class Work:
    """One call of :func:`solve`: what is known so far, and the clock."""

    def __init__(
        self,
        asked: Instance,
        time_limit: float,
        seed: int,
        objective: Objective,
        vehicle_cost: float,
        stop: Callable[[], bool] | None,
    ) -> None:
        self.begin = self.clock = time.perf_counter()
        self.instance = asked
        self.time_limit = time_limit
        self.seed = seed
        self.objective: Objective = objective
        self.vehicle_cost = vehicle_cost
        self.charged = vehicle_cost if objective == "cost-v" else 0.0
        self.stop = stop
        self.plan: Plan | None = None
        self.partial: Plan | None = None
        self.wider: Plan | None = None  # to fall back to, for a larger fleet
        self.stages: list[Stage] = []
        self.trace: tuple[tuple[float, float], ...] = ()
        self.interrupted = False

    def judge(self, guarantee: bool) -> None:
        """Find out whether the fleet suffices."""
        self.verdict = assess_fleet(self.instance, time_limit=self.time_limit / 2)
        self.plan = self.verdict.packing
        if guarantee and self.plan is None:
            self.wider = self.verdict.smallest_packing
        self._done("fleet", self.plan or self.wider)

    def leave_out(self, *, searched: bool) -> None:
        """Plan for the fleet there is without some, or else for a wider one."""
        alone = self.verdict.status == "impossible" and self.wider is None
        share = (1.0 if alone else _PARTIAL_SHARE) if searched else 0.0
        if searched:
            self._load_search()
        found = partial_plan(
            self.instance,
            time_limit=share * self._left(),
            seed=self.seed,
            vehicle_cost=self.charged,
            stop=self.stop,
        )
        self.interrupted = found.interrupted
        if not found.plan.unserved(self.instance):
            self.plan = found.plan
            self._done("partial", self.plan)
            return
        self.partial = found.plan
        self._done("partial", self.partial, whole=False)
        if self.wider is not None:
            self.plan = self.wider
            self.instance = self.instance.with_vehicles(self.wider.vehicles)

    def begin_with(self, start: Plan | StartName) -> None:
        """Take or make the plan that the search begins with."""
        if isinstance(start, Plan):
            self.plan = start
            self._done("start", start)
        elif start not in ("auto", "packing") and self.worth_a_search:
            self.plan = make_start(start, self.instance, self.plan, seed=self.seed)
            self._done(start, self.plan)

    @property
    def worth_a_search(self) -> bool:
        """Whether a plan may exist, and the user has not had enough."""
        impossible = self.plan is None and self.verdict.status == "impossible"
        return not (impossible or self.interrupted)

    def improve(
        self,
        search: SearchName,
        on_improvement: Callable[[float, float, Plan], None] | None,
    ) -> None:
        """Search from the best plan so far, whomever it leaves out."""
        fewest = self.verdict.smallest_packing
        if fewest is not None and fewest.vehicles > self.instance.vehicles:
            fewest = None
        found = improve(
            self.instance,
            self.plan or self.partial or Plan([]),
            search=search,
            time_limit=self._left(),
            seed=self.seed,
            vehicle_cost=self.charged,
            fewest=fewest,
            on_improvement=on_improvement,
            stop=self.stop,
        )
        self.trace, self.interrupted = found.trace, found.interrupted
        if not found.plan.unserved(self.instance):
            self.plan = found.plan
            if self.instance.vehicles == self.verdict.vehicles:
                self.partial = None
        elif self.partial is not None:
            self.partial = better(self.instance, found.plan, self.partial, self.charged)
        self._done(search, self.plan)

    def result(self) -> Result:
        """Return what came out."""
        return Result(
            instance=self.instance,
            plan=self.plan,
            verdict=self.verdict,
            stages=tuple(self.stages),
            trace=self.trace,
            objective=self.objective,
            vehicle_cost=self.vehicle_cost,
            interrupted=self.interrupted,
            partial=self.partial,
        )

    def _load_search(self) -> None:
        """Load the search for whom to leave out, whichever other follows."""
        from fixedfleet.search.ruin_recreate import warm_up

        before = time.perf_counter()
        warm_up()
        self.begin += time.perf_counter() - before

    def _left(self) -> float:
        left = self.time_limit - (time.perf_counter() - self.begin)
        return max(left, _LEAST_SECONDS)

    def _done(self, name: str, plan: Plan | None, *, whole: bool = True) -> None:
        """Close a stage; a plan that is not whole gains nothing on the others."""
        now = time.perf_counter()
        cost = math.inf if plan is None else plan.cost_v(self.instance, self.charged)
        before = next(
            (stage.cost for stage in reversed(self.stages) if stage.name != "partial"),
            math.inf,
        )
        gain = before - cost if whole and before < math.inf else 0.0
        self.stages.append(Stage(name, now - self.clock, cost, gain))
        self.clock = now
