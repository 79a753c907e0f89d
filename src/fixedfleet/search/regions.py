"""
Ruin and recreate of one plan on several cores: each core changes the tours of a region.

The search has many short rounds. In each round, the tours are divided into regions of
neighbouring tours, one for each core, and each core runs ruin and recreate in its own
region. Every round divides the tours in another way, so customers can move anywhere in
the course of a few rounds. All regions have the same temperature. A change inside a
region changes the cost of the whole plan by the same amount, so simulated annealing
accepts the same changes as on one core.

Each core has arrays of its own. They are filled from those of the whole plan when a
round begins, and the tours of all regions are copied back when it ends.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.search.cpu_arrays import (
    ABSENT,
    CHANGED,
    EMPTY,
    MARK,
    NEXT,
    TOUR,
    USED,
    Problem,
    State,
    empty_state,
    inlined,
    mark,
)
from fixedfleet.search.cpu_distances import leg_to
from fixedfleet.search.cpu_kernel import advance, below

if TYPE_CHECKING:
    from fixedfleet.instance import Instance

__all__ = ["MIN_TOURS", "Regions"]

MIN_TOURS = 4  # a plan with fewer tours is searched as a whole
_MEAN_TOURS = 2  # least number of tours per region, on average
_NEVER = 2**62  # a load above any capacity, and an iteration that is not reached
_SEED_STEP = 1_000_003  # between the seeds of two cores


class Regions:
    """
    Runs ruin and recreate on one plan on several cores, each in a region of the plan.

    ``ThreadPoolExecutor`` ends the threads when this object is no longer used.

    Parameters
    ----------
    instance
        The instance. It has no vehicle types, windows or shifts.
    seed
        Seed of the random numbers.
    cores
        Number of cores, and largest number of regions.
    """

    def __init__(self, instance: Instance, seed: int, cores: int) -> None:
        seeds = (seed + _SEED_STEP * k for k in range(1, cores + 1))
        self._states = [empty_state(instance, seed) for seed in seeds]
        self._threads = ThreadPoolExecutor(cores)

    def run_round(
        self, problem: Problem, state: State, iterations: int, temperature: float
    ) -> None:
        """
        Run one round at one temperature; the regions share the iterations.

        If customers are absent, or if there are too few tours or iterations for two
        regions, the plan is searched as a whole, on one core.
        """
        tours = int(state.counts[USED])
        count = min(len(self._states), tours // _MEAN_TOURS, iterations)
        if state.counts[ABSENT] > 0 or tours < MIN_TOURS or count < 2:
            advance(problem, state, iterations, temperature)
            return
        regions = self._assign(problem, state, count)
        running = [
            self._threads.submit(
                _search, problem, state, own, (iterations + k) // count, temperature
            )
            for k, own in enumerate(regions)
        ]
        for region in running:
            region.result()
        current, best = sum(own.costs for own in regions)
        used = sum(own.counts[USED] for own in regions)
        # By more than the precision of the length, as on one core.
        length = current - problem.vehicle_cost * used
        is_best = bool(best < state.costs[1] - 1e-7 * length)
        state.costs[:] = current, best if is_best else state.costs[1]
        state.counts[USED] = used
        for own in regions:
            _copy_back(problem, state, own, is_best)

    def _assign(self, problem: Problem, state: State, count: int) -> list[State]:
        """Return the arrays of the cores, each with the tours of one region."""
        tours, tour_ends, seeds, seed_ends = _divide(problem, state, count)
        return [
            own._replace(tours=own_tours, seeds=own_seeds)
            for own, own_tours, own_seeds in zip(
                self._states,
                np.split(tours, tour_ends[:-1]),
                np.split(seeds, seed_ends[:-1]),
                strict=False,
            )
        ]


def _search(
    problem: Problem, state: State, own: State, iterations: int, temperature: float
) -> None:
    """Run ruin and recreate in the region of a core, whose arrays are ``own``."""
    _fill(problem, state, own)
    advance(problem, own, iterations, temperature)


@compiled()
def _divide(problem: Any, state: Any, count: Any) -> Any:
    """
    Divide all tours into ``count`` regions with about equal numbers of customers.

    Return (tours, ends of the regions among them, customers, ends among these). Tours
    are divided into two groups by their distance from a random customer of theirs, and
    each group again, until there are enough. The distance of a tour is that from this
    customer to the nearest customer of the tour. (``DividedPlan.divide`` does the same
    for plans.)
    """
    nodes, depot, fleet = state.nodes, len(problem.near_depot), len(state.loads)
    sizes = np.zeros(fleet, dtype=np.int64)
    for customer in range(1, depot):
        sizes[nodes[customer, TOUR]] += 1
    used, empty = np.flatnonzero(sizes), np.flatnonzero(sizes == 0)
    region = np.zeros(fleet, dtype=np.int64)
    region[empty] = np.arange(len(empty)) % count
    away = np.empty(fleet, dtype=np.float32)
    # Groups that are to be divided: the first and last of their tours, the number of
    # their first region, and the number of their regions.
    groups = [(0, len(used), 0, count)]
    while len(groups) > 0:
        first, last, number, wanted = groups.pop()
        group = used[first:last]
        region[group] = number
        if wanted == 1:
            continue
        near = 1 + below(state.random, depot - 1)
        while region[nodes[near, TOUR]] != number:
            near = 1 + below(state.random, depot - 1)
        for tour in group:
            node = nodes[depot + tour, NEXT]
            away[tour] = leg_to(problem.legs, near, node)
            while node < depot:
                away[tour] = min(away[tour], leg_to(problem.legs, near, node))
                node = nodes[node, NEXT]
        group[:] = group[np.argsort(away[group])]
        half = wanted // 2
        filled = np.cumsum(sizes[group])
        middle = 1 + np.searchsorted(filled, filled[-1] * half / wanted)
        middle = first + min(max(middle, half), len(group) - (wanted - half))
        groups.append((first, middle, number, half))
        groups.append((middle, last, number + half, wanted - half))
    of_customers = np.empty(depot - 1, dtype=np.int64)
    for customer in range(1, depot):
        of_customers[customer - 1] = region[nodes[customer, TOUR]]
    # Sorted by region, and by number within each region.
    tours = np.argsort(region, kind="mergesort")
    seeds = np.argsort(of_customers, kind="mergesort") + 1
    tour_ends = np.cumsum(np.bincount(region, minlength=count))
    seed_ends = np.cumsum(np.bincount(of_customers, minlength=count))
    return tours, tour_ends, seeds.astype(np.uint32), seed_ends


@compiled(_nrt=False)
def _fill(problem: Any, state: Any, own: Any) -> None:
    """
    Fill the arrays of a core with the tours of its region.

    ``own`` are the arrays of the core, and ``state`` those of the whole plan. The
    region's current tours are also its best ones so far.
    """
    depot = len(problem.near_depot)
    for k in range(own.counts[CHANGED]):
        own.nodes[own.changed[k], MARK] = 0
    own.counts[CHANGED] = own.counts[EMPTY] = 0
    for customer in range(1, depot):  # of nodes of other tours, only this is read
        own.nodes[customer, TOUR] = state.nodes[customer, TOUR]
    own.loads[:] = _NEVER
    own.stamps[:] = _NEVER
    cost, used = 0.0, 0
    for tour in own.tours:
        own.loads[tour] = state.loads[tour]
        own.stamps[tour] = 0
        node: Any = depot + tour
        while True:
            for column in range(MARK):
                own.nodes[node, column] = state.nodes[node, column]
            own.legs[node] = state.legs[node]
            own.best[node] = state.nodes[node, NEXT]
            if own.best[node] == node:  # the tour is empty
                break
            cost += own.legs[node]
            node = np.int64(own.best[node])
            if node >= depot:
                cost += problem.vehicle_cost
                used += 1
                break
    own.costs[:] = cost
    own.counts[USED] = used


@inlined
def _copy_node(state: Any, own: Any, node: Any, is_best: Any) -> None:
    """Copy the links of a node, and mark it if the best plan has another successor."""
    for column in range(MARK):
        state.nodes[node, column] = own.nodes[node, column]
    state.legs[node] = own.legs[node]
    if is_best:
        state.best[node] = own.best[node]
    if state.best[node] != state.nodes[node, NEXT]:
        mark(state, node)


@compiled(_nrt=False)
def _copy_back(problem: Any, state: Any, own: Any, is_best: Any) -> None:
    """
    Copy the current tours of a region into the arrays of the whole plan.

    If ``is_best`` is True, also copy its best tours into those of the best plan.
    """
    for tour in own.tours:
        state.loads[tour] = own.loads[tour]
        _copy_node(state, own, len(problem.near_depot) + tour, is_best)
    for customer in own.seeds:
        _copy_node(state, own, np.int64(customer), is_best)
