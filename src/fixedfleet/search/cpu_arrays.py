"""The arrays of the compiled search: an instance, and the plan that changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numba import njit

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.search.parameters import RuinRecreateParameters

Function = TypeVar("Function", bound="Callable[..., Any]")

__all__ = [
    "ABSENT",
    "BEST_ABSENT",
    "ITERATION",
    "NEXT",
    "PREV",
    "TOUR",
    "USED",
    "Problem",
    "State",
    "clear_cache",
    "compiled",
    "empty_state",
    "lay_out",
    "load",
    "measurable",
    "scale",
]

NEXT, PREV, TOUR = 0, 1, 2  # columns of State.nodes
ABSENT, BEST_ABSENT, ITERATION, USED = range(4)  # entries of State.counts

_MEAN_UNIT_SQUARE = 0.5214  # mean distance of two points drawn in the unit square
_LONGEST, _SHORTEST = 1e30, 1e-30  # distances whose sums fit into 32 bits


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Return Numba's compiler as a decorator that keeps types for mypy."""
    compiler: Callable[[Function], Function] = njit(cache=True, nogil=True, **options)
    return compiler


def clear_cache(function: Any) -> None:
    """Remove what Numba has stored of all functions beside this compiled one."""
    for index in Path(function.stats.cache_path).glob("*.nbi"):
        index.unlink()


class Problem(NamedTuple):
    """
    What does not change during a search.

    There are V = N + 1 + M nodes: node 0 is unused, customers are 1 to N, and each tour
    has a depot of its own, from N + 1.
    """

    there: Any  # (N', V) float32: from a customer to any node
    back: Any  # (N', V) float32: from any node to a customer
    demands: Any  # (V,) int64
    capacity: Any  # int64
    neighbours: Any  # (N', K) uint32: nearest customers, nearest first
    reach: Any  # int64: number of them beside which a place is looked for
    near_depot: Any  # (N',) bool: whether to look beside the depot, too
    vehicle_cost: Any  # float64
    removals: Any  # float64: customers to remove on average
    longest: Any  # int64: longest string to remove
    split: Any  # float64: probability that the middle of a string stays
    blink: Any  # int64: one in this many places is skipped


class State(NamedTuple):
    """
    What changes during a search.

    ``nodes``, ``legs`` and ``loads`` are the current plan. An absent customer is one
    without a tour.
    """

    nodes: Any  # (V, 4) uint32: next, previous, tour (M: absent), unused
    legs: Any  # (V,) float32: length from each node to its next
    loads: Any  # (M,) int64
    stamps: Any  # (M,) int64: iteration that ruined a tour last
    absent: Any  # (N,) uint32: absent customers; counts[ABSENT] of them
    absences: Any  # (N',) int64: how often each customer was absent
    best: Any  # (V,) uint32: next node of each node in the best plan
    removed: Any  # (N,) uint32: removed customers, in the order of their tours
    removed_legs: Any  # (N,) float32: their legs
    cuts: Any  # (N, 3) uint32: node before, node behind, customers of each string
    cut_legs: Any  # (N,) float32: leg of the node before each string
    pool: Any  # (N,) uint32: customers to put back
    keys: Any  # (N,) float32: their order
    placed: Any  # (N,) uint32: customers that were put back, in order
    placed_legs: Any  # (N,) float32: the leg that each of them replaced
    costs: Any  # (2,) float64: costs of the current and the best plan
    origin: Any  # (1,) float64: share of the limit when no customer was absent first
    counts: Any  # (4,) int64: numbers of absent customers, iterations, tours
    random: Any  # (1,) uint64: state of the random numbers


def measurable(instance: Instance) -> bool:
    """Whether sums of the distances fit into 32 bits."""
    longest = float(instance.distances.max())
    return not longest or _SHORTEST < longest < _LONGEST


