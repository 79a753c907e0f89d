"""Plan tours for one instance: verdict on the fleet, initial plan, search, bound."""

from __future__ import annotations

import logging
import math
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
from fixedfleet.result import Result, Stage
from fixedfleet.search import SEARCHES, better, load_search, name_of, run_search
from fixedfleet.search.construct import StartName, load_start, make_start
from fixedfleet.search.improve import is_expensive
from fixedfleet.solving.bounded_plan import (
    bounded_plan,
    load_for_bound,
    why_unbounded,
)
from fixedfleet.solving.display import Display
from fixedfleet.solving.locked_tours import LockedTours
from fixedfleet.solving.partial_plan import load_for_partial_plan, partial_plan
from fixedfleet.solving.stages import Stages
from fixedfleet.workers import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.search import Search
    from fixedfleet.solving.bounded_plan import BetterBound, Improvement

__all__ = ["Result", "Stage", "solve", "warn_of_ignored_cost"]

_log = logging.getLogger("fixedfleet")

# Shares of the time limit: for a plan with unserved customers, and the most for the
# decision whether the fleet suffices.
_PARTIAL_SHARE = 0.2
_VERDICT_SHARE = 0.5
# The largest share of the time limit to find the smallest fleet that suffices.
_SMALLEST_SHARE = 0.05
# If a lower bound is computed after the search, the search has at most _SEARCH_SHARE of
# the time, and at most _SEARCH_SECONDS + _SEARCH_GROWTH * N^4 seconds for N customers.
_SEARCH_SHARE = 0.1
_SEARCH_SECONDS, _SEARCH_GROWTH = 0.05, 5e-8


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
    Plan tours for an instance within its fleet.

    If quick packings find no plan for the fleet, a fifth of the time is spent on
    :attr:`Result.partial`, a plan that leaves customers unserved. If the fleet is
    proven too small, all of the time is spent on this plan. Ctrl-C ends the call with
    the best plan so far.

    Parameters
    ----------
    instance
        The instance to plan for.
    time_limit
        Seconds for the whole call: verdict on the fleet, initial plan, search and lower
        bound. Loading compiled code and networks, the first time in a process, does not
        count towards this limit.
    seed
        Seed of the search.
    start
        The initial plan of the search: ``packing``, which gave the best results in the
        same total time, ``savings``, ``sweep``, ``network`` (the plan of the shipped
        network), or a plan of your own.
    search
        What improves the initial plan. ``auto`` chooses the search that gave the best
        results on CPU cores for this size and time limit. ``gpu`` searches on a GPU.
        ``none`` keeps the initial plan. Any other name in
        :data:`fixedfleet.search.SEARCHES`, a reference "module.py:Name", or a search
        itself is possible, too.
    vehicle_cost
        Fixed cost of each vehicle used. The length plus this cost is minimised. Some
        searches, such as ``hgs``, consider it only if it is at least the length of the
        packing; otherwise they minimise the length, and a warning is logged.
    guarantee
        If no plan for the fleet is found, plan for the smallest fleet that suffices.
    locked
        Tours that the plan must contain unchanged; they are its first tours. The other
        customers are planned for the other vehicles, and the verdict is about these.
    prove
        Whether to compute how far the plan is from the best possible one, see
        :attr:`Result.proof`. The search then has a tenth of the time at most; the rest
        is for the lower bound, which may also find better plans.
    cores
        Maximum number of cores to use. Default: all that this process may use.
    display
        Whether to print a row for each better plan, and the result.
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
    Deadline.of(time_limit, stop=stop)  # raises an error before anything is compiled
    method = _load(rest, settings)

    display_rows = Display(on_improvement, on_bound) if display else None
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
        call = _Call(rest, verdict, method, settings, deadline, report)
        result = _plan_and_bound(call) if prove else _plan(call)
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


@dataclass(frozen=True)
class _Call:
    """The data that the steps after the verdict on the fleet need."""

    instance: Instance
    verdict: FleetVerdict
    search: Search | None
    settings: _Settings
    deadline: Deadline
    report: Improvement | None


# ---------------------------------------------------------------------- the steps


def _plan(call: _Call) -> Result:
    """
    Run the steps after the verdict on the fleet, and return the result.

    The steps make a partial plan if necessary, make an initial plan, and search.
    """
    instance, verdict, settings = call.instance, call.verdict, call.settings
    deadline = call.deadline
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
                plan, instance = larger, verdict.enlarge(instance)
        else:
            plan = found

    # With vehicle types or times, the search itself chooses the customers to serve.
    possible = verdict.status != "impossible" or not instance.is_plain
    possible |= plan is not None
    if isinstance(start, Plan):
        plan = start
        close("start", plan)
    elif start != "packing" and possible and not deadline.over():
        plan = make_start(start, instance, plan, seed=settings.seed, deadline=deadline)
        close(start, plan)

    possible = possible or plan is not None
    if call.search is not None and possible and not deadline.over():
        fewest = verdict.smallest_packing if instance.is_plain else None
        if fewest is None or not is_expensive(cost, fewest, instance):
            warn_of_ignored_cost(settings.search, cost)
        result = run_search(
            call.search,
            instance,
            plan or partial or Plan([]),
            deadline=deadline,
            seed=settings.seed,
            vehicle_cost=cost,
            fewest=verdict.smallest_packing,
            cores=settings.cores,
            on_improvement=call.report,
            outside=SEARCHES.abilities(settings.search).outside,
        )
        trace = result.trace
        if not result.plan.unserved(instance):
            plan = result.plan
            partial = partial if instance.vehicles > verdict.vehicles else None
        elif partial is not None:
            partial = better(instance, result.plan, partial, cost)
        close(name_of(settings.search), plan)

    if plan is not None and not instance.is_plain and not plan.check(instance):
        verdict = verdict.confirmed_by(plan, instance)
    return Result(
        instance=instance,
        plan=plan,
        verdict=verdict,
        stages=tuple(stages.closed),
        trace=trace,
        vehicle_cost=cost,
        partial=partial,
    )


