"""What a search is given, and what it may return.

A search is a function that is given a :class:`SearchTask` and yields plans, each better
than the last one it knew, until the task's deadline is over::

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
    "rank",
    "run_step",
]

PARTS_ABOVE = 200  # with more customers, a plan is searched part by part
MIN_SECONDS = 1e-3  # a step of a search is not worth its set-up in less time
_REPORT_PAUSE = 49  # times the seconds that a report took, before the next one


def _keep(plan: Plan) -> Plan:
    """Return the plan unchanged: the ``exchange`` of a search that runs alone."""
    return plan


@dataclass(frozen=True)
class SearchTask:
    """
    What a search is given.

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
        The most cores that the search may use.
    exchange
        A search may call this between two steps with its best plan, and go on from the
        plan that is returned. It is the same one, or that of a search which runs beside
        this one, see :mod:`fixedfleet.search.side_by_side`.
    """

    instance: Instance
    initial_plan: Plan
    deadline: Deadline
    seed: int = 0
    vehicle_cost: float = 0.0
    cores: int = 1
    exchange: Callable[[Plan], Plan] = _keep


Search = Callable[[SearchTask], Iterator[Plan]]


class ReportPace:
    """
    Limits how often a search yields a plan, to about a fiftieth of its time.

    To read a plan from the arrays of a search and to check it takes time, which would
    be lost to the search if every improvement were reported.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._clock = deadline.clock
        self._next = deadline.begin

    def is_due(self) -> bool:
        """Return whether a plan may be yielded now."""
        return self._clock() >= self._next

    def report(self, read_plan: Callable[[], Plan]) -> Iterator[Plan]:
        """Yield a plan, and note how long it took to read it and to check it."""
        begin = self._clock()
        yield read_plan()
        end = self._clock()
        self._next = end + _REPORT_PAUSE * (end - begin)


def run_step(
    search: Search, task: SearchTask, vehicle_cost: float | None = None
) -> Generator[Plan, None, Plan]:
    """
    Yield the plans of one step of a search; return the best of them.

    The plan returned is the initial plan if no better one was found. With a vehicle
    cost, plans are compared by this cost instead of the task's own.
    """
    cost = task.vehicle_cost if vehicle_cost is None else vehicle_cost
    best, least = task.initial_plan, rank(task.instance, task.initial_plan, cost)
    for plan in search(task):
        value = rank(task.instance, plan, cost)
        if value < least:
            best, least = plan, value
        yield plan
    return best


def better(instance: Instance, found: Plan, known: Plan, vehicle_cost: float) -> Plan:
    """Return the better of two plans, the known one on a tie."""
    new, old = (rank(instance, plan, vehicle_cost) for plan in (found, known))
    return found if new < old else known


def rank(instance: Instance, plan: Plan, vehicle_cost: float) -> tuple[int, float]:
    """Return what makes a plan better: few unserved customers, then a low cost."""
    return plan.unserved_weight(instance), plan.cost_v(instance, vehicle_cost)


def drop_excess(instance: Instance, plan: Plan) -> Plan:
    """
    Return a plan without the customers and tours that exceed capacity or fleet.

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
    """Like :func:`drop_excess`, with vehicle types, windows and shifts."""
    units = instance.demand_units
    room = [one.count for one in instance.fleet]
    tours = sorted(
        zip(plan.type_indices(instance), plan.tours, strict=True),
        key=lambda pair: len(pair[1]),
        reverse=plan.vehicles > instance.vehicles,
    )
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
