"""A batch under way: the plans so far, and the clock."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from typing import TYPE_CHECKING, Literal

import numpy as np

from fixedfleet.fleet import assess_batch
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.plan import PlanBatch
from fixedfleet.progress import ProgressPrinter
from fixedfleet.solve import Objective, Stage
from fixedfleet.solve_batch.core import Job, Task, do
from fixedfleet.solve_batch.result import BatchResult
from fixedfleet.starts import complete
from fixedfleet.workers import Lost, available_cores, run_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.plan import Plan

__all__ = ["Work"]

_CHUNK_SECONDS = 0.5  # of work that a process is given at a time
_CHUNK = 64  # instances that it is given at most
_CHUNKS = 4  # times that each process is given some, at least, so that all end at once
_DEAR = 0.05  # a vehicle's share of a plan's length from which on none is wasted


class Work:
    """One call of :func:`solve_batch`: the plans so far, and the clock."""

    def __init__(
        self,
        instances: InstanceBatch,
        seed: int,
        objective: Objective,
        vehicle_cost: float,
        display: bool,
    ) -> None:
        self.clock = time.perf_counter()
        self.instances = instances
        self.seed = seed
        self.objective: Objective = objective
        self.vehicle_cost = vehicle_cost
        self.charged = vehicle_cost if objective == "cost-v" else 0.0
        self.display = display
        self.stages: list[Stage] = []
        self.interrupted = False

    def say(self, text: str) -> None:
        """Print a line, if anybody wants to see it."""
        if self.display:
            print(text, file=sys.stdout, flush=True)

    def judge(self, time_limit: float) -> None:
        """Find out which fleets suffice; the witnesses are the first plans."""
        self.verdict = assess_batch(
            self.instances, time_limit=time_limit, smallest=self.charged > 0
        )
        self.rows = np.flatnonzero(self.verdict.feasible)
        self.good = self.instances[self.rows]
        self.packings = self.verdict.packings[self.rows]
        self.plans = self.packings
        self._done("fleet")

    def predict(self, device: str) -> None:
        """Let a network plan; whom it leaves out is put back, or the packing taken."""
        from fixedfleet.planning.predicted import predicted_plans

        plans = predicted_plans(self.good, device=device)
        mended = {}
        for row in np.flatnonzero(~plans.feasible(self.good)).tolist():
            plan = complete(self.good[row], plans[row], seed=self.seed + row)
            mended[row] = plan or self.packings[row]
        self.plans = _replaced(plans, mended)
        self._done("network")

    def over_cores(self, name: str, task: Task, processes: int | None) -> None:
        """Do a task for each instance, in processes."""
        found: dict[int, Plan] = {}
        printer = ProgressPrinter(sys.stdout, in_place=False)
        processes = processes or available_cores()
        jobs = list(self._chunks(task, processes))
        engine: Literal["here", "processes"]
        engine = "here" if min(processes, len(jobs)) <= 1 else "processes"
        with (
            interrupt_noted() as pressed,
            contextlib.closing(
                run_jobs(do, jobs, engine=engine, processes=processes, ending=pressed)
            ) as events,
        ):
            for event in events:
                if isinstance(event, Lost):
                    raise RuntimeError(f"{event.reason} while it searched")
                found.update(event.value)
                if self.display:
                    seconds = time.perf_counter() - self.clock
                    count = f"{len(found):,} of {len(self.good):,} instances"
                    printer.show(f"{name}: {count}, {seconds:.1f} s")
            self.interrupted = pressed()
        self.plans = _replaced(self.plans, found)
        self._done(name)

    def on_gpu(self, time_limit: float | None, iterations: int | None) -> None:
        """Improve all plans at once."""
        from fixedfleet.search.gpu import improve_batch
        from fixedfleet.search.gpu_clock import Rounds

        bounded, starts = self._bounded()
        seed, charged = self.seed, self.charged
        try:
            if iterations is not None:
                self.plans = improve_batch(
                    bounded,
                    starts,
                    iterations=iterations,
                    seed=seed,
                    vehicle_cost=charged,
                )
            elif time_limit is not None:
                rounds = Rounds(bounded, starts, seed=seed, vehicle_cost=charged)
                seconds = time_limit * len(starts)
                end = time.perf_counter() + seconds
                rounds.run(seconds, lambda: end - time.perf_counter(), told=self._keep)
        except KeyboardInterrupt:
            self.interrupted = True
        self._done("gpu")

    def result(self) -> BatchResult:
        """Check and measure every plan."""
        plans = PlanBatch.gather(len(self.instances), [(self.rows, self.plans.routes)])
        solved = np.zeros(len(self.instances), dtype=bool)
        solved[self.rows] = self.plans.feasible(self.good)
        lengths = np.full(len(self.instances), math.inf)
        lengths[self.rows] = self.plans.lengths(self.good)
        lengths[~solved] = math.inf
        self._done("check")
        return BatchResult(
            plans=plans,
            statuses=self.verdict.statuses,
            reasons=self.verdict.reasons,
            feasible=solved,
            lengths=lengths,
            costs_v=lengths + self.vehicle_cost * plans.vehicles(),
            stages=tuple(self.stages),
            objective=self.objective,
            vehicle_cost=self.vehicle_cost,
            interrupted=self.interrupted,
        )

    def _keep(self, plans: PlanBatch) -> None:
        self.plans = plans

    def _bounded(self) -> tuple[InstanceBatch, PlanBatch]:
        """Bound the fleets to the fewest vehicles where another is never worth it."""
        fewest = self.packings.vehicles()
        dear = self.charged >= _DEAR * self.packings.lengths(self.good)
        if not self.charged or not dear.any():
            return self.good, self.plans
        within = self.plans.vehicles() <= fewest
        starts = self.packings.where(dear & ~within, self.plans)
        bound = np.where(dear, fewest, self.good.vehicles)
        return self.good.with_vehicles(bound), starts

    def _chunks(self, task: Task, processes: int) -> Iterator[Job]:
        size = min(_CHUNK, max(1, -(-len(self.good) // (_CHUNKS * processes))))
        if task.time_limit is not None:
            size = min(size, max(1, int(_CHUNK_SECONDS / task.time_limit)))
        for begin in range(0, len(self.good), size):
            rows = np.arange(begin, min(begin + size, len(self.good)))
            yield Job(
                task,
                rows,
                self.good[rows],
                self.plans[rows],
                self.packings[rows],
            )

    def _done(self, name: str) -> None:
        """Close a stage; measuring what it left behind counts for the next."""
        now = time.perf_counter()
        costs = self.plans.costs_v(self.good, self.charged)
        cost = float(costs.mean()) if len(costs) else math.inf
        gain = self.stages[-1].cost - cost if self.stages and len(costs) else 0.0
        self.stages.append(Stage(name, now - self.clock, cost, gain))
        self.say(f"{name}: {now - self.clock:.3f} s, mean cost {cost:g}")
        self.clock = now


def _replaced(plans: PlanBatch, others: dict[int, Plan]) -> PlanBatch:
    """Return plans with others in some rows."""
    return plans.replace(list(others), PlanBatch.from_plans(others.values()))
