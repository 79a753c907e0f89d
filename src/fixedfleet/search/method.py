"""What every search has in common: what it is given and what comes out.

A search is a function of one argument, a :class:`SearchTask`. It offers the plans that
it finds to the task and returns when the task's ``stop`` says so::

    def my_search(task: SearchTask) -> None:
        while not task.stop.over():
            task.offer(...)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.search.stop import Stop

__all__ = [
    "EXPENSIVE",
    "LEAST_SECONDS",
    "MANY",
    "Incumbent",
    "SearchMethod",
    "SearchResult",
    "SearchTask",
    "better",
    "fit",
]

# If a vehicle costs at least this share of a plan's length, the number of vehicles is
# minimised first.
EXPENSIVE = 0.05
MANY = 200  # with more customers, a plan is searched part by part
LEAST_SECONDS = 1e-3  # a step of a search is not worth its set-up in less time


class SearchMethod(Protocol):
    """A search: offers better plans to its task until the task's time is over."""

    def __call__(self, task: SearchTask, /) -> None: ...


@dataclass(frozen=True)
class SearchTask:
    """
    What a search is given.

    Attributes
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    start
        The plan to start from, within fleet and capacity. It may leave customers
        unassigned.
    stop
        When to end.
    best
        Keeps the best plan found.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used; the search minimises the length plus this.
    fewest
        A plan with the smallest number of vehicles, if one is known.
    cores
        The most cores that the search may use.
    """

    instance: Instance
    start: Plan
    stop: Stop
    best: Incumbent
    seed: int = 0
    vehicle_cost: float = 0.0
    fewest: Plan | None = None
    cores: int = 1

    def offer(self, plan: Plan) -> None:
        """Report a plan; it is kept if it is better than the best one so far."""
        self.best.offer(plan)


class Incumbent:
    """
    The best plan of a search so far.

    Each better plan without unassigned customers adds (seconds, cost) to ``trace``, by
    the clock of the stop. ``on_improvement`` is called with these and the plan.
    """

    def __init__(
        self,
        instance: Instance,
        start: Plan,
        stop: Stop,
        vehicle_cost: float = 0.0,
        on_improvement: Callable[[float, float, Plan], None] | None = None,
    ) -> None:
        self.instance = instance
        self.stop = stop
        self.vehicle_cost = vehicle_cost
        self.on_improvement = on_improvement
        self.plan = start
        self.unassigned, self.cost = _rank(instance, start, vehicle_cost)
        self.trace: list[tuple[float, float]] = []
        self._next = 0.0

    @property
    def watched(self) -> bool:
        """Whether somebody wants to see a plan now, before the search ends."""
        return self.on_improvement is not None and self.stop.elapsed() >= self._next

    def offer(self, plan: Plan) -> None:
        """
        Keep a plan if it is better: fewer unassigned customers, then lower cost.

        A better plan that exceeds fleet or capacity, or serves a customer twice, is a
        RuntimeError.
        """
        begin = self.stop.elapsed()
        unassigned, cost = _rank(self.instance, plan, self.vehicle_cost)
        if (unassigned, cost) >= (self.unassigned, self.cost):
            return
        faults = plan.check(self.instance)
        if len(faults) > unassigned:  # each unassigned customer is one fault
            other = next(fault for fault in faults if not fault.endswith("missing"))
            raise RuntimeError(f"the search returned a wrong plan: {other}")
        self.plan, self.unassigned, self.cost = plan, unassigned, cost
        self.report()
        # Plans that are only shown take at most a tenth of the time.
        self._next = self.stop.elapsed() + 9 * (self.stop.elapsed() - begin)

    def report(self) -> None:
        """Note and report the best plan, unless it leaves customers unassigned."""
        if self.unassigned:
            return
        self.note(self.cost)
        if self.on_improvement is not None:
            self.on_improvement(*self.trace[-1], self.plan)

    def note(self, cost: float) -> None:
        """Add a cost to the trace if it is the lowest; its plan is offered later."""
        if not self.trace or cost < self.trace[-1][1]:
            self.trace.append((self.stop.elapsed(), cost))


@dataclass(frozen=True)
class SearchResult:
    """
    The best plan of a search, and how it was found.

    Attributes
    ----------
    plan
        The best plan found. It may leave customers unassigned if the start did.
    cost
        Its length, plus the vehicle cost of each vehicle used.
    seconds
        Time of the search.
    iterations
        Iterations done.
    trace
        Each improvement as (seconds on the clock of the :class:`Stop`, best cost). Only
        plans without unassigned customers count.
    interrupted
        Whether the user ended the search with Ctrl-C.
    """

    plan: Plan
    cost: float
    seconds: float
    iterations: int = 0
    trace: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    interrupted: bool = False


def better(instance: Instance, found: Plan, known: Plan, vehicle_cost: float) -> Plan:
    """Return the better of two plans, the known one on a tie."""
    rank, least = (_rank(instance, plan, vehicle_cost) for plan in (found, known))
    return found if rank < least else known


def _rank(instance: Instance, plan: Plan, vehicle_cost: float) -> tuple[int, float]:
    """Return what makes a plan better: few unassigned customers, then a low cost."""
    return len(plan.unserved(instance)), plan.cost_v(instance, vehicle_cost)


def fit(instance: Instance, start: Plan) -> Plan:
    """
    Return a start without the tours and customers that exceed fleet or capacity.

    Raises
    ------
    InputError
        If the start serves a customer twice or one that does not exist.
    """
    served = [customer for tour in start.tours for customer in tour]
    if (
        len(set(served)) < len(served)
        or max(served, default=0) > instance.num_customers
    ):
        fault = start.check(instance)[0]  # such faults come first
        raise InputError(f"the start is not a plan for this instance: {fault}")
    units, capacity = instance.demand_units, instance.capacity_units
    tours = []
    for tour in start.tours:
        kept, load = [], 0
        for customer in tour:
            if load + units[customer] <= capacity:
                kept.append(customer)
                load += units[customer]
        tours.append(kept)
    if len(tours) > instance.vehicles:
        tours = sorted(tours, key=len, reverse=True)[: instance.vehicles]
    return Plan(tours)
