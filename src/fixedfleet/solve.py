"""Plan tours for one instance: verdict on the fleet, start, search."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from fixedfleet.errors import InputError, at_least, check_choice, check_whole
from fixedfleet.fleet import assess_fleet
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.plan import Objective, Plan, charge
from fixedfleet.progress import ProgressPrinter
from fixedfleet.result import Result, Stage, with_gains
from fixedfleet.search import SEARCHES, Stop, better, improve
from fixedfleet.search.construct import StartName, load_start, make_start
from fixedfleet.search.locked_tours import LockedTours
from fixedfleet.search.partial import partial_plan
from fixedfleet.workers import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance
    from fixedfleet.search import SearchMethod, SearchResult

    Improvement = Callable[[float, float, Plan], None]  # seconds, cost, plan

__all__ = ["Objective", "Result", "Stage", "solve"]

_PARTIAL_SHARE = 0.2  # of the time, for a plan with unassigned customers
_VERDICT_SHARE = 0.5  # of the time, at most, for whether the fleet suffices
_SMALLEST_SHARE = 0.05  # of the time, at most, for the smallest fleet that suffices


def solve(
    instance: Instance,
    time_limit: float = 1.0,
    *,
    seed: int = 0,
    start: Plan | StartName = "packing",
    search: str | SearchMethod = "auto",
    objective: Objective = "length",
    vehicle_cost: float = 0.0,
    guarantee: bool = False,
    locked: Plan | Sequence[Sequence[int]] = (),
    cores: int | None = None,
    display: bool = False,
    on_improvement: Improvement | None = None,
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
        Seconds for everything: verdict, start and search. Loading compiled code and
        networks, the first time in a process, does not count.
    seed
        Seed of the search.
    start
        What the search starts from: ``packing``, which measured best in the same total
        time, ``savings``, ``sweep``, ``network`` (the shipped network's plan), or a
        plan of your own.
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
    charged = charge(objective, vehicle_cost)
    _check(instance, start, search)
    rows = ProgressPrinter(sys.stdout, interval=0.25, in_place=False)

    def show(seconds: float, cost: float, plan: Plan) -> None:
        rows.show(f"{seconds:9.2f}  {cost:14.8g}  {plan.vehicles:8d}")
        if on_improvement is not None:
            on_improvement(seconds, cost, plan)

    tell = show if display else on_improvement
    call = _Call(
        search=search,
        objective=objective,
        vehicle_cost=vehicle_cost,
        charged=charged,
        guarantee=guarantee,
        seed=seed,
        cores=(
            available_cores()
            if cores is None
            else check_whole("cores", cores, at_least(1))
        ),
        limit=Stop(time_limit, asked=stop),
        display=display,
    )
    with interrupt_noted(call.limit.interrupt):
        if len(locked):
            locks = LockedTours(locked, instance, charged)
            rest = _plan(locks.rest, locks.rest_of(start), call, locks.told(tell))
            result = locks.whole(rest)
        else:
            result = _plan(instance, start, call, tell)
    if display:
        rows.end()
        print(result, flush=True)
    return result


@dataclass(frozen=True, kw_only=True)
class _Call:
    """What all steps share; ``charged`` is what the objective counts per vehicle."""

    search: str | SearchMethod
    objective: Objective
    vehicle_cost: float
    charged: float
    guarantee: bool
    seed: int
    cores: int
    limit: Stop
    display: bool

    def stage(
        self, name: str, begin: float, instance: Instance, plan: Plan | None
    ) -> Stage:
        """Close a step that began at this time on the clock."""
        seconds = self.limit.elapsed() - begin
        cost = math.inf if plan is None else plan.cost_v(instance, self.charged)
        return Stage(name, seconds, cost)


def _plan(
    instance: Instance, start: Plan | StartName, call: _Call, tell: Improvement | None
) -> Result:
    """Take the steps: verdict, perhaps a partial plan, start, search."""
    if isinstance(start, str):
        with call.limit.paused():
            load_start(start)
    verdict, larger, stage = _judge(instance, call)
    stages = [stage]
    if call.display:
        names = f"{'seconds':>9}  {'best cost':>14}  {'vehicles':>8}"
        print(f"{instance!r}\n{verdict}\n{names}", flush=True)

    plan, partial = verdict.packing, None
    if plan is None and isinstance(start, str):
        plan, partial, stage = _leave_out(instance, verdict, larger, call)
        stages.append(stage)
        if plan is None and larger is not None:
            plan, instance = larger, instance.with_vehicles(larger.vehicles)

    if start != "packing" and (isinstance(start, Plan) or _worth(plan, verdict, call)):
        plan, stage = _begin(instance, start, plan, call)
        stages.append(stage)

    found = None
    if call.search != "none" and _worth(plan, verdict, call):
        first = plan or partial or Plan([])
        found, stage = _search(instance, first, verdict, call, tell)
        stages.append(stage)
        if not found.plan.unserved(instance):
            plan = found.plan
            partial = partial if instance.vehicles > verdict.vehicles else None
        elif partial is not None:
            partial = better(instance, found.plan, partial, call.charged)

    return Result(
        instance=instance,
        plan=plan,
        verdict=verdict,
        stages=with_gains(stages),
        trace=() if found is None else found.trace,
        objective=call.objective,
        vehicle_cost=call.vehicle_cost,
        interrupted=call.limit.interrupted,
        partial=partial,
    )


# ---------------------------------------------------------------------- the steps


def _judge(instance: Instance, call: _Call) -> tuple[FleetVerdict, Plan | None, Stage]:
    """Find out whether the fleet suffices; if not, return a plan for a larger one."""
    begin = call.limit.elapsed()
    # Which smaller fleet would suffice is worth little time if vehicles are free.
    share = _VERDICT_SHARE if call.charged else _SMALLEST_SHARE
    verdict = assess_fleet(
        instance,
        time_limit=_VERDICT_SHARE * call.limit.seconds,
        smallest_limit=share * call.limit.seconds,
    )
    larger = None
    if call.guarantee and verdict.packing is None:
        larger = verdict.smallest_packing
    stage = call.stage("fleet", begin, instance, verdict.packing or larger)
    return verdict, larger, stage


def _leave_out(
    instance: Instance, verdict: FleetVerdict, larger: Plan | None, call: _Call
) -> tuple[Plan | None, Plan | None, Stage]:
    """Plan as many customers as possible; return a complete or a partial plan."""
    begin = call.limit.elapsed()
    stop = None
    if call.search != "none":
        alone = verdict.status == "impossible" and larger is None
        stop = call.limit.part().part(1.0 if alone else _PARTIAL_SHARE)
    found = partial_plan(instance, stop=stop, seed=call.seed, vehicle_cost=call.charged)
    stage = call.stage("partial", begin, instance, found)
    if found.unserved(instance):
        return None, found, stage
    return found, None, stage


def _worth(plan: Plan | None, verdict: FleetVerdict, call: _Call) -> bool:
    """Whether a plan may exist and the user has not pressed Ctrl-C."""
    possible = plan is not None or verdict.status != "impossible"
    return possible and not call.limit.interrupted


def _begin(
    instance: Instance, start: Plan | StartName, packing: Plan | None, call: _Call
) -> tuple[Plan | None, Stage]:
    """Return the plan that the search starts from, if it is not the packing."""
    begin = call.limit.elapsed()
    if isinstance(start, Plan):
        return start, call.stage("start", begin, instance, start)
    plan = make_start(start, instance, packing, seed=call.seed)
    return plan, call.stage(start, begin, instance, plan)


def _search(
    instance: Instance,
    plan: Plan,
    verdict: FleetVerdict,
    call: _Call,
    tell: Improvement | None,
) -> tuple[SearchResult, Stage]:
    """Improve a plan, which may leave customers unassigned."""
    begin, search = call.limit.elapsed(), call.search
    fewest = verdict.smallest_packing
    if fewest is not None and fewest.vehicles > instance.vehicles:
        fewest = None
    found = improve(
        instance,
        plan,
        stop=call.limit,
        search=search,
        seed=call.seed,
        vehicle_cost=call.charged,
        fewest=fewest,
        cores=call.cores,
        on_improvement=tell,
    )
    name = search
    if not isinstance(name, str):
        name = getattr(search, "__name__", type(search).__name__)
    complete = None if found.plan.unserved(instance) else found.plan
    return found, call.stage(name, begin, instance, complete)


# ------------------------------------------------------------------- the arguments


def _check(instance: Instance, start: Plan | str, search: str | SearchMethod) -> None:
    """Raise InputError for a wrong argument, before anything is computed."""
    if isinstance(search, str) and search != "none":
        SEARCHES.check(search)
    if search == "gpu":
        from fixedfleet.search.gpu import require_gpu

        require_gpu()
    if isinstance(start, str):
        check_choice("start", start, get_args(StartName))
    elif faults := start.check(instance):
        raise InputError(f"the start is not a plan for this instance: {faults[0]}")
