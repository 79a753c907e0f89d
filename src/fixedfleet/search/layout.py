"""How an instance and a plan lie in memory for the compiled search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

__all__ = [
    "ABSENT",
    "ACCEPTED",
    "BEST_ABSENT",
    "ITERATION",
    "NEXT",
    "PREV",
    "TOUR",
    "USED",
    "Problem",
    "State",
    "compiled",
    "load",
    "near_depot",
    "nearest",
]

NEXT, PREV, TOUR = 0, 1, 2  # columns of State.nodes
ABSENT, BEST_ABSENT, ITERATION, USED, ACCEPTED = range(5)  # of State.counts


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile a function with Numba, without the interpreter's lock; typed for mypy."""
    compiler: Callable[[Function], Function] = njit(cache=True, nogil=True, **options)
    return compiler


class Problem(NamedTuple):
    """What does not change during a search. V = N + 1 + M nodes; node 0 is unused."""

    there: Any  # (N', V) float32: from a customer to any node
    back: Any  # (N', V) float32: from any node to a customer
    demands: Any  # (V,) int64
    capacity: Any  # int64
    neighbours: Any  # (N', K) uint32: nearest customers, nearest first
    reach: Any  # int64: how many of them to look beside for a place
    near_depot: Any  # (N',) bool: also look beside the depot
    vehicle_cost: Any  # float32
    removals: Any  # float64: customers to remove on average
    longest: Any  # int64: longest string to remove
    split: Any  # float64: probability to spare the middle of a string
    blink: Any  # int64: skip a place once in so many


class State(NamedTuple):
    """What does change; ``nodes``, ``legs`` and ``loads`` hold the current plan."""

    nodes: Any  # (V, 4) uint32: next, previous and tour of each; tour M: absent
    legs: Any  # (V,) float32: length from each node to its next
    loads: Any  # (M,) int64
    stamps: Any  # (M,) int64: iteration that ruined a tour last
    absent: Any  # (N,) uint32: customers without a tour, the first counts[ABSENT]
    absences: Any  # (N',) int64: how often each was left out
    best: Any  # (V,) uint32: next node of each in the best plan
    removed: Any  # (N,) uint32: customers taken out, in the order of their tours
    removed_legs: Any  # (N,) float32: their legs
    cuts: Any  # (N, 3) uint32: node before, node behind, customers of each cut
    cut_legs: Any  # (N,) float32: leg of the node before each cut
    pool: Any  # (N,) uint32: customers to put back
    keys: Any  # (N,) float32: their order
    placed: Any  # (N,) uint32: customers put back, in order
    placed_legs: Any  # (N,) float32: leg each of them replaced
    lengths: Any  # (2,) float64: current and best
    origin: Any  # (1,) float64: share of the limit before everybody was served
    counts: Any  # (5,) int64: see the names above
    random: Any  # (1,) uint64


@compiled()
def nearest(there: Any, back: Any, count: Any) -> Any:
    """The nearest customers of each location, nearest first, shape (N', count)."""
    size = there.shape[0]
    found = np.ones((size, count), dtype=np.uint32)
    far = np.empty(count, dtype=np.float32)
    for i in range(size):
        filled = 0
        for j in range(1, size):
            if i == j:
                continue
            length = there[i, j] + back[i, j]
            if filled == count and length >= far[count - 1]:
                continue
            k = filled if filled < count else count - 1
            while k > 0 and far[k - 1] > length:
                far[k] = far[k - 1]
                found[i, k] = found[i, k - 1]
                k -= 1
            far[k] = length
            found[i, k] = j
            filled = min(filled + 1, count)
    return found


@compiled()
def near_depot(there: Any, back: Any, neighbours: Any, reach: Any) -> Any:
    """Which locations have the depot among their nearest few, shape (N',)."""
    near = np.ones(there.shape[0], dtype=np.bool_)
    for i in range(there.shape[0]):
        if 0 < reach < there.shape[0] - 1:
            last = neighbours[i, reach - 1]
            near[i] = there[i, 0] + back[i, 0] <= there[i, last] + back[i, last]
    return near


@compiled()
def load(problem: Problem, state: State, routes: Any) -> None:
    """Make the plan of a row of routes the current and the best one."""
    nodes, tours = state.nodes, len(state.loads)
    customers = problem.there.shape[0]
    for node in range(len(nodes)):
        depot = node >= customers
        nodes[node, NEXT] = nodes[node, PREV] = node
        nodes[node, TOUR] = node - customers if depot else tours
        state.legs[node] = 0.0
    state.loads[:] = 0
    used = 0
    cost = 0.0
    before = customers
    for k in range(len(routes)):
        customer = routes[k]
        tour = used
        after = customers + tour
        if customer > 0:
            nodes[before, NEXT] = customer
            nodes[customer, PREV] = before
            nodes[customer, TOUR] = tour
            state.legs[before] = problem.back[customer, before]
            state.loads[tour] += problem.demands[customer]
            cost += state.legs[before]
            before = customer
        elif before < customers:
            nodes[before, NEXT] = after
            nodes[after, PREV] = before
            state.legs[before] = problem.there[before, after]
            cost += state.legs[before] + problem.vehicle_cost
            used += 1
            before = customers + used
    absent = 0
    for customer in range(1, customers):
        if nodes[customer, TOUR] == tours:
            state.absent[absent] = customer
            absent += 1
    state.lengths[:] = cost
    state.counts[ABSENT] = state.counts[BEST_ABSENT] = absent
    state.counts[USED] = used
    for node in range(len(nodes)):
        state.best[node] = nodes[node, NEXT]
