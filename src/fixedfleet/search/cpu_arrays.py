"""
The arrays of the compiled search: the instance, and the current and the best plan.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.errors import InputError
from fixedfleet.search.cpu_distances import (
    Points,
    lay_out_legs,
    leg_from,
    leg_to,
    longest_leg,
    nearest,
)

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.search.ruin_recreate import RuinRecreateParameters

__all__ = [
    "ABSENT",
    "BEST_ABSENT",
    "CHANGED",
    "EMPTY",
    "ITERATION",
    "MARK",
    "NEXT",
    "PREV",
    "TOUR",
    "USED",
    "Problem",
    "State",
    "empty_state",
    "fits_float32",
    "fleet_size",
    "inlined",
    "lay_out",
    "leg_between",
    "mark",
    "put_plan",
]

NEXT, PREV, TOUR, MARK = range(4)  # columns of State.nodes
# Entries of State.counts: number of absent customers in the current and in the best
# plan, iterations so far, how many of State.tours are used, marked nodes, and the place
# in State.tours where the last empty tour was found.
ABSENT, BEST_ABSENT, ITERATION, USED, CHANGED, EMPTY = range(6)

# Most functions of the search take less time than passing the state to them, so they
# are inlined. They allocate no memory, so arrays need no reference counts (_nrt).
inlined = compiled(inline="always", _nrt=False)

_WINDOW = 2000  # customers whose arrays fit into a core's own cache
_LONGEST, _SHORTEST = 1e30, 1e-30  # distances whose sums fit into 32 bits


class Problem(NamedTuple):
    """
    The arrays that do not change during a search: the instance and the settings.

    There are V = N + 1 + M nodes: node 0 is unused, customers are nodes 1 to N, and
    tour r has its own depot node N + 1 + r. In the shapes below, N' is N + 1 and K is
    the number of neighbours.
    """

    legs: Any  # Legs: the distances
    demands: Any  # (V,) int64
    capacity: Any  # int64
    neighbours: Any  # (N', K) uint32: nearest customers, nearest first
    near_there: Any  # (N', K) float32: length from each customer to its neighbours
    near_back: Any  # (N', K) float32: length from these to the customer
    num_near: Any  # int64: an insertion is tried beside this many neighbours
    near_depot: Any  # (N',) bool: whether an insertion beside the depot is tried, too
    vehicle_cost: Any  # float64
    removals: Any  # float64: customers to remove on average
    max_string: Any  # int64: longest string to remove
    split: Any  # float64: probability that the middle of a string is not removed
    blink: Any  # int64: one in this many positions is skipped at random
    large_scale: Any  # bool: whether to search as for many customers
    exchange: Any  # bool: whether ruined tours exchange their ends
    window: Any  # int64: number of customers that the seed of a ruin is drawn from
    day: Any = None  # Day: vehicle types and times, if there are any


class State(NamedTuple):
    """
    The arrays that change during a search: the current plan and the best plan.

    ``nodes``, ``legs`` and ``loads`` hold the current plan. A customer that this plan
    does not serve is called absent, as by Christiaens and Vanden Berghe. The search
    changes only the tours in ``tours``. Other tours have a load above any capacity and
    the stamp of an iteration that is never reached, so nothing is inserted into them,
    and nothing is removed from them.
    """

    nodes: Any  # (V, 4) uint32: next, previous, tour (M: absent), mark
    legs: Any  # (V,) float32: length from each node to its next
    loads: Any  # (M,) int64
    stamps: Any  # (M,) int64: iteration that ruined a tour last
    absent: Any  # (N,) uint32: absent customers, in the first counts[ABSENT] entries
    absences: Any  # (N',) int64: in how many iterations each customer was absent
    best: Any  # (V,) uint32: next node of each node in the best plan
    changed: Any  # (V,) uint32: marked nodes, which may differ from the best plan
    removed: Any  # (N,) uint32: removed customers, in the order of their tours
    removed_legs: Any  # (N,) float32: length from each removed customer to its next
    cuts: Any  # (N, 3) uint32: node before a removed string, node after, its customers
    cut_legs: Any  # (N,) float32: length from the node before each string to its next
    pool: Any  # (N,) uint32: customers to insert
    keys: Any  # (N,) float32: sort keys of these customers
    placed: Any  # (N,) uint32: customers that were inserted, in order
    placed_legs: Any  # (N,) float32: length of the leg that each of them replaced
    costs: Any  # (2,) float64: costs of the current and the best plan
    counts: Any  # (6,) int64: see ABSENT and the names beside it
    random: Any  # (1,) uint64: state of the random numbers
    tours: Any  # (m,) int64: the tours that the search may change
    seeds: Any  # (n,) uint32: customers around which strings are removed
    customers: Any  # (N',) int64: number of each customer in the instance
    day: Any = None  # DayState: vehicles and times of the tours


@inlined
def leg_between(problem: Problem, start: Any, end: Any) -> Any:
    """Return the length from one node to another; each may be a depot."""
    customers = len(problem.near_depot)
    length = np.float32(0.0)
    if start < customers:
        length = leg_to(problem.legs, start, end)
    elif end < customers:
        length = leg_from(problem.legs, end, start)
    return length


@inlined
def mark(state: State, node: Any) -> None:
    """Mark a node whose successors in the current and the best plan may differ."""
    if state.nodes[node, MARK] == 0:
        state.nodes[node, MARK] = 1
        state.changed[state.counts[CHANGED]] = node
        state.counts[CHANGED] += 1


def fits_float32(instance: Instance) -> bool:
    """
    Return whether sums of distances fit into 32-bit floats.

    This is so if the longest distance is 0, or between 1e-30 and 1e30.
    """
    longest = longest_leg(instance)
    return not longest or _SHORTEST < longest < _LONGEST


def lay_out(
    instance: Instance, vehicle_cost: float, parameters: RuinRecreateParameters
) -> Problem:
    """
    Return the arrays of an instance, without vehicle types and times.

    Raise InputError unless :func:`fits_float32` returns True.
    """
    n, fleet = instance.num_customers, fleet_size(instance)
    if not fits_float32(instance):
        raise InputError(
            f"the longest distance is {longest_leg(instance):g}, not within "
            f"{_SHORTEST:g} to {_LONGEST:g}: measure in another unit"
        )
    legs = lay_out_legs(instance, fleet)
    neighbours = nearest(legs, n, min(parameters.ruin_neighbours, max(n - 1, 1)))
    num_near = min(parameters.insertion_neighbours, neighbours.shape[1]) if n > 1 else 0
    demands = np.zeros(n + 1 + fleet, dtype=np.int64)
    demands[: n + 1] = instance.demand_units
    symmetric = isinstance(legs, Points) or legs.back is legs.there
    near_there, near_back, near_depot = _near_legs(legs, neighbours, num_near)
    if symmetric:  # one array instead of two equal ones, to save cache
        near_back = near_there
    # A capacity above the sum of all demands may exceed 64 bits.
    capacity = min(instance.capacity_units, int(demands.sum()))
    return Problem(
        legs=legs,
        demands=demands,
        capacity=np.int64(capacity),
        neighbours=neighbours,
        near_there=near_there,
        near_back=near_back,
        num_near=np.int64(num_near),
        near_depot=near_depot,
        vehicle_cost=np.float64(vehicle_cost),
        removals=np.float64(parameters.removals),
        max_string=np.int64(parameters.max_string),
        split=np.float64(parameters.split),
        blink=np.int64(parameters.blink),
        large_scale=np.bool_(parameters.large_scale),
        # The exchange of ends reverses tours, which must not change their length.
        exchange=np.bool_(parameters.large_scale and symmetric),
        window=np.int64(min(n, _WINDOW)),
    )


def empty_state(instance: Instance, seed: int) -> State:
    """Return a new state that holds no plan yet."""
    n, fleet = instance.num_customers, fleet_size(instance)
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
        changed=np.zeros(size, dtype=np.uint32),
        removed=customers(np.uint32),
        removed_legs=customers(np.float32),
        cuts=np.zeros((n, 3), dtype=np.uint32),
        cut_legs=customers(np.float32),
        pool=customers(np.uint32),
        keys=customers(np.float32),
        placed=customers(np.uint32),
        placed_legs=customers(np.float32),
        costs=np.zeros(2),
        counts=np.zeros(6, dtype=np.int64),
        random=np.array([mixed | 1], dtype=np.uint64),
        tours=np.arange(fleet),
        seeds=np.arange(1, n + 1, dtype=np.uint32),
        customers=np.arange(n + 1),
    )


def fleet_size(instance: Instance) -> int:
    """
    Return the number of tours that the arrays have space for.

    This is the number of vehicles. Of interchangeable vehicles, at most N are counted,
    because no plan can use more.
    """
    n = instance.num_customers
    if instance.is_plain:
        return min(instance.vehicles, n)
    alike = Counter[Any]()
    for one in instance.fleet:
        alike[one.kind] += one.count
    return sum(min(count, n) for count in alike.values())


@compiled()
def _near_legs(legs: Any, neighbours: Any, num_near: Any) -> Any:
    """
    Return (there, back, near_depot) for each location.

    ``there`` and ``back`` are the lengths to and from each neighbour, shape (N', K).
    ``near_depot`` says whether the depot is at least as near as neighbour number
    ``num_near``, shape (N',).
    """
    size = neighbours.shape[0]
    there = np.zeros(neighbours.shape, dtype=np.float32)
    back = np.zeros(neighbours.shape, dtype=np.float32)
    near_depot = np.ones(size, dtype=np.bool_)
    for i in range(size):
        for k in range(neighbours.shape[1]):
            there[i, k] = leg_to(legs, i, neighbours[i, k])
            back[i, k] = leg_from(legs, i, neighbours[i, k])
        if 0 < num_near < size - 1:
            far = there[i, num_near - 1] + back[i, num_near - 1]
            near_depot[i] = leg_to(legs, i, 0) + leg_from(legs, i, 0) <= far
    return there, back, near_depot


@compiled()
def put_plan(problem: Problem, state: State, routes: Any) -> None:
    """Write a plan into an empty state; ``routes`` is a row of :class:`PlanBatch`."""
    nodes, tours = state.nodes, len(state.loads)
    customers = len(problem.near_depot)
    for node in range(len(nodes)):
        depot = node >= customers
        nodes[node, NEXT] = nodes[node, PREV] = node
        nodes[node, TOUR] = node - customers if depot else tours
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
            state.legs[before] = leg_from(problem.legs, customer, before)
            state.loads[tour] += problem.demands[customer]
            cost += state.legs[before]
            before = customer
        elif before < customers:
            nodes[before, NEXT] = after
            nodes[after, PREV] = before
            state.legs[before] = leg_to(problem.legs, before, after)
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
