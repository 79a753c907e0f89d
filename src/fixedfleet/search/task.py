"""
The interface of a search.

A search is a function that is given a :class:`SearchTask` and yields plans, each better
than those before, until the task's deadline is over::

    def my_search(task: SearchTask) -> Iterator[Plan]:
        while not task.deadline.over():
            yield ...

:func:`fixedfleet.search.improve` checks the plans and keeps the best one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance

__all__ = [
    "MIN_SECONDS",
    "PARTS_ABOVE",
    "ReportPace",
    "Search",
    "SearchTask",
    "better",
    "drop_excess",
    "exchanged",
    "rank",
    "run_step",
]

PARTS_ABOVE = 200  # with more customers, a plan is searched part by part
MIN_SECONDS = 1e-3  # a step of a search is skipped if it would have less time
_REPORT_PAUSE = 49  # the pause after a report is this many times the report's duration


def _keep(plan: Plan) -> Plan:
    """Return the plan unchanged: the ``exchange`` of a search that runs alone."""
    return plan


@dataclass(frozen=True)
class SearchTask:
    """
    The input of a search.

    Attributes
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    initial_plan
        The plan to start from, within fleet and capacity. It may leave customers
        unserved, or be empty.
    deadline
        When to end.
    seed
        Seed of the random numbers.
    vehicle_cost
        Fixed cost of each vehicle used; the search minimises the length plus this.
    cores
        Maximum number of cores that the search may use.
    exchange
        A search may call this between two steps with its plan, and continue from the
        plan that is returned: the same plan, or one of other searches that run at the
        same time, see :mod:`fixedfleet.search.side_by_side`.
    """

    instance: Instance
    initial_plan: Plan
    deadline: Deadline
    seed: int = 0
    vehicle_cost: float = 0.0
    cores: int = 1
    exchange: Callable[[Plan], Plan] = _keep

    @property
    def is_alone(self) -> bool:
        """Whether no other search runs at the same time and exchanges plans."""
        return self.exchange is _keep


Search = Callable[[SearchTask], Iterator[Plan]]


class ReportPace:
    """
    Limits how often a search yields a plan, so that this takes at most 2 % of its time.

    It takes time to read a plan from the arrays of a search and to check it. If every
    improvement were yielded, the search would lose this time.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._clock = deadline.clock
        self._next = deadline.begin

    def is_due(self) -> bool:
        """Return whether a plan may be yielded now."""
        return self._clock() >= self._next

    def report(self, read_plan: Callable[[], Plan]) -> Iterator[Plan]:
        """
        Yield the plan that ``read_plan`` returns.

        The time until the caller asks for the next plan is measured. It determines when
        the next report is due.
        """
        begin = self._clock()
        yield read_plan()
        end = self._clock()
        self._next = end + _REPORT_PAUSE * (end - begin)


def exchanged(task: SearchTask, plan: Plan) -> Generator[Plan, None, Plan]:
    """
    Exchange a plan; return the plan to continue from, and yield it if it is new.
    """
    other = task.exchange(plan)
    if other != plan:
        yield other
    return other


def run_step(
    search: Search, task: SearchTask, vehicle_cost: float | None = None
) -> Generator[Plan, None, Plan]:
    """
    Run one step of a search: yield its plans, and return the best of them.

    Of plans of the same cost, the last one is returned. If all plans are worse than the
    initial plan, the initial plan is returned. If ``vehicle_cost`` is given, the best
    plan is chosen with it instead of the task's vehicle cost.
    """
    cost = task.vehicle_cost if vehicle_cost is None else vehicle_cost
    best, least = task.initial_plan, rank(task.instance, task.initial_plan, cost)
    for plan in search(task):
        value = rank(task.instance, plan, cost)
        if value <= least:
            best, least = plan, value
        yield plan
    return best


def better(instance: Instance, found: Plan, known: Plan, vehicle_cost: float) -> Plan:
    """Return the better of two plans, the known one on a tie."""
    new, old = (rank(instance, plan, vehicle_cost) for plan in (found, known))
    return found if new < old else known


def rank(instance: Instance, plan: Plan, vehicle_cost: float) -> tuple[int, float]:
    """Return (weight of unserved customers, cost). The smaller, the better the plan."""
    return plan.unserved_weight(instance), plan.cost_v(instance, vehicle_cost)


def drop_excess(instance: Instance, plan: Plan) -> Plan:
    """
    Return the plan without the customers and tours that exceed capacity or fleet.

    If there are windows or shifts, customers that make a tour late are dropped as well.

    Raises
    ------
    InputError
        If the plan serves a customer twice or one that does not exist.
    """
    served = [customer for tour in plan.tours for customer in tour]
    if (
        len(set(served)) < len(served)
        or max(served, default=0) > instance.num_customers
    ):
        fault = plan.check(instance)[0]  # such faults come first
        raise InputError(f"the initial plan is not one for this instance: {fault}")
    if not instance.is_plain:
        return _drop_excess_of_day(instance, plan)
    units, capacity = instance.demand_units, instance.capacity_units
    tours = []
    for tour in plan.tours:
        kept, load = [], 0
        for customer in tour:
            if load + units[customer] <= capacity:
                kept.append(customer)
                load += units[customer]
        tours.append(kept)
    if len(tours) > instance.vehicles:
        tours = sorted(tours, key=len, reverse=True)[: instance.vehicles]
    return Plan(tours)


def _drop_excess_of_day(instance: Instance, plan: Plan) -> Plan:
    """Do what :func:`drop_excess` does, for vehicle types, windows and shifts."""
    units = instance.demand_units
    room = [one.count for one in instance.fleet]
    indices = plan.type_indices(instance)
    tours = list(zip(indices, plan.tours, strict=True))
    if any(indices.count(index) > count for index, count in enumerate(room)):
        tours.sort(key=lambda pair: len(pair[1]), reverse=True)  # keep the longest
    kept: list[tuple[int, list[int]]] = []
    for index, tour in tours:
        if not room[index]:
            continue
        room[index] -= 1
        capacity, stops = instance.type_capacity_units[index], list[int]()
        for customer in tour:
            longer = [*stops, customer]
            if units[longer].sum() <= capacity and not Plan([longer], [index]).check(
                instance, partial=True
            ):
                stops = longer
        kept.append((index, stops))
    return Plan([stops for _, stops in kept], [index for index, _ in kept])
