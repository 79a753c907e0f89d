"""Parts of a plan: some of its tours as an instance of their own.

Parts without a common tour are searched at the same time, and then joined.
"""

from __future__ import annotations

import threading
from concurrent.futures import wait
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.plan import Plan
from fixedfleet.search.cpu_distances import nearest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance

    Tour = tuple[int, ...]

__all__ = ["DividedPlan", "Part", "search_in_threads"]

_DRAWS = 8  # draws per group; if none gives a new one, groups become larger
_PATIENCE = 0.3  # share of all rounds by which chance may delay a tour
_POLL_SECONDS = 0.05  # after which a deadline is looked at again while threads work


class Part(NamedTuple):
    """Some tours of a plan as an instance of their own."""

    tours: list[Tour]
    customers: list[int]  # customers[0] is customer 1 of the instance, and so on
    instance: Instance
    plan: Plan  # the tours, with the numbers that customers have in the instance
    seed: int  # of a search of this part


class DividedPlan:
    """The tours of a plan, of which some are replaced by others again and again."""

    def __init__(self, instance: Instance, plan: Plan, seed: int) -> None:
        self.instance = instance
        self.tours: list[Tour] = list(plan.tours)
        self._random = np.random.default_rng(seed)
        self._rounds = 0
        # The last round that searched each customer, and the tour of each customer. The
        # customers of a tour were searched together, so its first stands for all.
        self._searched = np.zeros(instance.num_customers + 1, dtype=np.int64)
        self._tour_of = {stop: tour for tour in self.tours for stop in tour}
        self._nearest_first = nearest_first(instance)

    def plan(self) -> Plan:
        """Return the present tours as a plan."""
        return Plan(self.tours)

    def divide(self, count: int) -> list[Part]:
        """Divide all tours into parts with about as many customers each."""
        return self.parts(self._split(self.tours, count))

    def draw_groups(
        self, count: int, size: float, in_vain: set[frozenset[Tour]]
    ) -> list[list[Tour]]:
        """
        Draw groups of neighbouring tours that have none in common, at most ``count``.

        A group has about ``size`` customers, and it is not one of those in vain.
        """
        groups: list[list[Tour]] = []
        rest = self.tours
        taken: set[int] = set()  # the first customers of the tours in a group
        for _ in range(_DRAWS * count):
            group: list[Tour] = []
            customers = 0
            for tour in self._near(self._draw(rest)):
                if tour[0] in taken:
                    continue
                customers += len(tour)
                if len(group) > 1 and customers > size:
                    break
                group.append(tour)
            if len(group) > 1 and frozenset(group) not in in_vain:
                groups.append(group)
                taken.update(tour[0] for tour in group)
                rest = [tour for tour in rest if tour[0] not in taken]
            if len(groups) == count or len(rest) < 2:
                break
        return groups

    def parts(self, groups: Sequence[list[Tour]]) -> list[Part]:
        """Return groups of tours as parts, which may be searched at the same time."""
        # Vehicles that stay at the depot may serve new tours.
        spare = self.instance.vehicles - len(self.tours)
        each, more = divmod(spare, len(groups))
        return [
            self._part(group, each + (number < more))
            for number, group in enumerate(groups)
        ]

    def join(self, parts: Sequence[Part], found: Iterable[Plan]) -> list[bool]:
        """Replace parts without common tours by plans; return which have changed."""
        found = list(found)
        gone = {tour[0] for part in parts for tour in part.tours}
        self.tours = [tour for tour in self.tours if tour[0] not in gone]
        self._rounds += 1
        for part, plan in zip(parts, found, strict=True):
            new = plan.renumbered(part.customers).tours
            self._searched[part.customers] = self._rounds
            self._tour_of.update((stop, tour) for tour in new for stop in tour)
            self.tours += new
        return [plan != part.plan for part, plan in zip(parts, found, strict=True)]

    def _part(self, tours: list[Tour], spare: int) -> Part:
        """Return some tours as an instance of their own, with spare vehicles."""
        customers = sorted(customer for tour in tours for customer in tour)
        instance = self.instance.with_customers(customers)
        instance = instance.with_vehicles(len(tours) + spare)
        plan = Plan(tours).numbered_in(customers)
        seed = int(self._random.integers(2**30))
        return Part(tours, customers, instance, plan, seed)

    def _split(self, tours: list[Tour], count: int) -> list[list[Tour]]:
        """Divide tours into groups of neighbours with about as many customers each."""
        if count == 1:
            return [tours]
        order = self._around(self._draw(tours), tours)
        filled = np.cumsum([len(tour) for tour in order])
        half = count // 2
        middle = int(np.searchsorted(filled, filled[-1] * half / count)) + 1
        middle = min(max(middle, half), len(order) - (count - half))
        return [
            *self._split(order[:middle], half),
            *self._split(order[middle:], count - half),
        ]

    def _draw(self, tours: Sequence[Tour]) -> int:
        """Draw a customer; tours that were searched long ago are the most likely."""
        rounds = self._searched[[tour[0] for tour in tours]]
        wait = self._random.random(len(tours)) * (1 + _PATIENCE * self._rounds)
        return int(self._random.choice(tours[int(np.argmin(rounds + wait))]))

    def _near(self, customer: int) -> Iterator[Tour]:
        """Yield all tours, the closest to a customer first."""
        seen = set()
        for other in self._nearest_first(customer):
            tour = self._tour_of[other]
            if tour[0] not in seen:
                seen.add(tour[0])
                yield tour

    def _around(self, customer: int, tours: Sequence[Tour]) -> list[Tour]:
        """Return tours by their distance from a customer, the closest first."""
        customers = np.array([stop for tour in tours for stop in tour])
        here = np.full(len(customers), customer)
        away = self.instance.between(here, customers)
        begins = np.cumsum([0, *(len(tour) for tour in tours[:-1])])
        order = np.argsort(np.minimum.reduceat(away, begins), kind="stable")
        return [tours[place] for place in order.tolist()]


def search_in_threads(
    threads: ThreadPoolExecutor,
    search: Callable[[Part, Deadline], Plan],
    parts: Sequence[Part],
    deadline: Deadline,
) -> list[Plan]:
    """
    Search parts at the same time, one thread each; return their plans.

    Only this thread calls the ``stop`` of the deadline; the others are told.
    """
    stopped = threading.Event()
    limit = replace(deadline, stop=stopped.is_set)
    futures = [threads.submit(search, part, limit) for part in parts]
    try:
        while wait(futures, timeout=_POLL_SECONDS).not_done:
            if deadline.over():
                stopped.set()
        return [future.result() for future in futures]
    finally:  # also if ``stop`` raises an error
        stopped.set()
