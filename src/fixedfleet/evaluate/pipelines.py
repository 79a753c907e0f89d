"""The methods that specs stand for: a start, a start and a search, or a solver."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet import solvers
from fixedfleet.errors import InputError
from fixedfleet.evaluate.counting import COUNTING, count
from fixedfleet.evaluate.packages import require_search
from fixedfleet.evaluate.protocol import Answer
from fixedfleet.evaluate.starters import NamedStart, NetworkStart
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import Stop, fit
from fixedfleet.search.construct import complete, make_start
from fixedfleet.solve import solve
from fixedfleet.solve_batch import solve_batch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fixedfleet.evaluate.protocol import Limit
    from fixedfleet.evaluate.rows import Trace
    from fixedfleet.evaluate.starters import Starter
    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.construct import StartName
    from fixedfleet.solve import Objective, Result
    from fixedfleet.solve_batch import BatchStart

__all__ = ["BatchesOnGpu", "SolverAlone", "StartAlone", "StartAndSearch"]

_SILENT = ("pyvrp", "vroom", "ortools", "lkh")  # that report no improvements

_LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class StartAlone:
    """
    A start's plans as they are.

    Parameters
    ----------
    name
        Name in the rows.
    starter
        Makes the plans.
    batch
        Instances at once.
    on_gpu
        Whether it computes on a GPU.
    """

    name: str
    starter: Starter
    batch: int = 1
    on_gpu: bool = False

    limits: tuple[Limit, ...] = ()
    objective: Objective = "length"

    def check(self) -> None:
        """Raise MissingPackageError or InputError if it cannot run here."""
        self.starter.check()

    def network(self, customers: int) -> Path | None:
        """Return the file of the network it takes for a size, if it takes one."""
        return _network(self.starter, customers)

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """Plan all instances at once."""
        return [Answer(plan) for plan in self.starter.plans(instances, seed)]


@dataclass(frozen=True)
class SolverAlone:
    """
    An outside solver, from nothing.

    Parameters
    ----------
    name
        Name of the solver, and in the rows.
    """

    name: str

    batch: int = 1
    on_gpu: bool = False
    objective: Objective = "length"

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Limits it heeds."""
        return _limits(self.name)

    def check(self) -> None:
        """Raise MissingPackageError or InputError if it cannot run here."""
        require_search(self.name)

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """Plan one instance after the other."""
        if iterations is not None:
            return [count(self.name, i, None, iterations, seed) for i in instances]
        limit = _required(time_limit, self.name)
        solver = solvers.get(self.name)
        return [
            Answer(solvers.run(solver, instance, stop=Stop(limit), seed=seed).plan)
            for instance in instances
        ]


