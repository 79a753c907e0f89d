"""
The arrays of the compiled search for vehicle types, windows and shifts.

"Day" in a name stands for an instance that is not plain: its vehicles differ or have
costs of their own, or there are windows or shifts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.plan import Plan
from fixedfleet.search import cpu_arrays
from fixedfleet.search.cpu_arrays import (
    NEXT,
    PREV,
    TOUR,
    Problem,
    State,
    fleet_size,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.search.ruin_recreate import RuinRecreateParameters

__all__ = [
    "DEPART",
    "LATE",
    "LATEST",
    "LOGGED",
    "RIDE",
    "SWAPPED",
    "Day",
    "DayState",
    "empty_day",
    "lay_out_day",
    "mean_price",
    "put_day",
    "read_types",
    "ride_between",
    "type_groups",
]

DEPART, LATEST, RIDE = range(3)  # columns of DayState.times
LOGGED, SWAPPED, LATE = range(3)  # entries of DayState.counts

_HORIZON = 2**30  # all times are below this, so that sums of two fit into 32 bits
_DECIMALS = (1, 10, 100, 1000)  # factors that may make all times whole numbers
_MANY = 50  # with more customers, an iteration ends early if it cannot be accepted
_WAITING = 0.2  # weight of waiting, relative to driving, when neighbours are chosen
_BLAME = 100  # absences added per level of priority if a customer stays absent
_LARGEST_WEIGHT = 2.0**62  # limit on the weight of all unserved customers together


class Day(NamedTuple):
    """
    Vehicle types and times of an instance, which do not change during a search.

    Vehicle types that differ only in name or count are treated as one type; T is the
    number of types after that. Times are whole numbers, so that sums are exact. If
    there are no windows and no shifts, the arrays of times by customer are empty.
    """

    timed: Any  # bool: whether there are windows or shifts
    there: Any  # (N', V) int32: travel time from a customer to any node
    back: Any  # (N', V) int32: travel time from any node to a customer
    opens: Any  # (N',) int32: earliest begin of a customer's service
    closes: Any  # (N',) int32: latest begin of a customer's service
    service: Any  # (N',) int32: duration of a customer's service
    before: Any  # (N', K) uint32: nearest predecessors, in distance and time
    before_legs: Any  # (N', K) float32: length from each of them
    behind: Any  # (N', K) uint32: nearest successors, in distance and time
    behind_legs: Any  # (N', K) float32: length to each of them
    capacities: Any  # (T,) int64
    prices: Any  # (T,) float32: cost per distance
    fixed: Any  # (T,) float64: cost of each vehicle used
    begins: Any  # (T,) int32: begin of the shift
    ends: Any  # (T,) int32: end of the shift
    weights: Any  # (N',) int64: weight of each customer if it is unserved
    blame: Any  # (N',) int64: absences added, by priority, if a customer stays absent


class _Times(NamedTuple):
    """The fields of :class:`Day` that are times."""

    timed: Any
    there: Any
    back: Any
    opens: Any
    closes: Any
    service: Any
    begins: Any
    ends: Any


class DayState(NamedTuple):
    """
    The arrays of vehicles and times that change during a search.

    The letters in the shapes are those of :class:`fixedfleet.search.cpu_arrays.Problem`
    and :class:`Day`.
    """

    types: Any  # (M,) int64: vehicle type of each tour
    best_types: Any  # (M,) int64: vehicle type of each tour in the best plan
    capacities: Any  # (M,) int64: capacity of each tour's vehicle
    prices: Any  # (M,) float32: cost per distance of each tour's vehicle
    idle: (
        Any  # (2, T) int64: unused vehicles of each type, now and before the iteration
    )
    hints: Any  # (T,) int64: tour at which the search for an empty one begins
    times: (
        Any  # (V, 3) int32: earliest departure, latest arrival, ride to the next node
    )
    saved: Any  # (V,) int64: iteration in which a node's times were logged last
    log: Any  # (V,) uint32: nodes whose times this iteration has changed
    log_times: Any  # (V, 3) int32: their times before this iteration
    missing: Any  # (2,) int64: weight of the absent customers, in current and best plan
    counts: Any  # (3,) int64: nodes logged; 1 if vehicles changed; 1 if a tour is late


def type_groups(instance: Instance) -> list[list[int]]:
    """
    Return groups of equal vehicle types, each as a list of indices of the fleet.

    Two types are in the same group if they differ only in name or count.
    """
    groups: dict[Any, list[int]] = {}
    for index, one in enumerate(instance.fleet):
        groups.setdefault(one.kind, []).append(index)
    return list(groups.values())


def mean_price(instance: Instance) -> float:
    """
    Return the mean cost per distance of a vehicle, by which temperatures are scaled.

    Return 1 if this mean is 0.
    """
    total = sum(one.count * one.cost_per_distance for one in instance.fleet)
    return total / instance.vehicles or 1.0


def lay_out_day(
    instance: Instance, vehicle_cost: float, parameters: RuinRecreateParameters
) -> Problem:
    """
    Return the arrays of an instance with vehicle types, windows or shifts.

    ``vehicle_cost`` is added to the fixed cost of each type.
    """
    problem = cpu_arrays.lay_out(instance, 0.0, parameters)
    types = [instance.fleet[group[0]] for group in type_groups(instance)]
    units = [instance.type_capacity_units[group[0]] for group in type_groups(instance)]
    most = int(instance.demand_units.sum())  # a capacity may exceed 64 bits
    times = _whole_times(instance, [one.shift for one in types])
    weights, blame = _weigh(instance)
    near = min(parameters.insertion_neighbours, max(instance.num_customers - 1, 1))
    before, behind = _nearest_in_time(
        problem.legs, near, instance.num_customers + 1, times
    )
    here = np.arange(instance.num_customers + 1)[:, None]
    day = Day(
        **times._asdict(),
        before=before,
        before_legs=np.ascontiguousarray(problem.legs.back[here, before]),
        behind=behind,
        behind_legs=np.ascontiguousarray(problem.legs.there[here, behind]),
        capacities=np.array([min(unit, most) for unit in units], dtype=np.int64),
        prices=np.array([one.cost_per_distance for one in types], dtype=np.float32),
        fixed=np.array([one.fixed_cost + vehicle_cost for one in types]),
        weights=weights,
        blame=blame,
    )
    many = np.bool_(instance.num_customers > _MANY)
    return problem._replace(day=day, large_scale=many)


def empty_day(instance: Instance, problem: Problem, plan: Plan) -> DayState:
    """
    Return new arrays of vehicles and times for the tours of a state.

    The first tours get the vehicles that ``plan`` uses. The other tours get the
    vehicles that ``plan`` does not use.
    """
    groups, n = type_groups(instance), instance.num_customers
    group_of = {index: place for place, group in enumerate(groups) for index in group}
    tours = [group_of[index] for index in plan.type_indices(instance)]
    for place, group in enumerate(groups):
        count = min(sum(instance.fleet[index].count for index in group), n)
        tours += [place] * (count - tours.count(place))
    types = np.array(tours, dtype=np.int64)
    fleet, size = fleet_size(instance), n + 1 + fleet_size(instance)
    times = np.zeros((size, 3), dtype=np.int32)
    times[n + 1 :, DEPART] = problem.day.begins[types]
    times[n + 1 :, LATEST] = problem.day.ends[types]
    return DayState(
        types=types,
        best_types=types.copy(),
        capacities=problem.day.capacities[types],
        prices=problem.day.prices[types],
        idle=np.zeros((2, len(groups)), dtype=np.int64),
        hints=np.full(len(groups), fleet - 1),
        times=times,
        saved=np.zeros(size, dtype=np.int64),
        log=np.zeros(size, dtype=np.uint32),
        log_times=np.zeros((size, 3), dtype=np.int32),
        missing=np.zeros(2, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


@compiled()
def put_day(problem: Problem, state: State) -> None:
    """Compute the cost and the times of the current plan of a state, and store them."""
    nodes, day = state.nodes, state.day
    customers = len(problem.near_depot)
    cost = 0.0
    for tour in range(len(state.loads)):
        depot = np.uint32(customers + tour)
        kind = day.types[tour]
        if nodes[depot, NEXT] == depot:
            day.idle[0, kind] += 1
            continue
        cost += problem.day.fixed[kind]
        node = depot
        while True:
            cost += day.prices[tour] * np.float64(state.legs[node])
            after = nodes[node, NEXT]
            if problem.day.timed:
                ride = ride_between(problem, node, after)
                day.times[node, RIDE] = ride
                if after < customers:
                    start = max(
                        day.times[node, DEPART] + ride, problem.day.opens[after]
                    )
                    day.times[after, DEPART] = start + problem.day.service[after]
            node = after
            if node == depot:
                break
        while problem.day.timed and nodes[node, PREV] < customers:
            latest = day.times[node, LATEST]
            node = nodes[node, PREV]
            latest -= day.times[node, RIDE] + problem.day.service[node]
            day.times[node, LATEST] = min(latest, problem.day.closes[node])
    for customer in range(1, customers):
        if nodes[customer, TOUR] == len(state.loads):
            day.missing[0] += problem.day.weights[customer]
    day.missing[1] = day.missing[0]
    state.costs[:] = cost


@cpu_arrays.inlined
def ride_between(problem: Problem, start: Any, end: Any) -> Any:
    """Return the travel time from one node to another; each may be a depot."""
    customers = len(problem.near_depot)
    ride = np.int32(0)
    if start < customers:
        ride = problem.day.there[start, end]
    elif end < customers:
        ride = problem.day.back[end, start]
    return ride


def read_types(
    instance: Instance, types: NDArray[np.int64], tours: Sequence[Sequence[int]]
) -> Plan:
    """
    Return a plan of the tours that are not empty, with their vehicle types.

    ``types[r]`` is the index of the group of tour r in :func:`type_groups`. The tour
    gets a vehicle of this group.
    """
    free = [
        [index for index in group for _ in range(instance.fleet[index].count)][::-1]
        for group in type_groups(instance)
    ]
    pairs = [
        (tour, free[kind].pop())
        for tour, kind in zip(tours, types.tolist(), strict=True)
        if tour
    ]
    return Plan([tour for tour, _ in pairs], [index for _, index in pairs])


def _weigh(instance: Instance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """
    Return the fields ``weights`` and ``blame`` of :class:`Day`.

    As in :meth:`Plan.unserved_weight`, a customer weighs more than all customers of
    lower priority together. If there are so many priorities that these weights would
    exceed 64 bits, the weights grow less from one priority to the next.
    """
    n = instance.num_customers
    levels = np.zeros(n + 1, dtype=np.int64)
    if instance.priorities is not None:
        levels[1:] = np.unique(instance.priorities, return_inverse=True)[1]
    top = int(levels.max())
    base = min(n + 1.0, (_LARGEST_WEIGHT / n) ** (1 / max(top, 1)))
    weights = np.floor(base**levels).astype(np.int64)
    return weights, _BLAME * np.minimum(levels, 100)


def _whole_times(
    instance: Instance, shifts: Sequence[tuple[float, float] | None]
) -> _Times:
    """
    Return all times of an instance as whole numbers.

    ``shifts`` has the shift of each vehicle type. Times are multiplied by the first of
    1, 10, 100 and 1000 that makes all of them whole. If none does, the factor is the
    largest power of two with which all times stay below 2^30. Times are then rounded so
    that a plan that is on time with the rounded times is also on time for the instance.
    """
    n, fleet = instance.num_customers, fleet_size(instance)
    none = np.zeros(0, dtype=np.int32)
    if not instance.is_timed:
        empty = np.zeros((0, 0), dtype=np.int32)
        shift = np.zeros(len(shifts), dtype=np.int32)
        return _Times(np.bool_(False), empty, empty, none, none, none, shift, shift)
    windows = np.tile([0.0, np.inf], (n + 1, 1))
    if instance.windows is not None:
        windows[1:] = instance.windows
    service = np.zeros(n + 1)
    if instance.service_times is not None:
        service[1:] = instance.service_times
    spans = np.array([(0.0, np.inf) if span is None else span for span in shifts])
    rides = instance.travel_times
    latest = max(spans[:, 1].max(), 0.0)
    if np.isinf(latest):
        # No tour takes longer than all services, each followed by its longest ride.
        latest = float(max(windows[:, 0].max(), spans[:, 0].max()))
        latest += float((rides.max(axis=1) + service).sum())
    # Larger times can occur in no feasible plan, so cutting them off changes nothing.
    rides, service = np.minimum(rides, latest + 1), np.minimum(service, latest + 1)
    windows, spans = np.minimum(windows, latest + 1), np.minimum(spans, latest + 1)
    longest = latest + float(rides.max() + service.max()) + 1
    scale = next(
        (
            unit
            for unit in _DECIMALS
            if longest * unit < _HORIZON
            and all(_is_whole(a * unit) for a in (rides, service, windows, spans))
        ),
        None,
    )
    up, down = (np.ceil, np.floor) if scale is None else (np.rint, np.rint)
    if scale is None:
        scale = 2.0 ** np.floor(np.log2(_HORIZON / longest))

    def whole(times: NDArray[np.float64], rounded: Any) -> NDArray[np.int32]:
        return np.ascontiguousarray(rounded(times * scale), dtype=np.int32)

    there = np.empty((n + 1, n + 1 + fleet), dtype=np.int32)
    there[:, : n + 1] = whole(rides, up)
    there[:, n + 1 :] = there[:, :1]
    back = there
    if not np.array_equal(there[:, : n + 1], there[:, : n + 1].T):
        back = np.empty_like(there)
        back[:, : n + 1] = there[:, : n + 1].T
        back[:, n + 1 :] = back[:, :1]
    return _Times(
        timed=np.bool_(True),
        there=there,
        back=back,
        opens=whole(windows[:, 0], up),
        closes=whole(windows[:, 1], down),
        service=whole(service, up),
        begins=whole(spans[:, 0], up),
        ends=whole(spans[:, 1], down),
    )


def _is_whole(times: NDArray[np.float64]) -> bool:
    return bool(np.all(np.abs(times - np.rint(times)) <= 1e-10 * np.abs(times)))


@compiled()
def _nearest_in_time(legs: Any, count: Any, size: Any, times: Any) -> Any:
    """
    Return the ``count`` nearest predecessors and successors of each location.

    Both arrays have shape (N', count), where N' is ``size``. The least possible waiting
    time, as a distance and with the weight ``_WAITING``, is added to the distance. A
    pair of customers that cannot follow each other on time counts as farthest.
    """
    before = np.ones((size, count), dtype=np.uint32)
    behind = np.ones((size, count), dtype=np.uint32)
    far = np.empty(count, dtype=np.float64)
    pace = 0.0  # distance per time, on average
    if times.timed:
        rides = max(times.there[:, :size].mean(), 1e-9)
        pace = legs.there[:, :size].mean() / rides
    for i in range(size):
        for to in (False, True):
            found = behind[i] if to else before[i]
            filled = 0
            for j in range(1, size):
                if i == j:
                    continue
                length = np.float64(legs.there[i, j] if to else legs.back[i, j])
                if times.timed:
                    a, b = (i, j) if to else (j, i)
                    took = times.service[a]
                    took += times.there[i, j] if to else times.back[i, j]
                    waiting = times.opens[b] - times.closes[a] - took
                    length += _WAITING * pace * max(waiting, 0)
                    if times.opens[a] + took > times.closes[b]:
                        length += 1e30
                if filled == count and length >= far[count - 1]:
                    continue
                k = filled if filled < count else count - 1
                while k > 0 and far[k - 1] > length:
                    far[k] = far[k - 1]
                    found[k] = found[k - 1]
                    k -= 1
                far[k] = length
                found[k] = j
                filled = min(filled + 1, count)
    return before, behind
