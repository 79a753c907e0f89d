"""The method behind a spec: a start, a start and a search, or an outside solver."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from fixedfleet.errors import InputError, check_choice
from fixedfleet.evaluate.methods import Answer, Objective
from fixedfleet.evaluate.starts import NoStart, PackingStart, first_answers
from fixedfleet.fleet import assess_fleet
from fixedfleet.plan import Plan
from fixedfleet.search import (
    SEARCHES,
    Deadline,
    SearchTask,
    drop_excess,
    improve,
    load_search,
)
from fixedfleet.search.construct import complete_plan
from fixedfleet.search.task import MIN_SECONDS
from fixedfleet.solving.solve import solve
from fixedfleet.solving.solve_batch import solve_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.evaluate.methods import Limit, Start
    from fixedfleet.instance import Instance

__all__ = ["GPU_BATCH", "Pipeline"]

GPU_BATCH = 500  # instances per call on a GPU, unless the user says otherwise

_LONGEST_SECONDS = 600.0  # the time limit of a search that ends by itself


@dataclass(frozen=True)
class Pipeline:
    """
    A method that makes initial plans and optionally improves them by a search.

    A search begins with a plan that serves all customers within the fleet. So tours
    beyond the fleet and customers beyond the capacity are removed from the initial
    plan, and unserved customers are inserted. If this fails, the search begins with the
    packing, as in :func:`fixedfleet.solve`. With ``artificial``, the search begins with
    the unchanged initial plan.

    Parameters
    ----------
    name
        Name in the rows.
    start, search
        The start, and the name of the search, empty if there is none. With
        :class:`NoStart`, the search is an outside solver that needs no start.
    objective
        What the search minimises.
    guarantee
        Whether to plan with more vehicles if the fleet is too small: with as many as
        the smallest known packing needs.
    batch
        Number of instances per call. The time limit of the search ``gpu`` is then the
        limit per instance times this number. With a batch of 1, the whole GPU searches
        for one instance.
    artificial
        Whether the search may use as many vehicles as the initial plan, even more than
        the fleet has, as in the paper. It may then empty the tours beyond the fleet.
        Customers that a network leaves unserved get such tours at first.
    prove
        Whether a lower bound is computed after the search, within the same time limit,
        as in :func:`fixedfleet.solve`.
    spec
        The method's spec, if ``name`` was chosen by the user.
    """

    name: str
    start: Start
    search: str
    objective: Objective = "length"
    guarantee: bool = False
    batch: int = 1
    artificial: bool = False
    prove: bool = False
    spec: str = ""

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, get_args(Objective))
        if self.prove and self.artificial:
            raise InputError(
                "prove=yes is for plans within the fleet: leave artificial=yes out"
            )

    @property
    def on_gpu(self) -> bool:
        """Whether the method runs on a GPU, and therefore in one process."""
        return self.search == "gpu" or self.start.on_gpu

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The kinds of limit that the method takes; empty if it takes none."""
        abilities = SEARCHES.abilities(self.search)
        if not self.search or abilities.ends_by_itself:
            return ()
        timed = self.artificial or self.prove
        counts = abilities.counts_iterations and not timed
        return ("time", "iterations") if counts else ("time",)

    def _priced(self, vehicle_cost: float) -> float:
        """
        Return the cost per vehicle that the search uses.

        It is ``vehicle_cost``, or 0 if the search minimises the length only.
        """
        return vehicle_cost if self.objective == "cost-v" else 0.0

    @property
    def _packs(self) -> bool:
        """
        Whether the start is the packing.

        Then the start makes no plan: the packing is found when the fleet is assessed.
        """
        return type(self.start) is PackingStart

    @property
    def _reports(self) -> bool:
        """Whether the search reports when it found its plans."""
        return SEARCHES.abilities(self.search).reports

    def check(self) -> None:
        """Raise MissingPackageError or InputError if the method cannot run here."""
        if self.search == "gpu":
            from fixedfleet.search.gpu import require_gpu

            require_gpu()
        elif ":" in self.search or SEARCHES.abilities(self.search).outside:
            SEARCHES.get(self.search)  # looks for the file, package or program
        self.start.check()

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """
        Return one answer per instance, for the arguments of :meth:`Method.solve`.

        The instances are planned together if ``batch`` is above 1, otherwise one by
        one.
        """
        if not self.search:
            return first_answers(self.start, instances, seed)
        if SEARCHES.abilities(self.search).ends_by_itself:
            time_limit = _LONGEST_SECONDS
        if isinstance(self.start, NoStart):
            return [self._alone(i, time_limit, iterations, seed) for i in instances]
        if self.batch > 1:
            return self._on_gpu(instances, vehicle_cost, time_limit, iterations, seed)
        if iterations is not None:
            return [
                self._in_iterations(i, iterations, seed, vehicle_cost)
                for i in instances
            ]
        if time_limit is None:
            raise InputError(f"{self.name} needs a time limit")
        plan = self._from_any_plan if self.artificial else self._within_time
        return [plan(i, time_limit, seed, vehicle_cost) for i in instances]

    def _alone(
        self,
        instance: Instance,
        time_limit: float | None,
        iterations: int | None,
        seed: int,
    ) -> Answer:
        """Return the answer of an outside solver, whose plan may exceed the fleet."""
        search = load_search(self.search, instance)
        deadline = Deadline.of(time_limit, iterations)
        plan, trace = None, []
        for plan in search(SearchTask(instance, Plan([]), deadline, seed)):
            if plan.is_feasible(instance):
                trace.append((deadline.elapsed(), plan.length(instance)))
        return Answer(plan, tuple(trace) if self._reports else ())

    def _on_gpu(
        self,
        instances: Sequence[Instance],
        vehicle_cost: float,
        time_limit: float | None,
        iterations: int | None,
        seed: int,
    ) -> list[Answer]:
        found = solve_batch(
            instances,
            time_limit=time_limit,
            iterations=iterations,
            seed=seed,
            start="packing" if self._packs else "network",
            search="gpu",
            vehicle_cost=self._priced(vehicle_cost),
        )
        return [
            Answer(found.plan(row), reason=found.reasons.get(row, ""))
            for row in range(len(found))
        ]

    def _within_time(
        self, instance: Instance, time_limit: float, seed: int, vehicle_cost: float
    ) -> Answer:
        """Plan one instance; the time limit, in seconds, includes making the start."""
        begin = time.perf_counter()
        start, details = None, dict[str, float]()
        if not self._packs:  # `solve` makes its own packing
            if self.guarantee:
                # The start must plan for the same fleet as the search.
                verdict = assess_fleet(instance, time_limit=time_limit / 4)
                larger = verdict.smallest_packing
                if verdict.status == "impossible" and larger is not None:
                    instance = instance.with_vehicles(larger.vehicles)
            start, details = self._first(instance, seed)
        result = solve(
            instance,
            max(time_limit - (time.perf_counter() - begin), MIN_SECONDS),
            seed=seed,
            start=start or "packing",
            search=self.search,
            vehicle_cost=self._priced(vehicle_cost),
            guarantee=self.guarantee,
            # A method on a GPU may use all cores; every other worker has one core.
            cores=None if self.on_gpu else 1,
            prove=self.prove,
        )
        if result.plan is None:
            return Answer(None, reason=result.verdict.reason)
        if result.lower_bound is not None:
            details["lower_bound"] = result.lower_bound
            details["is_optimal"] = float(result.is_optimal)
        if not self._reports:
            return Answer(result.plan, details=details)
        before = time.perf_counter() - begin - result.seconds
        trace = ((before + moment, cost) for moment, cost in result.trace)
        return Answer(result.plan, tuple(trace), details=details)

    def _in_iterations(
        self, instance: Instance, iterations: int, seed: int, vehicle_cost: float
    ) -> Answer:
        """
        Plan one instance with a limit of iterations.

        Every machine finds the same plan.
        """
        verdict = assess_fleet(instance)
        start = verdict.packing
        if verdict.status == "impossible":
            start = verdict.smallest_packing if self.guarantee else None
            if start is None:
                return Answer(None, reason=verdict.reason)
            instance = instance.with_vehicles(start.vehicles)
        details = dict[str, float]()
        if not self._packs:
            first, details = self._first(instance, seed)
            start = first or start
        found = improve(
            instance,
            start,
            search=self.search,
            iterations=iterations,
            seed=seed,
            vehicle_cost=self._priced(vehicle_cost),
        )
        trace = found.trace if self._reports else ()
        return Answer(found.plan, trace, details=details)

    def _from_any_plan(
        self, instance: Instance, time_limit: float, seed: int, vehicle_cost: float
    ) -> Answer:
        """
        Improve the unchanged plan of the start, even if it exceeds the fleet.

        The method plans in this way if ``artificial`` is set. The search may use as
        many vehicles as the plan of the start has.
        """
        begin = time.perf_counter()
        (first,) = first_answers(self.start, [instance], seed)
        if first.start is not None:
            begin -= first.start.seconds
        if first.plan is None or first.plan.unserved(instance):
            return first._replace(plan=None, reason="the start leaves customers out")
        fleet = max(instance.vehicles, first.plan.vehicles)
        began = time.perf_counter()
        left = max(time_limit - (began - begin), MIN_SECONDS)
        found = improve(
            instance.with_vehicles(fleet),
            first.plan,
            search=self.search,
            time_limit=left,
            seed=seed,
            vehicle_cost=self._priced(vehicle_cost),
        )
        facts = {
            "search": time.perf_counter() - began,
            "start_length": first.plan.length(instance),
            "start_vehicles": first.plan.vehicles,
        }
        return first._replace(plan=found.plan, details={**first.details, **facts})

    def _first(
        self, instance: Instance, seed: int
    ) -> tuple[Plan | None, dict[str, float]]:
        """
        Return a first plan that serves all customers within the fleet, and details.

        The plan is None if no such plan can be made from the plan of the start. The
        details are those that the start reports.
        """
        (answer,) = first_answers(self.start, [instance], seed)
        plan = answer.plan and complete_plan(
            instance, drop_excess(instance, answer.plan), seed=seed
        )
        return plan, dict(answer.details)
