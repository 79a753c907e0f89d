"""Plan tours for one instance: verdict on the fleet, initial plan, search, bound."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from fixedfleet.deadline import Deadline
from fixedfleet.errors import (
    InputError,
    at_least,
    check_choice,
    check_seed,
    check_vehicle_cost,
    check_whole,
)
from fixedfleet.fleet import assess_fleet, load_exact_packing
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.plan import Plan
from fixedfleet.progress import ProgressPrinter
from fixedfleet.result import Result, Stage
from fixedfleet.search import SEARCHES, better, load_search, name_of, run_search
from fixedfleet.search.construct import StartName, load_start, make_start
from fixedfleet.solving.bounded_plan import (
    bounded_plan,
    load_for_bound,
    why_unbounded,
)
from fixedfleet.solving.locked_tours import LockedTours
from fixedfleet.solving.partial_plan import load_for_partial_plan, partial_plan
from fixedfleet.solving.stages import Stages
from fixedfleet.workers import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.search import Search
    from fixedfleet.solving.bounded_plan import BetterBound

    Improvement = Callable[[float, float, Plan], None]  # seconds, cost, plan

__all__ = ["Result", "Stage", "solve"]

_PARTIAL_SHARE = 0.2  # of the time, for a plan with unserved customers
_VERDICT_SHARE = 0.5  # of the time, at most, for whether the fleet suffices
# If a lower bound follows, the search has at most this share of the time, and at most
# these seconds, times the square of the number of customers.
_SEARCH_SHARE = 0.2
_SEARCH_SECONDS = 0.0005
_SMALLEST_SHARE = 0.05  # of the time, at most, for the smallest fleet that suffices


def solve(
    instance: Instance,
    time_limit: float = 1.0,
    *,
    seed: int = 0,
    start: Plan | Sequence[Sequence[int]] | StartName = "packing",
    search: str | Search = "auto",
    vehicle_cost: float = 0.0,
    guarantee: bool = False,
    locked: Plan | Sequence[Sequence[int]] = (),
    prove: bool = False,
    cores: int | None = None,
    display: bool = False,
    on_improvement: Improvement | None = None,
    on_bound: BetterBound | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """
    Plan tours for an instance's fleet.

    If quick packings find no plan for the fleet, a fifth of the time is spent on
    :attr:`Result.partial`, or all of it if nothing else is left to search. Ctrl-C ends
    the call with the best plan so far.

    Parameters
    ----------
    instance
        The instance to plan for.
    time_limit
        Seconds for everything: verdict, initial plan, search and lower bound. Loading
        compiled code and networks, the first time in a process, does not count.
    seed
        Seed of the search.
    start
        What the search starts from: ``packing``, which measured best in the same total
        time, ``savings``, ``sweep``, ``network`` (the shipped network's plan), or a
        plan of your own.
    search
        What improves the initial plan: ``auto`` takes what measured best for size and
        time on a core, ``gpu`` fills a GPU with it, ``none`` keeps the initial plan.
        Also another name of :data:`fixedfleet.search.SEARCHES`, "module.py:Name", or a
        search.
    vehicle_cost
        Fixed cost of each vehicle used. The length plus this cost is minimised.
    guarantee
        If no plan for the fleet is found, plan for the smallest fleet that suffices.
    locked
        Tours that the plan must have as they are; they come first in it. The other
        customers are planned for the other vehicles, and the verdict is about them.
    prove
        Whether to compute how far the plan is from the best possible one, see
        :attr:`Result.proof`. The search then has a fifth of the time at most; the rest
        is for the lower bound, which may also find better plans.
    cores
        The most cores to use. The default search uses several if there are more than
        200 customers. Default: all that this process may use.
    display
        Whether to print rows as the best plan becomes better, and the result.
    on_improvement
        Called with (seconds since the call, cost, plan) for each better plan.
    on_bound
        Called with (seconds since the call, lower bound) for each better lower bound.
    stop
        Called now and then; the search ends when it returns True.
    """
    settings = _Settings(
        seed=check_seed(seed),
        start=_check_start(instance, start),
        search=search,
        vehicle_cost=check_vehicle_cost(vehicle_cost),
        guarantee=guarantee,
        prove=prove,
        cores=_check_cores(cores),
    )
    locks = LockedTours(locked, instance, vehicle_cost) if len(locked) else None
    if locks is not None:
        settings = replace(settings, start=locks.start_for_rest(settings.start))
    rest = instance if locks is None else locks.rest
    Deadline.of(time_limit, stop=stop)  # raises before anything is compiled
    method = _load(rest, settings)

    display_rows = _Display(on_improvement, on_bound) if display else None
    report, report_bound = on_improvement, on_bound
    if display_rows is not None:
        report, report_bound = display_rows.show, display_rows.show_bound
    if locks is not None:
        report = locks.reporting_whole_plans(report)
        report_bound = locks.reporting_whole_bounds(report_bound)
    settings = replace(settings, on_bound=report_bound)
    with interrupt_noted() as pressed:
        deadline = Deadline.of(time_limit, stop=stop).or_when(pressed)
        verdict = _judge(rest, settings, deadline)
        if display_rows is not None:
            display_rows.begin(rest, verdict)
        steps = _plan_and_bound if prove else _plan
        result = steps(rest, verdict, method, settings, deadline, report)
        result = replace(result, interrupted=pressed())
    if locks is not None:
        result = locks.add_to(result)
    if display_rows is not None:
        display_rows.end(result)
    return result


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """The arguments of :func:`solve` that its steps need."""

    seed: int
    start: Plan | StartName
    search: str | Search
    vehicle_cost: float
    guarantee: bool
    prove: bool
    cores: int
    on_bound: BetterBound | None = None


# ---------------------------------------------------------------------- the steps


def _plan(
    instance: Instance,
    verdict: FleetVerdict,
    search: Search | None,
    settings: _Settings,
    deadline: Deadline,
    report: Improvement | None,
) -> Result:
    """Take the steps after the verdict: partial plan, initial plan, search."""
    stages = Stages(deadline)
    plan, partial = verdict.packing, None
    trace: tuple[tuple[float, float], ...] = ()
    larger = verdict.smallest_packing if settings.guarantee and plan is None else None
    start, cost = settings.start, settings.vehicle_cost

    def close(name: str, reached: Plan | None) -> None:
        stages.close(
            name,
            lambda: math.inf if reached is None else reached.cost_v(instance, cost),
        )

    close("fleet", plan or larger)
    if plan is None and isinstance(start, str):
        found = _serve_most(instance, verdict, larger, settings, deadline)
        close("partial", found)
        if found.unserved(instance):
            partial = found
            if larger is not None:
                plan, instance = larger, instance.with_vehicles(larger.vehicles)
        else:
            plan = found

    possible = plan is not None or verdict.status != "impossible"
    if isinstance(start, Plan):
        plan = start
        close("start", plan)
    elif start != "packing" and possible and not deadline.over():
        plan = make_start(start, instance, plan, seed=settings.seed, deadline=deadline)
        close(start, plan)

    if search is not None and (plan is not None or possible) and not deadline.over():
        result = run_search(
            search,
            instance,
            plan or partial or Plan([]),
            deadline=deadline,
            seed=settings.seed,
            vehicle_cost=cost,
            fewest=verdict.smallest_packing,
            cores=settings.cores,
            on_improvement=report,
            outside=SEARCHES.abilities(settings.search).outside,
        )
        trace = result.trace
        if not result.plan.unserved(instance):
            plan = result.plan
            partial = partial if instance.vehicles > verdict.vehicles else None
        elif partial is not None:
            partial = better(instance, result.plan, partial, cost)
        close(name_of(settings.search), plan)

    return Result(
        instance=instance,
        plan=plan,
        verdict=verdict,
        stages=tuple(stages.closed),
        trace=trace,
        vehicle_cost=cost,
        partial=partial,
    )


def _plan_and_bound(
    instance: Instance,
    verdict: FleetVerdict,
    search: Search | None,
    settings: _Settings,
    deadline: Deadline,
    report: Improvement | None,
) -> Result:
    """Take the steps after the verdict, the last of which is the lower bound."""
    why_not = _why_unbounded(instance, verdict, settings)
    if why_not is not None:
        result = _plan(instance, verdict, search, settings, deadline, report)
        return replace(result, why_unbounded=why_not)
    tours: set[tuple[int, ...]] = set()
    trace: list[tuple[float, float]] = []

    def improved(seconds: float, cost: float, plan: Plan) -> None:
        tours.update(plan.tours)
        trace.append((seconds, cost))
        if report is not None:
            report(seconds, cost, plan)

    until = _end_of_search(deadline, instance)
    result = _plan(instance, verdict, search, settings, until, improved)
    if result.plan is None:
        return replace(result, why_unbounded="there is no plan to compare with")
    found = bounded_plan(
        result.instance,
        result.plan,
        deadline=deadline,
        vehicle_cost=settings.vehicle_cost,
        tours=tours,
        on_improvement=improved,
        on_bound=settings.on_bound,
    )
    cost = found.plan.cost_v(result.instance, settings.vehicle_cost)
    seconds = deadline.elapsed() - result.seconds
    return replace(
        result,
        plan=found.plan,
        stages=(*result.stages, Stage("bound", seconds, cost, result.cost - cost)),
        trace=tuple(trace),
        lower_bound=found.lower_bound,
        is_optimal=found.is_optimal,
        why_unbounded=found.why_unbounded,
    )


def _why_unbounded(
    instance: Instance, verdict: FleetVerdict, settings: _Settings
) -> str | None:
    """
    Return why there will be no lower bound; None if there can be one.

    It is known before the search, so that the search has all of the time then.
    """
    plan = settings.start if isinstance(settings.start, Plan) else verdict.packing
    if plan is None and settings.guarantee:
        plan = verdict.smallest_packing
    if plan is None:
        if verdict.status == "impossible":
            return "there is no plan to compare with"
        return "no plan was known before the search, which had all of the time"
    fleet = instance.with_vehicles(max(instance.vehicles, plan.vehicles))
    return why_unbounded(fleet, plan, settings.vehicle_cost)


def _end_of_search(deadline: Deadline, instance: Instance) -> Deadline:
    """Return when the search must end, so that the lower bound has most of the time."""
    seconds = _SEARCH_SECONDS * instance.num_customers**2
    share = min(_SEARCH_SHARE * deadline.seconds, seconds)
    return replace(deadline, seconds=min(deadline.elapsed() + share, deadline.seconds))


def _judge(instance: Instance, settings: _Settings, deadline: Deadline) -> FleetVerdict:
    """Find out whether the fleet suffices, and which smaller one would."""
    # Which smaller fleet would suffice is worth little time if vehicles are free.
    share = _VERDICT_SHARE if settings.vehicle_cost else _SMALLEST_SHARE
    return assess_fleet(
        instance,
        time_limit=_VERDICT_SHARE * deadline.seconds,
        smallest_limit=share * deadline.seconds,
        deadline=deadline,
    )


def _serve_most(
    instance: Instance,
    verdict: FleetVerdict,
    larger: Plan | None,
    settings: _Settings,
    deadline: Deadline,
) -> Plan:
    """
    Plan as many customers as possible for a fleet that may be too small.

    It has all of the time if there is nothing else to search, otherwise a fifth.
    """
    alone = verdict.status == "impossible" and larger is None
    rest = deadline.until(1.0)
    return partial_plan(
        instance,
        deadline=rest if alone else rest.until(_PARTIAL_SHARE),
        search=settings.search != "none",
        seed=settings.seed,
        vehicle_cost=settings.vehicle_cost,
    )


# ------------------------------------------------------------------- the arguments


def _check_start(
    instance: Instance, start: Plan | Sequence[Sequence[int]] | StartName
) -> Plan | StartName:
    """Return the start; raise InputError if it is unknown or no plan."""
    if isinstance(start, str):
        check_choice("start", start, get_args(StartName))
        return start
    plan = Plan(start)
    if faults := plan.check(instance):
        raise InputError(f"the start is not a plan for this instance: {faults[0]}")
    return plan


def _check_cores(cores: int | None) -> int:
    """Return the number of cores to use: by default, all there are."""
    if cores is None:
        return available_cores()
    return check_whole("cores", cores, at_least(1))


def _load(instance: Instance, settings: _Settings) -> Search | None:
    """
    Load all that the steps need, before the clock starts.

    Returns the search, None if there is none.
    """
    if isinstance(settings.start, str):
        load_start(settings.start)
    load_exact_packing(instance)
    if settings.prove:
        load_for_bound()
    if settings.search == "none":
        return None
    load_for_partial_plan(instance)
    return load_search(settings.search, instance)


# --------------------------------------------------------------------- the display


class _Display:
    """Rows that are printed as the best plan becomes better."""

    def __init__(
        self, on_improvement: Improvement | None, on_bound: BetterBound | None
    ) -> None:
        self._rows = ProgressPrinter(sys.stdout, interval=0.25, in_place=False)
        self._on_improvement, self._on_bound = on_improvement, on_bound
        self._best = ""  # cost and vehicles of the best plan

    def begin(self, instance: Instance, verdict: FleetVerdict) -> None:
        """Print the instance, the verdict and the headings."""
        names = f"{'seconds':>9}  {'best cost':>14}  {'vehicles':>8}"
        print(f"{instance!r}\n{verdict}\n{names}", flush=True)

    def show(self, seconds: float, cost: float, plan: Plan) -> None:
        """Print a row, and pass the plan on."""
        self._best = f"{cost:14.8g}  {plan.vehicles:8d}"
        self._rows.show(f"{seconds:9.2f}  {self._best}")
        if self._on_improvement is not None:
            self._on_improvement(seconds, cost, plan)

    def show_bound(self, seconds: float, bound: float) -> None:
        """Print a row with a lower bound, and pass the bound on."""
        self._rows.show(f"{seconds:9.2f}  {self._best}  at least {bound:.8g}")
        if self._on_bound is not None:
            self._on_bound(seconds, bound)

    def end(self, result: Result) -> None:
        """Print the last row and the result."""
        self._rows.end()
        print(result, flush=True)