def lay_out(
    instance: Instance, vehicle_cost: float, parameters: RuinRecreateParameters
) -> Problem:
    """Return the arrays of an instance."""
    n, fleet = instance.num_customers, _fleet(instance)
    distances = instance.distances
    if not measurable(instance):
        raise InputError(
            f"the longest distance is {distances.max():g}, not within {_SHORTEST:g} to "
            f"{_LONGEST:g}: measure in another unit"
        )
    there = np.empty((n + 1, n + 1 + fleet), dtype=np.float32)
    there[:, : n + 1] = distances
    there[:, n + 1 :] = distances[:, :1]
    back = there
    if instance.metric == "explicit" and not np.array_equal(distances, distances.T):
        back = np.empty_like(there)
        back[:, : n + 1] = distances.T
        back[:, n + 1 :] = distances[:1, :].T
    neighbours = _nearest(there, back, min(parameters.neighbours, max(n - 1, 1)))
    reach = min(parameters.reach, neighbours.shape[1]) if n > 1 else 0
    demands = np.zeros(n + 1 + fleet, dtype=np.int64)
    demands[: n + 1] = instance.demand_units
    # A capacity above the sum of all demands may be beyond 64 bits.
    capacity = min(instance.capacity_units, int(demands.sum()))
    return Problem(
        there=there,
        back=back,
        demands=demands,
        capacity=np.int64(capacity),
        neighbours=neighbours,
        reach=np.int64(reach),
        near_depot=_near_depot(there, back, neighbours, reach),
        vehicle_cost=np.float64(vehicle_cost),
        removals=np.float64(parameters.removals),
        longest=np.int64(parameters.longest),
        split=np.float64(parameters.split),
        blink=np.int64(parameters.blink),
    )


def scale(instance: Instance) -> float:
    """Return the mean distance relative to that of points drawn in the unit square."""
    n = instance.num_customers
    mean = float(instance.distances.sum()) / (n * (n + 1))
    return mean / _MEAN_UNIT_SQUARE or 1.0


def empty_state(instance: Instance, seed: int) -> State:
    """Allocate a state without a plan."""
    n, fleet = instance.num_customers, _fleet(instance)
    size = n + 1 + fleet

    def customers(dtype: Any) -> Any:
        return np.zeros(n, dtype=dtype)

    # One step of splitmix64 spreads neighbouring seeds over all 64 bits.
    mixed = (int(seed) * 0x9E3779B97F4A7C15 + 0x1234567) % 2**64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    return State(
        nodes=np.zeros((size, 4), dtype=np.uint32),
        legs=np.zeros(size, dtype=np.float32),
        loads=np.zeros(fleet, dtype=np.int64),
        stamps=np.zeros(fleet, dtype=np.int64),
        absent=customers(np.uint32),
        absences=np.zeros(n + 1, dtype=np.int64),
        best=np.zeros(size, dtype=np.uint32),
        removed=customers(np.uint32),
        removed_legs=customers(np.float32),
        cuts=np.zeros((n, 3), dtype=np.uint32),
        cut_legs=customers(np.float32),
        pool=customers(np.uint32),
        keys=customers(np.float32),
        placed=customers(np.uint32),
        placed_legs=customers(np.float32),
        costs=np.zeros(2),
        origin=np.zeros(1),
        counts=np.zeros(4, dtype=np.int64),
        random=np.array([mixed | 1], dtype=np.uint64),
    )


def _fleet(instance: Instance) -> int:
    return min(instance.vehicles, instance.num_customers)  # more would stay empty


@compiled()
def _nearest(there: Any, back: Any, count: Any) -> Any:
    """Return the nearest customers of each location, nearest first, (N', count)."""
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
def _near_depot(there: Any, back: Any, neighbours: Any, reach: Any) -> Any:
    """Return which locations have the depot among their nearest, shape (N',)."""
    near = np.ones(there.shape[0], dtype=np.bool_)
    for i in range(there.shape[0]):
        if 0 < reach < there.shape[0] - 1:
            last = neighbours[i, reach - 1]
            near[i] = there[i, 0] + back[i, 0] <= there[i, last] + back[i, last]
    return near


@compiled()
def load(problem: Problem, state: State, routes: Any) -> None:
    """Make a plan, given as a row of routes, the current and the best one."""
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
    state.costs[:] = cost
    state.counts[ABSENT] = state.counts[BEST_ABSENT] = absent
    state.counts[USED] = used
    for node in range(len(nodes)):
        state.best[node] = nodes[node, NEXT]
