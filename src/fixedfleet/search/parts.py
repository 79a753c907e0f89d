"""
Parts of a plan: some of its tours as an instance of their own.

Parts that have no tour in common are searched at the same time. When the search of a
part ends, its tours are replaced. The next part is drawn from all tours that are not
being searched.
"""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.plan import Plan
from fixedfleet.search.cpu_distances import nearest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance

    Tour = tuple[int, ...]
    Search = Callable[[], Plan]  # of one part

__all__ = ["DividedPlan", "Part", "search_in_threads"]

_DRAWS = 8  # draws of a part; if none gives a new one, parts become larger
_PATIENCE = 0.3  # how random the draw is: 0 always takes the longest-waiting tour
_POLL_SECONDS = 0.02  # after which a deadline is looked at again while threads work
_GRACE_SECONDS = 0.05  # for threads to end after the deadline; then they are abandoned


class Part(NamedTuple):
    """Some tours of a plan as an instance of their own."""

    tours: list[Tour]
    customers: list[int]  # customers[0] is customer 1 of the part's instance, …
    instance: Instance
    plan: Plan  # the tours, with the customer numbers of the part's instance
    seed: int  # of a search of this part


class DividedPlan:
    """
    A plan that is searched part by part.

    It returns parts to search, and replaces their tours by better ones.
    """

    def __init__(self, instance: Instance, plan: Plan, seed: int) -> None:
        self.instance = instance
        self._random = np.random.default_rng(seed)
        self._drawn = 0  # number of parts so far
        # Tours by their first customers: the free ones, and those in a part that is
        # being searched.
        self._tours: dict[int, Tour] = {tour[0]: tour for tour in plan.tours if tour}
        self._searched: dict[int, Tour] = {}
        stops = (stop for tour in plan.tours for stop in tour)
        self._place = {stop: place for place, stop in enumerate(stops)}
        self._spare = instance.vehicles - len(self._tours)
        # The number of the last part that contained each customer, and the tour of each
        # customer. The customers of a tour were in the same part, so its first one
        # stands for all.
        self._last = np.zeros(instance.num_customers + 1, dtype=np.int64)
        self._tour_of = {stop: tour for tour in plan.tours for stop in tour}
        self._nearest_first = nearest_first(instance)

    @property
    def can_draw(self) -> bool:
        """Whether at least two tours are not being searched."""
        return len(self._tours) > 1

    @property
    def tours(self) -> list[Tour]:
        """The present tours."""
        return [*self._tours.values(), *self._searched.values()]

    def plan(self) -> Plan:
        """
        Return the present tours as a plan.

        Their order is that of their first customers in the initial plan. So it does not
        depend on the order in which parts were searched.
        """
        tours = sorted(self.tours, key=lambda tour: self._place[tour[0]])
        return Plan(tours)

    def divide(self, count: int) -> list[Part]:
        """
        Divide all tours into ``count`` parts with about equal numbers of customers.
        """
        groups = self._split(list(self._tours.values()), count)
        return [self._take(group, count - k) for k, group in enumerate(groups)]

    def draw(
        self, size: float, in_vain: set[frozenset[Tour]], cores: int = 1
    ) -> Part | None:
        """
        Draw a part of neighbouring tours; return None if there is no new part.

        The part has about ``size`` customers, and at least two tours. None of its tours
        is being searched. A part of ``in_vain``, which was searched before without
        success, is not drawn again. Idle vehicles are shared equally among ``cores``
        parts.
        """
        free = list(self._tours.values())
        for _ in range(_DRAWS if self.can_draw else 0):
            group: list[Tour] = []
            customers = 0
            for tour in self._near(self._draw_customer(free)):
                if tour[0] not in self._tours:
                    continue
                customers += len(tour)
                if len(group) > 1 and customers > size:
                    break
                group.append(tour)
            if frozenset(group) not in in_vain:
                return self._take(group, cores)
        return None

    def replace(self, part: Part, found: Plan) -> bool:
        """
        Replace the tours of a part by ``found``, a plan for the part's instance.

        Return whether ``found`` differs from the part's previous plan.
        """
        for tour in part.tours:
            del self._searched[tour[0]]
        new = found.renumbered(part.customers).tours
        self._tours.update((tour[0], tour) for tour in new)
        self._tour_of.update((stop, tour) for tour in new for stop in tour)
        self._spare += part.instance.vehicles - len(new)
        return found != part.plan

    def _take(self, group: list[Tour], cores: int) -> Part:
        """
        Return tours as a part, and mark them as being searched.

        The part also gets one of ``cores`` equal shares of the idle vehicles.
        """
        for tour in group:
            self._searched[tour[0]] = self._tours.pop(tour[0])
        share = -(-self._spare // cores)
        self._spare -= share
        part = self._part(group, share)
        self._drawn += 1
        self._last[part.customers] = self._drawn
        return part

    def _part(self, tours: list[Tour], spare: int) -> Part:
        """Return some tours as a part with ``spare`` more vehicles than tours."""
        customers = sorted(customer for tour in tours for customer in tour)
        instance = self.instance.with_customers(customers)
        instance = instance.with_vehicles(len(tours) + spare)
        plan = Plan(tours).numbered_in(customers)
        seed = int(self._random.integers(2**30))
        return Part(tours, customers, instance, plan, seed)

    def _split(self, tours: list[Tour], count: int) -> list[list[Tour]]:
        """
        Divide tours into groups of neighbours with about equal numbers of customers.
        """
        if count == 1:
            return [tours]
        order = self._around(self._draw_customer(tours), tours)
        filled = np.cumsum([len(tour) for tour in order])
        half = count // 2
        middle = int(np.searchsorted(filled, filled[-1] * half / count)) + 1
        middle = min(max(middle, half), len(order) - (count - half))
        return [
            *self._split(order[:middle], half),
            *self._split(order[middle:], count - half),
        ]

    def _draw_customer(self, tours: Sequence[Tour]) -> int:
        """
        Draw a customer of the given tours.

        The longer ago a tour was searched, the more likely one of its customers is
        drawn.
        """
        last = self._last[[tour[0] for tour in tours]]
        wait = self._random.random(len(tours)) * (1 + _PATIENCE * self._drawn)
        return int(self._random.choice(tours[int(np.argmin(last + wait))]))

    def _near(self, customer: int) -> Iterator[Tour]:
        """Yield all tours of the plan, the closest to a customer first."""
        seen = set()
        for other in self._nearest_first(customer):
            tour = self._tour_of[other]
            if tour[0] not in seen:
                seen.add(tour[0])
                yield tour

    def _around(self, customer: int, tours: Sequence[Tour]) -> list[Tour]:
        """
        Return the given tours, those closest to a customer first.

        The distance of a tour is that of its nearest customer.
        """
        customers = np.array([stop for tour in tours for stop in tour])
        here = np.full(len(customers), customer)
        away = self.instance.between(here, customers)
        begins = np.cumsum([0, *(len(tour) for tour in tours[:-1])])
        order = np.argsort(np.minimum.reduceat(away, begins), kind="stable")
        return [tours[place] for place in order.tolist()]


def search_in_threads(
    cores: int,
    draw: Callable[[Deadline], tuple[Part, Search] | None],
    deadline: Deadline,
) -> Iterator[tuple[Part, Plan]]:
    """
    Search parts at the same time, one thread each; yield each part with its plan.

    With a limit on iterations, parts are yielded in the order in which they were drawn,
    so that the result does not depend on the speed of the threads. Otherwise a part is
    yielded as soon as its search ends. A search that has not ended soon after the time
    limit is abandoned, and its plan is lost. If the user stops, none is waited for, so
    that the caller can return the plan that it has.

    Parameters
    ----------
    cores
        Maximum number of parts that are searched at the same time.
    draw
        Returns the next part and its search, or None if there is none at present. Its
        argument is the deadline for the search. It is called when a thread is free, and
        only after the caller has taken all parts that were yielded. After it returned
        None, it is not called again until another part has been yielded.
    deadline
        When to end. Only the calling thread calls its ``stop``; the deadlines given to
        ``draw`` are over when it has returned True.
    """
    stopped = threading.Event()
    limit = replace(deadline, stop=stopped.is_set)
    running: dict[Future[Plan], Part] = {}
    patience, idle = math.inf, False
    try:
        while time.monotonic() < patience:
            if not stopped.is_set() and deadline.over():
                stopped.set()
                if deadline.used() < 1:  # the user has stopped it
                    return
                patience = time.monotonic() + _GRACE_SECONDS
            while not (idle or stopped.is_set()) and len(running) < cores:
                drawn = draw(limit)
                idle = drawn is None
                if drawn is not None:
                    running[_start(drawn[1])] = drawn[0]
            if not running:
                return
            first = next(iter(running))
            awaited = running if deadline.iterations is None else [first]
            for future in wait(awaited, _POLL_SECONDS, FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
                idle = False
    finally:  # also if ``stop`` raises an error
        stopped.set()


def _start(search: Search) -> Future[Plan]:
    """Run a search in a thread that the end of the program does not wait for."""
    future: Future[Plan] = Future()

    def run() -> None:
        try:
            future.set_result(search())
        except BaseException as error:  # the calling thread raises it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