def _plan_and_bound(call: _Call) -> Result:
    """
    Run the steps of :func:`_plan`, then compute the lower bound; return the result.
    """
    instance, settings, deadline = call.instance, call.settings, call.deadline
    why_not = _why_unbounded(instance, call.verdict, settings)
    if why_not is not None:
        return replace(_plan(call), why_unbounded=why_not)
    tours: set[tuple[int, ...]] = set()
    trace: list[tuple[float, float]] = []

    def improved(seconds: float, cost: float, plan: Plan) -> None:
        tours.update(plan.tours)
        trace.append((seconds, cost))
        if call.report is not None:
            call.report(seconds, cost, plan)

    until = _end_of_search(deadline, instance)
    result = _plan(replace(call, deadline=until, report=improved))
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
    Return why a lower bound cannot be computed; None if it can.

    This is decided before the search: if there will be no bound, the search may use all
    of the time.
    """
    if not instance.is_plain:
        return why_unbounded(instance, Plan([]), settings.vehicle_cost)
    plan = settings.start if isinstance(settings.start, Plan) else verdict.packing
    if plan is None and settings.guarantee:
        plan = verdict.smallest_packing
    if plan is None:
        if verdict.status == "impossible":
            return "there is no plan to compare with"
        return "no plan was known before the search, which had all of the time"
    fleet = verdict.enlarge(instance) if plan.vehicles > instance.vehicles else instance
    return why_unbounded(fleet, plan, settings.vehicle_cost)


def _end_of_search(deadline: Deadline, instance: Instance) -> Deadline:
    """
    Return the deadline of the search, which leaves most of the time for the bound.
    """
    seconds = _SEARCH_SECONDS + _SEARCH_GROWTH * instance.num_customers**4
    share = min(_SEARCH_SHARE * deadline.seconds, seconds)
    return replace(deadline, seconds=min(deadline.elapsed() + share, deadline.seconds))


def _judge(instance: Instance, settings: _Settings, deadline: Deadline) -> FleetVerdict:
    """Return the verdict: whether the fleet suffices, and which smallest fleet does."""
    # If vehicles cost nothing, it matters little whether a smaller fleet would suffice.
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
    Return a plan that serves as many customers as possible with the fleet.

    ``larger`` is a plan for a larger fleet, or None. This step has a fifth of the
    remaining time. But it has all of the remaining time if no other step follows, which
    is so if the fleet is proven too small and ``larger`` is None.
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


def warn_of_ignored_cost(search: str | Search, vehicle_cost: float) -> None:
    """Log a warning if there is a vehicle cost that an outside solver ignores."""
    abilities = SEARCHES.abilities(search)
    if vehicle_cost and abilities.outside and not abilities.vehicle_cost:
        _log.warning(
            "the search %s ignores the vehicle cost",
            name_of(search),
        )


# ------------------------------------------------------------------- the arguments


def _check_start(
    instance: Instance, start: Plan | Sequence[Sequence[int]] | StartName
) -> Plan | StartName:
    """
    Return the argument ``start`` as a name or a plan.

    Raise InputError for an unknown name or an infeasible plan.
    """
    if isinstance(start, str):
        check_choice("start", start, get_args(StartName))
        if start != "packing":
            instance.require_plain(f"the start {start!r}")
        return start
    plan = start if isinstance(start, Plan) else Plan(start)
    if faults := plan.check(instance):
        raise InputError(f"the start is not a plan for this instance: {faults[0]}")
    return plan


def _check_cores(cores: int | None) -> int:
    """
    Return the checked number of cores; for None, all cores that this process may use.
    """
    if cores is None:
        return available_cores()
    return check_whole("cores", cores, at_least(1))


def _load(instance: Instance, settings: _Settings) -> Search | None:
    """
    Load all code that the steps need, before the time limit begins.

    Return the search, or None if the user has chosen the search "none".
    """
    if isinstance(settings.start, str):
        load_start(settings.start, instance)
    load_exact_packing(instance)
    if settings.prove:
        load_for_bound()
    if settings.search == "none":
        return None
    load_for_partial_plan(instance)
    return load_search(settings.search, instance)
