"""The loop around every search: it checks each plan, keeps the best and reports it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.deadline import Deadline
from fixedfleet.errors import InputError, check_seed, check_vehicle_cost
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.plan import Plan
from fixedfleet.search.searches import SEARCHES, load_search, name_of
from fixedfleet.search.task import SearchTask, drop_excess, rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.plan import PlanBatch
    from fixedfleet.search.task import Search

    Improvement = Callable[[float, float, Plan], None]  # seconds, cost, plan

__all__ = [
    "SearchResult",
    "expensive_rows",
    "improve",
    "is_expensive",
    "run_search",
]


@dataclass(frozen=True)
class SearchResult:
    """
    The best plan of a search, and how it was found.

    Attributes
    ----------
    plan
        The best plan found. It may leave customers unserved if the initial plan did.
    cost
        Its length, plus the vehicle cost of each vehicle used.
    seconds
        Duration of the search.
    trace
        Each improvement as (seconds since the deadline began, cost). Only plans that
        serve all customers are listed.
    interrupted
        Whether the user ended the search with Ctrl-C.
    """

    plan: Plan
    cost: float
    seconds: float
    trace: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    interrupted: bool = False


def improve(
    instance: Instance,
    initial_plan: Plan | None = None,
    *,
    time_limit: float | None = None,
    iterations: int | None = None,
    stop: Callable[[], bool] | None = None,
    search: str | Search = "auto",
    seed: int = 0,
    vehicle_cost: float = 0.0,
    fewest: Plan | None = None,
    cores: int = 1,
    on_improvement: Improvement | None = None,
) -> SearchResult:
    """
    Improve a plan by a search, and return the best plan found.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    initial_plan
        The plan to start from. It may leave customers unserved. Customers and tours
        that exceed fleet or capacity are dropped. Default: no customer is served.
    time_limit
        Seconds for the search. Loading and compiling code does not count.
    iterations
        Maximum number of iterations, besides or instead of a time limit.
    stop
        Called now and then; the search ends when it returns True. ``vroom`` ignores it.
        ``hgs`` ends, but its solver runs on in a thread until the time limit.
    search
        Name of a search, a reference "module.py:Name" or the search itself.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used. The length plus this cost is minimised.
    fewest
        A plan with the smallest number of vehicles. If one vehicle costs at least the
        length of this plan, plans with more vehicles are not considered.
    cores
        Maximum number of cores. ``auto``, ``decomposition`` and ``gpu`` use several.
    on_improvement
        Called with (seconds, cost, plan) when the best plan has become better, at most
        once in a few milliseconds.

    Returns
    -------
    SearchResult
        Its plan is never worse than the initial one.
    """
    limits = time_limit, iterations, stop
    Deadline.of(*limits)  # raises if they are wrong, before anything is compiled
    if isinstance(search, str) and time_limit is None:
        SEARCHES.check(search)
        if not SEARCHES.abilities(search).counts_iterations:
            raise InputError(f"{search} cannot count iterations: give a time limit")
    loaded = load_search(search, instance)
    return run_search(
        loaded,
        instance,
        initial_plan or Plan([]),
        deadline=Deadline.of(*limits),
        seed=seed,
        vehicle_cost=vehicle_cost,
        fewest=fewest,
        cores=cores,
        on_improvement=on_improvement,
        outside=SEARCHES.abilities(search).outside,
    )


def run_search(
    search: Search,
    instance: Instance,
    initial_plan: Plan,
    *,
    deadline: Deadline,
    seed: int = 0,
    vehicle_cost: float = 0.0,
    fewest: Plan | None = None,
    cores: int = 1,
    on_improvement: Improvement | None = None,
    outside: bool = False,
) -> SearchResult:
    """
    Run a search until it ends or its deadline is over; return its best plan.

    The code of the search must already be loaded. If the search yields a plan that
    exceeds fleet or capacity, RuntimeError is raised; if ``outside``, the plan is
    ignored instead. The other arguments are those of :func:`improve`.
    """
    check_seed(seed)
    check_vehicle_cost(vehicle_cost)
    best, begin = drop_excess(instance, initial_plan), deadline.elapsed()
    least: tuple[float, float] = rank(instance, best, vehicle_cost)
    trace: list[tuple[float, float]] = []

    def report() -> None:
        if not least[0]:
            trace.append((deadline.elapsed(), least[1]))
            if on_improvement is not None:
                on_improvement(*trace[-1], best)

    report()
    interrupted = False
    with interrupt_noted() as pressed:
        rest = deadline.until(1.0).or_when(pressed)
        task = SearchTask(instance, best, rest, seed, vehicle_cost, cores)
        # `fewest` has the smallest number of vehicles only if the instance is plain.
        if (
            fewest is not None
            and instance.is_plain
            and is_expensive(vehicle_cost, fewest, instance)
        ):
            task = _with_fewest_vehicles(task, fewest)
        try:
            for plan in chain([task.initial_plan], _plans_of(search, task)):
                value = _value(plan, instance, vehicle_cost, outside)
                # Of plans of the same cost, a search yields last the one to keep.
                if (
                    value <= least
                    and plan != best
                    and _is_sound(plan, instance, outside)
                ):
                    best, better = plan, value < least
                    least = value
                    if better:
                        report()
                if rest.over():
                    break
        except KeyboardInterrupt:
            interrupted = True
        interrupted |= pressed()
    return SearchResult(
        plan=best,
        cost=least[1],
        seconds=deadline.elapsed() - begin,
        trace=tuple(trace),
        interrupted=interrupted,
    )


def is_expensive(vehicle_cost: float, fewest: Plan, instance: Instance) -> bool:
    """
    Return whether a vehicle costs at least as much as any further vehicle can save.

    This is so if a vehicle costs at least the length of ``fewest``, a plan with the
    smallest number of vehicles. Then the search gets only this number of vehicles, and
    minimises the length.
    """
    return vehicle_cost > 0 and vehicle_cost >= fewest.length(instance)


def expensive_rows(
    vehicle_cost: float, fewest: PlanBatch, batch: InstanceBatch
) -> NDArray[np.bool_]:
    """Return :func:`is_expensive` for each instance of a batch, shape (B,)."""
    if vehicle_cost <= 0:
        return np.zeros(len(batch), dtype=bool)
    return np.asarray(vehicle_cost >= fewest.lengths(batch))


def _with_fewest_vehicles(task: SearchTask, fewest: Plan) -> SearchTask:
    """Return the task with as many vehicles as ``fewest`` uses, and no vehicle cost."""
    if fewest.vehicles > task.instance.vehicles:
        return task
    plan, instance = task.initial_plan, task.instance.with_vehicles(fewest.vehicles)
    if plan.vehicles > fewest.vehicles or plan.unserved(instance):
        plan = fewest
    return replace(task, instance=instance, initial_plan=plan, vehicle_cost=0.0)


def _plans_of(search: Search, task: SearchTask) -> Iterator[Plan]:
    """Return the iterator of a search; raise InputError if it is not iterable."""
    plans: Any = search(task)
    if not hasattr(plans, "__iter__"):
        raise InputError(
            f"the search {name_of(search)} returned {plans!r}: it must yield plans"
        )
    return iter(plans)


def _value(
    plan: Plan, instance: Instance, vehicle_cost: float, outside: bool
) -> tuple[float, float]:
    """
    Return the rank of a plan that a search has yielded: the smaller, the better.

    The rank is (weight of unserved customers, cost). If the plan serves a customer that
    does not exist, RuntimeError is raised; if ``outside``, the rank is infinite
    instead.
    """
    try:
        return rank(instance, plan, vehicle_cost)
    except InputError:
        if outside:
            return math.inf, math.inf
        fault = plan.check(instance)[0]
        raise RuntimeError(f"the search returned a wrong plan: {fault}") from None


def _is_sound(plan: Plan, instance: Instance, outside: bool) -> bool:
    """
    Return whether a plan has no faults; unserved customers are not a fault.

    If it has a fault, RuntimeError is raised, unless ``outside``.
    """
    faults = plan.check(instance, partial=True)
    if not faults:
        return True
    if outside:
        return False
    raise RuntimeError(f"the search returned a wrong plan: {faults[0]}")
