"""The pipeline: verdict on the fleet, start, search. It has no logic of its own."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from fixedfleet.errors import InputError
from fixedfleet.fleet import FleetVerdict, assess_fleet
from fixedfleet.plan import Plan
from fixedfleet.search import SearchName, improve
from fixedfleet.search.start import check_vehicle_cost
from fixedfleet.starts import StartName, check_start, make_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance

__all__ = ["Objective", "Result", "Stage", "solve"]

Objective = Literal["length", "cost-v"]


@dataclass(frozen=True)
class Stage:
    """What one step of the pipeline cost in seconds, and the cost it left behind."""

    name: str
    seconds: float
    cost: float


@dataclass(frozen=True)
class Result:
    """
    A plan with all that was found out on the way.

    Attributes
    ----------
    instance
        The instance that was solved. With the guarantee its fleet may be larger than
        the one asked for: the smallest that suffices.
    plan
        The best plan, or None where there is none within the fleet.
    verdict
        Whether the fleet asked for suffices, and why.
    stages
        Seconds and cost of each step.
    trace
        Improvements of the search as (seconds, cost).
    objective, vehicle_cost
        What was minimised.
    interrupted
        Whether the user cut the search short.
    """

    instance: Instance
    plan: Plan | None
    verdict: FleetVerdict
    stages: tuple[Stage, ...]
    trace: tuple[tuple[float, float], ...] = ()
    objective: Objective = "length"
    vehicle_cost: float = 0.0
    interrupted: bool = False

    @property
    def feasible(self) -> bool:
        """Whether there is a plan that serves everybody within fleet and capacity."""
        return self.plan is not None and self.plan.is_feasible(self.instance)

    @property
    def length(self) -> float:
        """Length of the plan; infinite where there is none."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.length(self.instance)

    @property
    def cost_v(self) -> float:
        """Length plus the vehicle cost of each vehicle used; infinite for no plan."""
        if self.plan is None or not self.feasible:
            return math.inf
        return self.plan.cost_v(self.instance, self.vehicle_cost)

    @property
    def cost(self) -> float:
        """What the objective asks for: the length or Cost_v."""
        return self.length if self.objective == "length" else self.cost_v

    @property
    def seconds(self) -> float:
        """Wall time of the whole pipeline."""
        return sum(stage.seconds for stage in self.stages)

    def summary(self) -> str:
        """Say in a few lines what came out."""
        lines = [str(self.verdict)]
        if self.plan is None:
            lines.append("no plan found")
        else:
            lines.append(
                f"{self.plan.vehicles} of {self.instance.vehicles} vehicles, "
                f"length {self.length:g}, Cost_v {self.cost_v:g}"
            )
        lines.extend(
            f"{stage.name}: {stage.seconds * 1e3:.1f} ms, cost {stage.cost:g}"
            for stage in self.stages
        )
        return "\n".join(lines)

    __str__ = summary


def solve(
    instance: Instance,
    time_limit: float = 1.0,
    *,
    seed: int = 0,
    start: Plan | StartName = "auto",
    search: SearchName | Literal["none"] = "auto",
    objective: Objective = "length",
    vehicle_cost: float = 0.0,
    guarantee: bool = False,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """
    Plan tours for an instance's fleet.

    Parameters
    ----------
    instance
        The instance to plan for.
    time_limit
        Seconds for everything: verdict, start and search.
    seed
        Seed of the search.
    start
        What the search starts from: ``packing``, ``savings``, ``sweep``, ``network``
        (a shipped network's plan), a plan of your own, or ``auto``, the one that
        measured best in the same total time: the packing.
    search
        What improves the start: ``auto`` takes the best known for size and time,
        ``none`` leaves it as it is.
    objective
        ``length``, or ``cost-v``: length plus ``vehicle_cost`` for each vehicle used.
    vehicle_cost
        Fixed cost of each vehicle used.
    guarantee
        Where the fleet is too small, plan for the smallest that suffices instead.
    on_improvement
        Called with (seconds, cost, plan) as the best plan becomes better.
    stop
        Asked now and then; the search ends when it answers True.
    """
    begin = time.perf_counter()
    _check(instance, time_limit, start, search, objective, vehicle_cost)
    charged = vehicle_cost if objective == "cost-v" else 0.0
    verdict = assess_fleet(instance, time_limit=time_limit / 2)
    packing = verdict.packing
    if verdict.status == "impossible" and guarantee and verdict.smallest_packing:
        packing = verdict.smallest_packing
        instance = instance.with_vehicles(packing.vehicles)
    stages = [_stage("fleet", begin, instance, packing, charged)]
    first: Plan | None = packing
    if isinstance(start, Plan):
        first = start
    elif start not in ("auto", "packing") and (
        packing or verdict.status == "undecided"
    ):
        begin_start = time.perf_counter()
        first = make_start(start, instance, packing, seed=seed)
        stages.append(_stage(start, begin_start, instance, first, charged))
    result = Result(
        instance=instance,
        plan=first,
        verdict=verdict,
        stages=tuple(stages),
        objective=objective,
        vehicle_cost=vehicle_cost,
    )
    if search == "none" or (first is None and verdict.status == "impossible"):
        return result
    found = improve(
        instance,
        first if first is not None else Plan([]),
        search=search,
        time_limit=max(time_limit - (time.perf_counter() - begin), 1e-3),
        seed=seed,
        vehicle_cost=charged,
        fewest=verdict.smallest_packing,
        on_improvement=on_improvement,
        stop=stop,
    )
    plan = None if found.plan.unserved(instance) else found.plan
    stages.append(Stage(search, found.seconds, _cost(instance, plan, charged)))
    return replace(
        result,
        plan=plan,
        stages=tuple(stages),
        trace=found.trace,
        interrupted=found.interrupted,
    )


def _stage(
    name: str, begin: float, instance: Instance, plan: Plan | None, charged: float
) -> Stage:
    return Stage(name, time.perf_counter() - begin, _cost(instance, plan, charged))


def _cost(instance: Instance, plan: Plan | None, charged: float) -> float:
    return math.inf if plan is None else plan.cost_v(instance, charged)


def _check(
    instance: Instance,
    time_limit: float,
    start: Plan | str,
    search: str,
    objective: str,
    vehicle_cost: float,
) -> None:
    if not time_limit > 0 or math.isinf(time_limit):
        raise InputError(f"time limit is {time_limit:g} s, not a time above 0")
    if search != "none" and search not in get_args(SearchName):
        raise InputError(
            f"unknown search {search!r}: choose from {', '.join(get_args(SearchName))} "
            "and none"
        )
    if objective not in get_args(Objective):
        raise InputError(f"unknown objective {objective!r}: choose from length, cost-v")
    check_vehicle_cost(vehicle_cost)
    if isinstance(start, str):
        check_start(start)
    elif faults := start.check(instance):
        raise InputError(f"the start is no plan for this instance: {faults[0]}")
