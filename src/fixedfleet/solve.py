"""Plan tours for one instance: verdict on the fleet, start, search."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from fixedfleet.errors import InputError, at_least, check_choice, check_whole
from fixedfleet.fleet import assess_fleet
from fixedfleet.plan import Objective, Plan
from fixedfleet.progress import SearchRows
from fixedfleet.search import SEARCHES, Stop, better, check_vehicle_cost, improve
from fixedfleet.search.construct import StartName, check_start, load_start, make_start
from fixedfleet.search.locked_tours import LockedTours
from fixedfleet.search.partial import partial_plan
from fixedfleet.wording import count, length_unit
from fixedfleet.workers import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fixedfleet.documents import ResultDocument
    from fixedfleet.doubts import Doubt
    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.search import SearchMethod, SearchResult

__all__ = ["Objective", "Result", "Stage", "solve", "with_gains"]

_PARTIAL_SHARE = 0.2  # of the time, for a plan with unassigned customers
_VERDICT_SHARE = 0.5  # of the time, at most, for whether the fleet suffices
_SMALLEST_SHARE = 0.05  # of the time, at most, for the smallest fleet that suffices


def solve(
    instance: Instance,
    time_limit: float = 1.0,
    *,
    seed: int = 0,
    start: Plan | StartName = "auto",
    search: str | SearchMethod = "auto",
    objective: Objective = "length",
    vehicle_cost: float = 0.0,
    guarantee: bool = False,
    locked: Plan | Sequence[Sequence[int]] = (),
    cores: int | None = None,
    display: bool = False,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """
    Plan tours for an instance's fleet.

    If quick packings find no plan for the fleet, a fifth of the time is spent on
    :attr:`Result.partial`, or all of it if nothing else is left to search.

    Parameters
    ----------
    instance
        The instance to plan for.
    time_limit
        Seconds for everything: verdict, start and search. Loading compiled code and
        networks, the first time in a process, does not count.
    seed
        Seed of the search.
    start
        What the search starts from: ``packing``, ``savings``, ``sweep``, ``network``
        (a shipped network's plan), a plan of your own, or ``auto``, which is the start
        that measured best in the same total time: the packing.
    search
        What improves the start: ``auto`` takes what measured best for size and time on
        a core, ``gpu`` fills a GPU with it, ``none`` keeps the start. Also another name
        of :data:`fixedfleet.search.SEARCHES`, "module.py:Name", or a search.
    objective
        ``length``, or ``cost-v``: length plus ``vehicle_cost`` for each vehicle used.
    vehicle_cost
        Fixed cost of each vehicle used.
    guarantee
        If no plan for the fleet is found, plan for the smallest fleet that suffices.
    locked
        Tours that the plan must have as they are; they come first in it. The other
        customers are planned for the other vehicles, and the verdict is about them.
    cores
        The most cores to use. The default search uses several if there are more than
        200 customers. Default: all that this process may use.
    display
        Whether to print rows as the best plan becomes better, and the result.
    on_improvement
        Called with (seconds since the call, cost, plan) for each better plan.
    stop
        Called now and then; the search ends when it returns True.
    """
    _check(instance, start, search, objective, vehicle_cost)
    charged = vehicle_cost if objective == "cost-v" else 0.0
    whole, locks = instance, None
    if len(locked):
        locks = LockedTours(locked, instance)
        instance = locks.rest
        start = locks.rest_of(start) if isinstance(start, Plan) else start
    if isinstance(start, str):
        load_start(start, instance)
    cores = (
        available_cores() if cores is None else check_whole("cores", cores, at_least(1))
    )
    terms = _Terms(Stop(time_limit, asked=stop), seed, charged, cores)
    rows = SearchRows(sys.stdout, on_improvement) if display else None

    verdict, larger, stage = _judge(instance, terms, guarantee)
    stages = [stage]
    if rows is not None:
        rows.head(f"{instance!r}\n{verdict}")

    plan, partial = verdict.packing, None
    if plan is None and isinstance(start, str):
        share = _partial_share(verdict, larger, search)
        plan, partial, stage = _leave_out(instance, terms, share)
        stages.append(stage)
        if plan is None and larger is not None:
            plan, instance = larger, instance.with_vehicles(larger.vehicles)

    if isinstance(start, Plan) or _worth(plan, verdict, terms):
        plan, made = _begin(instance, start, plan, terms)
        stages.extend(made)

    found = None
    if search != "none" and _worth(plan, verdict, terms):
        told = on_improvement if rows is None else rows.improved
        if locks is not None and told is not None:
            told = locks.told(told, locks.plan.cost_v(whole, charged))
        first = plan or partial or Plan([])
        found, stage = _search(instance, first, search, verdict, terms, told)
        stages.append(stage)
        if not found.plan.unserved(instance):
            plan = found.plan
            partial = partial if instance.vehicles > verdict.vehicles else None
        elif partial is not None:
            partial = better(instance, found.plan, partial, charged)

    result = Result(
        instance=instance,
        plan=plan,
        verdict=verdict,
        stages=with_gains(stages),
        trace=() if found is None else found.trace,
        objective=objective,
        vehicle_cost=vehicle_cost,
        interrupted=terms.limit.interrupted,
        partial=partial,
    )
    if locks is not None:
        result = _with_locked(result, locks, whole, charged)
    if rows is not None:
        rows.end(str(result))
    return result


@dataclass(frozen=True)
class Stage:
    """
    What one step of :func:`solve` cost and gained.

    Attributes
    ----------
    name
        Name of the step.
    seconds
        Time it took.
    cost
        Cost of the plan after the step; infinite if there is none.
    gain
        By how much the step lowered the cost; 0 if there was no plan before. Negative
        for a start that is worse than the packing it replaces.
    """

    name: str
    seconds: float
    cost: float
    gain: float = 0.0


@dataclass(frozen=True, repr=False)
class Result:
    """
    A plan, and how it was found.

    Attributes
    ----------
    instance
        The instance that the plan is for. With the guarantee its fleet may be larger
        than the one asked for: the smallest fleet that suffices.
    plan
        The best plan, or None if no plan within the fleet was found.
    verdict
        Whether the fleet asked for suffices, and why.
    stages
        Seconds and cost of each step.
    trace
        Improvements of the search as (seconds since the call, cost).
    objective, vehicle_cost
        What was minimised.
    interrupted
        Whether the user ended the search with Ctrl-C.
    partial
        If there is no plan for the fleet asked for: the best plan found that leaves
        customers unassigned. It leaves as few as possible, then it is as short as
        possible. None otherwise.
    """

    instance: Instance
    plan: Plan | None
    verdict: FleetVerdict
    stages: tuple[Stage, ...]
    trace: tuple[tuple[float, float], ...] = ()
    objective: Objective = "length"
    vehicle_cost: float = 0.0
    interrupted: bool = False
    partial: Plan | None = None

    @property
    def unserved(self) -> list[int]:
        """Customers that :attr:`partial` leaves unassigned."""
        return [] if self.partial is None else self.partial.unserved(self.instance)

    @property
    def feasible(self) -> bool:
        """Whether there is a plan for all customers within fleet and capacity."""
        return self.plan is not None and self.plan.is_feasible(self.instance)

    @property
    def length(self) -> float:
        """Length of the plan; infinite if there is none."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.length(self.instance)

    @property
    def cost_v(self) -> float:
        """Length plus the cost of each vehicle used; infinite if there is no plan."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.cost_v(self.instance, self.vehicle_cost)

    @property
    def cost(self) -> float:
        """The length or Cost_v, whichever is the objective."""
        return self.length if self.objective == "length" else self.cost_v

    @property
    def seconds(self) -> float:
        """Time of all steps."""
        return sum(stage.seconds for stage in self.stages)

    def summary(self) -> str:
        """Return the result in a few lines of text."""
        lines = [str(self.verdict)]
        if self.plan is None:
            lines.append("no plan found")
        else:
            lines.append(
                f"{self.plan.vehicles} of {self.instance.vehicles} vehicles, "
                f"length {self.length:g}, Cost_v {self.cost_v:g}"
            )
        if self.partial is not None:
            names = map(self.instance.name_of, self.unserved)
            lines.append(
                f"left out within the fleet of {self.verdict.vehicles}: "
                f"{len(self.unserved)} of {self.instance.num_customers} customers, "
                f"{', '.join(names)}; length {self.partial.length(self.instance):g}"
            )
        lines.extend(
            f"{stage.name}: {stage.seconds * 1e3:.1f} ms, cost {stage.cost:g}, "
            f"gain {stage.gain:g}"
            for stage in self.stages
        )
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        if self.plan is None:
            return f"Result(no plan, {self.verdict.status}: {self.verdict.reason})"
        return (
            f"Result({self.plan.vehicles} of {self.instance.vehicles} vehicles, "
            f"length {self.length:g}, {self.seconds:.2f} s)"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary, a map and the tours."""
        from html import escape

        shown = self.plan if self.plan is not None else self.partial
        text = f"<pre>{escape(self.summary())}</pre>"
        return text if shown is None else text + shown.to_html(self.instance)

    def document(
        self, notes: Sequence[str] = (), doubts: Sequence[Doubt] = ()
    ) -> ResultDocument:
        """
        Return the JSON document of the result; ``docs/formats.md`` describes it.

        Parameters
        ----------
        notes
            Remarks on how the instance was read.
        doubts
            What is probably a mistake in the instance.
        """
        from fixedfleet.documents import (
            ResultDocument,
            StageDocument,
            describe_partial,
            describe_tours,
            describe_verdict,
            finite,
        )

        plan, partial, instance = self.plan, self.partial, self.instance
        asked = instance.with_vehicles(self.verdict.vehicles)
        return ResultDocument(
            instance=asked.name,
            customers=asked.num_customers,
            vehicles=asked.vehicles,
            capacity=asked.capacity,
            unit=asked.unit,
            metric=asked.metric,
            rounding=asked.rounding,
            length_unit=length_unit(asked),
            feasible=plan is not None and plan.is_feasible(asked),
            vehicles_planned_for=instance.vehicles,
            vehicles_used=None if plan is None else plan.vehicles,
            objective=self.objective,
            vehicle_cost=self.vehicle_cost,
            length=finite(self.length),
            cost_v=finite(self.cost_v),
            cost=finite(self.cost),
            tours=None if plan is None else describe_tours(plan, instance),
            partial=None if partial is None else describe_partial(partial, asked),
            unserved=list(self.unserved),
            verdict=describe_verdict(self.verdict),
            stages=[
                StageDocument(
                    name=stage.name,
                    seconds=stage.seconds,
                    cost=finite(stage.cost),
                    gain=finite(stage.gain),
                )
                for stage in self.stages
            ],
            trace=[(s, cost) for s, cost in self.trace if math.isfinite(cost)],
            interrupted=self.interrupted,
            notes=list(notes),
            doubts=list(doubts),
        )


# ---------------------------------------------------------------------- the steps


@dataclass(frozen=True)
class _Terms:
    """What all steps of a call share; ``charged`` is the objective's vehicle cost."""

    limit: Stop
    seed: int
    charged: float
    cores: int

    def stage(
        self, name: str, begin: float, instance: Instance, plan: Plan | None
    ) -> Stage:
        """Close a step that began at this time on the clock."""
        seconds = self.limit.elapsed() - begin
        cost = math.inf if plan is None else plan.cost_v(instance, self.charged)
        return Stage(name, seconds, cost)


def _judge(
    instance: Instance, terms: _Terms, guarantee: bool
) -> tuple[FleetVerdict, Plan | None, Stage]:
    """Find out whether the fleet suffices; if not, return a plan for a larger one."""
    begin = terms.limit.elapsed()
    # Which smaller fleet would suffice is worth little time if vehicles are free.
    share = _VERDICT_SHARE if terms.charged else _SMALLEST_SHARE
    verdict = assess_fleet(
        instance,
        time_limit=_VERDICT_SHARE * terms.limit.seconds,
        smallest_limit=share * terms.limit.seconds,
    )
    larger = None
    if guarantee and verdict.packing is None:
        larger = verdict.smallest_packing
    stage = terms.stage("fleet", begin, instance, verdict.packing or larger)
    return verdict, larger, stage


def _partial_share(
    verdict: FleetVerdict, larger: Plan | None, search: str | SearchMethod
) -> float:
    """Return the share of the time for a plan with unassigned customers."""
    if search == "none":
        return 0.0
    alone = verdict.status == "impossible" and larger is None
    return 1.0 if alone else _PARTIAL_SHARE


def _leave_out(
    instance: Instance, terms: _Terms, share: float
) -> tuple[Plan | None, Plan | None, Stage]:
    """Plan as many customers as possible; return a complete or a partial plan."""
    begin = terms.limit.elapsed()
    found = partial_plan(
        instance,
        stop=terms.limit.part().part(share) if share else None,
        seed=terms.seed,
        vehicle_cost=terms.charged,
    )
    stage = terms.stage("partial", begin, instance, found)
    if found.unserved(instance):
        return None, found, stage
    return found, None, stage


def _worth(plan: Plan | None, verdict: FleetVerdict, terms: _Terms) -> bool:
    """Whether a plan may exist and the user has not pressed Ctrl-C."""
    possible = plan is not None or verdict.status != "impossible"
    return possible and not terms.limit.interrupted


def _begin(
    instance: Instance, start: Plan | StartName, packing: Plan | None, terms: _Terms
) -> tuple[Plan | None, list[Stage]]:
    """Return the plan that the search starts from, and its stage if it is a step."""
    begin = terms.limit.elapsed()
    if isinstance(start, Plan):
        return start, [terms.stage("start", begin, instance, start)]
    if start in ("auto", "packing"):
        return packing, []
    plan = make_start(start, instance, packing, seed=terms.seed)
    return plan, [terms.stage(start, begin, instance, plan)]


def _search(
    instance: Instance,
    plan: Plan,
    search: str | SearchMethod,
    verdict: FleetVerdict,
    terms: _Terms,
    on_improvement: Callable[[float, float, Plan], None] | None,
) -> tuple[SearchResult, Stage]:
    """Improve a plan, which may leave customers unassigned."""
    begin = terms.limit.elapsed()
    fewest = verdict.smallest_packing
    if fewest is not None and fewest.vehicles > instance.vehicles:
        fewest = None
    found = improve(
        instance,
        plan,
        stop=terms.limit,
        search=search,
        seed=terms.seed,
        vehicle_cost=terms.charged,
        fewest=fewest,
        cores=terms.cores,
        on_improvement=on_improvement,
    )
    name = search if isinstance(search, str) else _name_of(search)
    complete = None if found.plan.unserved(instance) else found.plan
    return found, terms.stage(name, begin, instance, complete)


def _with_locked(
    result: Result, locks: LockedTours, whole: Instance, charged: float
) -> Result:
    """Return the result for all customers: the locked tours, then those of the rest."""
    fixed, cost = locks.plan.vehicles, locks.plan.cost_v(whole, charged)

    def join(plan: Plan | None) -> Plan | None:
        return None if plan is None else locks.join(plan)

    verdict = result.verdict
    upper = verdict.upper_bound
    return replace(
        result,
        instance=whole.with_vehicles(result.instance.vehicles + fixed),
        plan=join(result.plan),
        partial=join(result.partial),
        verdict=replace(
            verdict,
            vehicles=whole.vehicles,
            reason=f"{count(fixed, 'locked tour')}; for the rest, {verdict.reason}",
            lower_bound=verdict.lower_bound + fixed,
            upper_bound=None if upper is None else upper + fixed,
            packing=join(verdict.packing),
            smallest_packing=join(verdict.smallest_packing),
        ),
        stages=tuple(replace(s, cost=s.cost + cost) for s in result.stages),
        trace=tuple((seconds, found + cost) for seconds, found in result.trace),
    )


def _name_of(search: SearchMethod) -> str:
    return getattr(search, "__name__", type(search).__name__)


def with_gains(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Return stages with what each gained on the one before, if that had a plan."""
    known = math.inf
    found = []
    for stage in stages:
        gain = 0.0
        if stage.name != "partial":
            gain = known - stage.cost if known < math.inf else 0.0
            known = stage.cost
        found.append(replace(stage, gain=gain))
    return tuple(found)


def _check(
    instance: Instance,
    start: Plan | str,
    search: str | SearchMethod,
    objective: str,
    vehicle_cost: float,
) -> None:
    """Raise InputError for a wrong argument, before anything is computed."""
    if isinstance(search, str) and search != "none":
        SEARCHES.check(search)
    check_choice("objective", objective, get_args(Objective))
    check_vehicle_cost(vehicle_cost)
    if search == "gpu":
        from fixedfleet.search.gpu import require_gpu

        require_gpu()
    if isinstance(start, str):
        check_start(start)
    elif faults := start.check(instance):
        raise InputError(f"the start is not a plan for this instance: {faults[0]}")