@dataclass(frozen=True)
class StartAndSearch:
    """
    A start and the search that improves it, within one limit.

    A start that leaves customers out or exceeds the fleet is cut to the fleet and
    completed, or where that fails replaced by the packing, as in
    :func:`fixedfleet.solve`: the search keeps the bound.

    Parameters
    ----------
    name
        Name in the rows.
    starter
        Makes the plan to start from.
    search
        Improves it.
    objective
        What the search minimises.
    guarantee
        Whether to plan for the smallest fleet that suffices where this one does not.
    on_gpu
        Whether the start computes on a GPU.
    """

    name: str
    starter: Starter
    search: str
    objective: Objective = "length"
    guarantee: bool = False
    on_gpu: bool = False

    batch: int = 1

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Limits it heeds."""
        return _limits(self.search)

    def check(self) -> None:
        """Raise MissingPackageError or InputError if it cannot run here."""
        self.starter.check()
        require_search(self.search)

    def network(self, customers: int) -> Path | None:
        """Return the file of the network it takes for a size, if it takes one."""
        return _network(self.starter, customers)

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """Plan one instance after the other."""
        if iterations is not None:
            return [self._count(i, iterations, seed, vehicle_cost) for i in instances]
        limit = _required(time_limit, self.name)
        return [self._time(i, limit, seed, vehicle_cost) for i in instances]

    def _time(
        self, instance: Instance, time_limit: float, seed: int, vehicle_cost: float
    ) -> Answer:
        begin = time.perf_counter()
        start: Plan | StartName = "packing"
        if isinstance(self.starter, NamedStart):
            start = self.starter.name
        else:
            if self.guarantee:
                # The starter is to plan for the fleet that the search will have.
                verdict = assess_fleet(instance, time_limit=time_limit / 4)
                instance = _widened(instance, verdict)
            start = self._first(instance, seed) or "packing"
        result = solve(
            instance,
            max(time_limit - (time.perf_counter() - begin), _LEAST_SECONDS),
            seed=seed,
            start=start,
            search=self.search,
            objective=self.objective,
            vehicle_cost=vehicle_cost,
            guarantee=self.guarantee,
            # For a full trace.
            on_improvement=_ignore if self.search == "ruin_recreate" else None,
        )
        if result.plan is None:
            return Answer(None, reason=result.verdict.reason)
        seconds = time.perf_counter() - begin
        return Answer(result.plan, self._trace(result, seconds))

    def _trace(self, result: Result, seconds: float) -> Trace:
        """Improvements by the clock of the whole call, not of the search."""
        if self.search in _SILENT:
            return ()
        before = seconds - result.seconds
        return tuple((before + moment, cost) for moment, cost in result.trace)

    def _count(
        self, instance: Instance, iterations: int, seed: int, vehicle_cost: float
    ) -> Answer:
        verdict = assess_fleet(instance)
        packing = verdict.packing
        if verdict.status == "impossible":
            if not self.guarantee or verdict.smallest_packing is None:
                return Answer(None, reason=verdict.reason)
            packing = verdict.smallest_packing
            instance = _widened(instance, verdict)
        if isinstance(self.starter, NamedStart):
            start = make_start(self.starter.name, instance, packing, seed=seed)
        else:
            start = self._first(instance, seed) or packing
        charged = vehicle_cost if self.objective == "cost-v" else 0.0
        return count(self.search, instance, start, iterations, seed, charged)

    def _first(self, instance: Instance, seed: int) -> Plan | None:
        """Make a start that serves everybody within the fleet; None if none is found.

        What is beyond the fleet is dropped, and places are looked for.
        """
        (plan,) = self.starter.plans([instance], seed)
        return plan and complete(instance, fit(instance, plan), seed=seed)


@dataclass(frozen=True)
class BatchesOnGpu:
    """
    Whole batches on a GPU, from a start to the end of the search.

    Parameters
    ----------
    name
        Name in the rows.
    start
        What the search begins with.
    objective
        What the search minimises.
    batch
        Instances at once. The time limit is for each, so the batch has so many times
        as long.
    """

    name: str
    start: BatchStart
    objective: Objective = "length"
    batch: int = 1

    on_gpu: bool = True
    limits: tuple[Limit, ...] = ("time", "iterations")

    def check(self) -> None:
        """Raise MissingPackageError or InputError if it cannot run here."""
        from fixedfleet.search.gpu import require_gpu

        require_gpu()
        if self.start == "network":
            NetworkStart(device="cuda").check()

    def network(self, customers: int) -> Path | None:
        """Return the file of the network it takes for a size, if it takes one."""
        return _network(NetworkStart(), customers) if self.start == "network" else None

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """Plan all instances at once."""
        found = solve_batch(
            instances,
            time_limit=time_limit,
            iterations=iterations,
            seed=seed,
            start=self.start,
            search="gpu",
            objective=self.objective,
            vehicle_cost=vehicle_cost,
            processes=1,
        )
        return [
            Answer(found.plan(row), reason=found.reasons.get(row, ""))
            for row in range(len(found))
        ]


def _ignore(_seconds: float, _cost: float, _plan: Plan) -> None:
    """Take a report that nobody needs."""


def _widened(instance: Instance, verdict: FleetVerdict) -> Instance:
    """Return the instance with the smallest fleet that suffices, if its own does not.

    Where nobody knows whether it does, it is left as it is.
    """
    packing = verdict.smallest_packing
    if verdict.status != "impossible" or packing is None:
        return instance
    return instance.with_vehicles(packing.vehicles)


def _network(starter: Starter, customers: int) -> Path | None:
    return starter.file(customers) if isinstance(starter, NetworkStart) else None


def _limits(name: str) -> tuple[Limit, ...]:
    return ("time", "iterations") if name in COUNTING else ("time",)


def _required(time_limit: float | None, name: str) -> float:
    if time_limit is None:
        raise InputError(f"{name} needs a time limit")
    return time_limit
