"""
Ruin and recreate with vehicle types and times: the compiled loop.

It works like :mod:`fixedfleet.search.cpu_kernel`, and uses functions from there. Three
things differ:

- Each tour has a vehicle of some type, with a capacity and costs. In about every second
  iteration a ruined tour exchanges its vehicle with a tour whose vehicle is of another
  type. If this other tour does not fit into its new vehicle, it first loses a string.
  Without such exchanges, vehicles would rarely change, because both tours would have to
  lose customers in the same iteration.
- For each stop, two times are stored: the earliest departure, which depends on the
  stops before it, and the latest arrival for which all later stops are on time. With
  them, a check whether a customer can be inserted takes constant time. After a change,
  the times are updated along the tour, up to the first stop whose times do not change.
- An insertion is tried beside customers that are near in distance and in time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.search.cpu_arrays import (
    ABSENT,
    BEST_ABSENT,
    ITERATION,
    NEXT,
    PREV,
    TOUR,
    USED,
    Problem,
    State,
    inlined,
    leg_between,
)
from fixedfleet.search.cpu_distances import leg_from, leg_to
from fixedfleet.search.cpu_ends import load_until, swap_ends
from fixedfleet.search.cpu_kernel import (
    accept,
    below,
    cut,
    exponential,
    insert,
    keep_best,
    mark_changes,
    next_bits,
    ruin,
    sort_in,
    string_start,
    undo,
    uniform,
)
from fixedfleet.search.day_arrays import (
    DEPART,
    LATE,
    LATEST,
    LOGGED,
    RIDE,
    SWAPPED,
    ride_between,
)

__all__ = ["advance_day"]

_FAR = np.float32(3e38)
_TRIED_ENDS = 4  # tours, on average, at whose begin and end an insertion is tried
_OPEN = 16  # one in this many iterations puts its first customer into an idle vehicle
_SKIP = 4  # one in this many types of idle vehicles is skipped at random
_EXCHANGE = 2  # one in this many iterations exchanges vehicles
_DRAWS = 4  # attempts to draw a customer whose vehicle is of another type
_LONGEST_STRING = 4  # most customers that a tour loses, if they fit its new vehicle
_ORDERS, _TIMED_ORDERS = 11, 17  # numbers of sort orders, without and with times


@inlined
def _save(state: State, node: Any) -> None:
    """Log the times of a node for :func:`_undo`, at most once per iteration."""
    day = state.day
    if day.saved[node] != state.counts[ITERATION]:
        day.saved[node] = state.counts[ITERATION]
        k = day.counts[LOGGED]
        day.log[k] = node
        for column in range(3):
            day.log_times[k, column] = day.times[node, column]
        day.counts[LOGGED] = k + 1


@inlined
def _pass_on(problem: Problem, state: State, before: Any, after: Any) -> None:
    """
    Update earliest departures after ``before``, and latest arrivals before ``after``.

    Both are nodes of one tour. Each update continues along the tour, up to the first
    node whose time does not change.
    """
    nodes, times = state.nodes, state.day.times
    customers = len(problem.near_depot)
    node = before
    while nodes[node, NEXT] < customers:
        start = times[node, DEPART] + times[node, RIDE]
        node = nodes[node, NEXT]
        start = max(start, problem.day.opens[node]) + problem.day.service[node]
        if start == times[node, DEPART]:
            break
        _save(state, node)
        times[node, DEPART] = start
    node = after
    while nodes[node, PREV] < customers:
        latest = times[node, LATEST]
        node = nodes[node, PREV]
        latest -= times[node, RIDE] + problem.day.service[node]
        latest = min(latest, problem.day.closes[node])
        if latest == times[node, LATEST]:
            break
        _save(state, node)
        times[node, LATEST] = latest


@inlined
def _settle_cuts(
    problem: Problem, state: State, first: Any, cuts: Any, removed: Any
) -> Any:
    """
    Update vehicles and times after strings were removed; return the change of cost.

    The strings are those with the indices ``first`` to ``cuts`` − 1 in ``state.cuts``.
    The strings before index ``first`` have ``removed`` customers in all.
    """
    day = state.day
    change = 0.0
    for k in range(first, cuts):
        before, after = state.cuts[k, 0], state.cuts[k, 1]
        tour = state.nodes[before, TOUR]
        freed = np.float64(state.cut_legs[k]) - state.legs[before]
        last = removed + state.cuts[k, 2]
        while removed < last:
            freed += state.removed_legs[removed]
            removed += 1
        change -= freed * day.prices[tour]
        if before == after:  # the tour is empty now
            kind = day.types[tour]
            day.idle[0, kind] += 1
            day.hints[kind] = tour
            change -= problem.day.fixed[kind]
        elif problem.day.timed:
            _save(state, before)
            ride = ride_between(problem, before, after)
            day.times[before, RIDE] = ride
            _pass_on(problem, state, before, after)
            # The direct leg may take longer than the path over the removed customers.
            if day.times[before, DEPART] + ride > day.times[after, LATEST]:
                day.counts[LATE] = 1
    return change


@inlined
def _insert(
    problem: Problem, state: State, customer: Any, before: Any, placed: Any
) -> Any:
    """
    Insert a customer after the node ``before``; return the change of cost.

    The insertion is logged for :func:`_undo`. ``placed`` customers were inserted before
    it in this iteration.
    """
    day = state.day
    tour = state.nodes[before, TOUR]
    after = state.nodes[before, NEXT]
    change = insert(problem, state, customer, before, placed) * day.prices[tour]
    if after == before:
        kind = day.types[tour]
        day.idle[0, kind] -= 1
        change += problem.day.fixed[kind]
    if problem.day.timed:
        times = day.times
        _save(state, before)
        _save(state, customer)
        times[before, RIDE] = problem.day.back[customer, before]
        times[customer, RIDE] = problem.day.there[customer, after]
        # These times never occur, so the update does not stop at this customer.
        times[customer, DEPART] = times[customer, LATEST] = -1
        _pass_on(problem, state, before, after)
    return change


@inlined
def _undo(
    problem: Problem,
    state: State,
    removed: Any,
    cuts: Any,
    placed: Any,
    ends: Any,
    vehicles: Any,
) -> None:
    """
    Restore plan, vehicles and times from before this iteration.

    ``ends`` has the nodes before the two exchanged ends; its first entry is 0 if no
    ends were exchanged. ``vehicles`` has the two tours that exchanged their vehicles;
    they are the same if no vehicles were exchanged. The other arguments are those of
    :func:`fixedfleet.search.cpu_kernel.undo`.
    """
    day = state.day
    undo(problem, state, removed, cuts, placed, ends[0], ends[1])
    if vehicles[0] != vehicles[1]:
        _swap_vehicles(state, vehicles[0], vehicles[1])
    for kind in range(day.idle.shape[1]):
        day.idle[0, kind] = day.idle[1, kind]
    for k in range(day.counts[LOGGED]):
        for column in range(3):
            day.times[day.log[k], column] = day.log_times[k, column]


@inlined
def _order(problem: Problem, state: State, count: Any) -> None:
    """
    Sort the pool, which has ``count`` customers to insert.

    The order is random, or by demand (largest first), or by distance from the depot
    (farthest or closest first). If there are windows or shifts, it may also be by
    window: the shortest first, the first to open first, or the last to close first.
    """
    mode = below(state.random, _TIMED_ORDERS if problem.day.timed else _ORDERS)
    day, depot = problem.day, len(problem.near_depot)
    for k in range(count):
        customer = state.pool[k]
        if mode < 4:
            key = np.float32(next_bits(state.random) >> np.uint64(8))
        elif mode < 8:
            key = -np.float32(problem.demands[customer])
        elif mode < 10:
            key = -leg_to(problem.legs, customer, depot)
        elif mode < 11:
            key = leg_to(problem.legs, customer, depot)
        elif mode < 13:
            key = np.float32(day.closes[customer] - day.opens[customer])
        elif mode < 15:
            key = np.float32(day.opens[customer])
        else:
            key = -np.float32(day.closes[customer])
        sort_in(state, customer, key, k)


@inlined
def _is_on_time(problem: Problem, customer: Any, arrival: Any, latest: Any) -> Any:
    """
    Return whether a customer can be served on time between two stops.

    ``arrival`` is the earliest possible arrival at the customer. ``latest`` is the
    latest departure from it with which all later stops are on time.
    """
    start = max(arrival, problem.day.opens[customer])
    on_time = start + problem.day.service[customer] <= latest
    return on_time and start <= problem.day.closes[customer]


@inlined
def _try(
    problem: Problem,
    state: State,
    customer: Any,
    before: Any,
    after: Any,
    legs: Any,
    cost: Any,
    place: Any,
) -> Any:
    """
    Compare an insertion between two nodes with the best one so far.

    ``legs`` is the total length of the two new legs. ``cost`` and ``place`` are the
    cost of the best insertion so far, and the node before it. Return these two,
    updated. An insertion that would be late is not taken, and one in ``problem.blink``
    insertions is skipped at random.
    """
    day, times = problem.day, state.day.times
    extra = (legs - state.legs[before]) * state.day.prices[state.nodes[before, TOUR]]
    if extra < cost:
        fits = True
        if day.timed:
            arrival = times[before, DEPART] + day.back[customer, before]
            latest = times[after, LATEST] - day.there[customer, after]
            fits = _is_on_time(problem, customer, arrival, latest)
        if fits and below(state.random, problem.blink) != 0:
            cost = extra
            place = before
    return cost, place


@inlined
def _idle_tour(problem: Problem, state: State, kind: Any) -> Any:
    """
    Return an empty tour whose vehicle has the type ``kind``.

    At least one vehicle of this type must be idle.
    """
    depot, tours = len(problem.near_depot), len(state.loads)
    tour = state.day.hints[kind]
    while state.nodes[depot + tour, NEXT] != depot + tour or (
        state.day.types[tour] != kind
    ):
        tour = tour + 1 if tour + 1 < tours else 0
    state.day.hints[kind] = tour
    return tour


@inlined
def _place(problem: Problem, state: State, customer: Any, alone_only: Any) -> Any:
    """
    Return the node after which the insertion of a customer is cheapest.

    Return 0 if no position is feasible. With ``alone_only``, the customer may only be
    inserted into an empty tour.
    """
    nodes, loads = state.nodes, state.loads
    day, now = problem.day, state.day
    tours = len(loads)
    depot = np.uint32(len(problem.near_depot))
    demand = problem.demands[customer]
    cost = _FAR
    place = np.uint32(0)
    for k in range(0 if alone_only else day.before.shape[1]):
        node = day.before[customer, k]
        tour = nodes[node, TOUR]
        if tour != tours and loads[tour] + demand <= now.capacities[tour]:
            after = nodes[node, NEXT]
            legs = day.before_legs[customer, k] + leg_to(problem.legs, customer, after)
            cost, place = _try(problem, state, customer, node, after, legs, cost, place)
        node = day.behind[customer, k]
        tour = nodes[node, TOUR]
        if tour != tours and loads[tour] + demand <= now.capacities[tour]:
            before = nodes[node, PREV]
            legs = leg_from(problem.legs, customer, before)
            legs += day.behind_legs[customer, k]
            cost, place = _try(
                problem, state, customer, before, node, legs, cost, place
            )
    from_depot = leg_from(problem.legs, customer, depot)
    to_depot = leg_to(problem.legs, customer, depot)
    by_depot = problem.near_depot[customer]
    if not by_depot:
        by_depot = below(state.random, tours) < _TRIED_ENDS
    if by_depot and not alone_only:
        for r in range(tours):
            node = np.uint32(depot + r)
            after, before = nodes[node, NEXT], nodes[node, PREV]
            if after == node or loads[r] + demand > now.capacities[r]:
                continue
            legs = from_depot + leg_to(problem.legs, customer, after)
            cost, place = _try(problem, state, customer, node, after, legs, cost, place)
            legs = leg_from(problem.legs, customer, before) + to_depot
            cost, place = _try(
                problem, state, customer, before, node, legs, cost, place
            )
    if place == 0 and not alone_only:
        for r in range(tours):
            node = np.uint32(depot + r)
            if nodes[node, NEXT] == node or loads[r] + demand > now.capacities[r]:
                continue
            while True:
                after = nodes[node, NEXT]
                legs = leg_from(problem.legs, customer, node)
                legs += leg_to(problem.legs, customer, after)
                cost, place = _try(
                    problem, state, customer, node, after, legs, cost, place
                )
                node = after
                if node >= depot:
                    break
    if state.counts[USED] < tours:
        cheapest = -1
        # Types are skipped at random, because the cheapest type for this customer may
        # be too small for the customers that follow.
        skip = 0 if len(day.prices) == 1 else _SKIP
        while cheapest < 0:
            for kind in range(len(day.prices)):
                if now.idle[0, kind] == 0 or demand > day.capacities[kind]:
                    continue
                alone = (from_depot + to_depot) * day.prices[kind]
                alone += np.float32(day.fixed[kind])
                if alone < cost and (skip == 0 or below(state.random, skip) != 0):
                    fits = True
                    if day.timed:
                        arrival = day.begins[kind] + day.back[customer, depot]
                        latest = day.ends[kind] - day.there[customer, depot]
                        fits = _is_on_time(problem, customer, arrival, latest)
                    if fits:
                        cost = alone
                        cheapest = kind
            if place != 0 or skip == 0:
                break
            skip = 0
        if cheapest >= 0:
            place = np.uint32(depot + _idle_tour(problem, state, cheapest))
    return place


@inlined
def _recreate(problem: Problem, state: State, count: Any, most: Any) -> Any:
    """
    Insert the ``count`` customers of the pool; return (absent, inserted, change).

    It works like ``_recreate`` of :mod:`fixedfleet.search.cpu_kernel`, with two
    differences. Vehicle types and times are considered, and in some iterations, drawn
    at random, the first customer is inserted into an empty tour.
    """
    change = 0.0
    left = 0
    placed = 0
    complete = state.counts[ABSENT] == 0
    # Insertion at the lowest cost rarely opens a tour, because its first customer has
    # to pay for the vehicle. So the first customer sometimes opens one at random.
    opens = state.counts[USED] < len(state.loads) and below(state.random, _OPEN) == 0
    for k in range(count):
        customer = state.pool[k]
        before = _place(problem, state, customer, opens and k == 0)
        if before == 0:
            state.pool[left] = customer
            left += 1
            if complete:
                break
        else:
            change += _insert(problem, state, customer, before, placed)
            placed += 1
            if change >= most:
                left += count - 1 - k
                break
    return left, placed, change


@inlined
def _swap_vehicles(state: State, one: Any, other: Any) -> None:
    """
    Exchange the vehicles of two tours.

    The caller must update ``state.day.idle``.
    """
    day = state.day
    day.types[one], day.types[other] = day.types[other], day.types[one]
    day.capacities[one], day.capacities[other] = (
        day.capacities[other],
        day.capacities[one],
    )
    day.prices[one], day.prices[other] = day.prices[other], day.prices[one]


@inlined
def _set_shift(problem: Problem, state: State, tour: Any) -> Any:
    """
    Update the times of a tour to the shift of its vehicle.

    Return whether the tour is on time.
    """
    times, kind = state.day.times, state.day.types[tour]
    depot = np.uint32(len(problem.near_depot) + tour)
    begin, end = problem.day.begins[kind], problem.day.ends[kind]
    if times[depot, DEPART] != begin or times[depot, LATEST] != end:
        _save(state, depot)
        times[depot, DEPART] = begin
        times[depot, LATEST] = end
        _pass_on(problem, state, depot, depot)
    first, last = state.nodes[depot, NEXT], state.nodes[depot, PREV]
    # Latest arrivals ignore that a vehicle waits until a window opens. So the departure
    # from the last stop decides whether the vehicle is back in time.
    back = times[last, DEPART] + times[last, RIDE]
    in_time = back <= end and begin + times[depot, RIDE] <= times[first, LATEST]
    return first == depot or in_time


@inlined
def _length(problem: Problem, state: State, tour: Any) -> Any:
    """Return the length of a tour."""
    depot = len(problem.near_depot) + tour
    length = np.float64(0.0)
    if state.nodes[depot, NEXT] != depot:
        length += state.legs[depot]
        node = state.nodes[depot, NEXT]
        while node != depot:
            length += state.legs[node]
            node = state.nodes[node, NEXT]
    return length


@inlined
def _draw_partner(problem: Problem, state: State, one: Any) -> Any:
    """
    Draw a tour whose vehicle is of another type than that of tour ``one``.

    Return (tour, customer). The customer belongs to the tour; it is 0 if the tour is
    empty. If no suitable tour is found, the returned tour is ``one``.
    """
    nodes, day = state.nodes, state.day
    customers, kinds = len(problem.near_depot), day.idle.shape[1]
    other = one
    customer = np.uint32(0)
    kind = below(state.random, 2 * kinds)
    if kind < kinds and kind != day.types[one] and day.idle[0, kind] > 0:
        other = _idle_tour(problem, state, kind)
    else:
        for _ in range(_DRAWS):
            customer = np.uint32(1 + below(state.random, customers - 1))
            tour = np.int64(nodes[customer, TOUR])
            if tour != len(state.loads) and day.types[tour] != day.types[one]:
                other = tour
                break
    return other, customer


@inlined
def _cut_to_fit(
    problem: Problem, state: State, customer: Any, room: Any, removed: Any, cuts: Any
) -> Any:
    """
    Remove a string around a customer, so that the load of its tour is at most ``room``.

    Return the number of customers removed. ``removed`` customers in ``cuts`` strings
    were removed before in this iteration.
    """
    nodes, customers = state.nodes, len(problem.near_depot)
    excess = state.loads[nodes[customer, TOUR]] - room
    span = 1 + below(state.random, _LONGEST_STRING)
    first, span = string_start(problem, state, customer, span)
    node = first
    for _ in range(span):
        excess -= problem.demands[node]
        node = nodes[node, NEXT]
    while excess > 0:
        if node < customers:
            excess -= problem.demands[node]
            node = nodes[node, NEXT]
        else:
            first = nodes[first, PREV]
            excess -= problem.demands[first]
        span += 1
    cut(problem, state, first, span, removed, cuts)
    return span


@inlined
def _exchange_vehicles(problem: Problem, state: State, removed: Any, cuts: Any) -> Any:
    """
    Exchange the vehicle of a ruined tour with that of a tour of another vehicle type.

    Return (customers, strings, one, other, change): the numbers of customers and
    strings removed so far in this iteration, the two tours, and the change of cost.
    ``removed`` and ``cuts`` are these numbers before the call. ``one`` and ``other``
    are equal if nothing was exchanged.
    """
    day, nodes = state.day, state.nodes
    customers = len(problem.near_depot)
    one = np.int64(nodes[state.cuts[below(state.random, cuts), 0], TOUR])
    other, customer = _draw_partner(problem, state, one)
    change = 0.0
    if other != one and state.loads[one] > day.capacities[other]:
        other = one
    if other != one:
        room = day.capacities[one]
        overloaded = state.loads[other] > room
        if customer != 0 and (overloaded or below(state.random, 2) == 0):
            span = _cut_to_fit(problem, state, customer, room, removed, cuts)
            change += _settle_cuts(problem, state, cuts, cuts + 1, removed)
            removed += span
            cuts += 1
        _swap_vehicles(state, one, other)
        on_time = True
        if problem.day.timed:
            on_time = _set_shift(problem, state, one)
            on_time = _set_shift(problem, state, other) and on_time
        if on_time:
            day.counts[SWAPPED] = 1
            shorter = _length(problem, state, one) - _length(problem, state, other)
            change += shorter * np.float64(day.prices[one] - day.prices[other])
            new, old = day.types[one], day.types[other]
            more = problem.day.fixed[new] - problem.day.fixed[old]
            used = nodes[customers + one, NEXT] != customers + one
            if used != (nodes[customers + other, NEXT] != customers + other):
                day.idle[0, new] += -1 if used else 1
                day.idle[0, old] += 1 if used else -1
                change += more if used else -more
        else:
            _swap_vehicles(state, one, other)
            _set_shift(problem, state, one)
            _set_shift(problem, state, other)
            other = one
    return removed, cuts, one, other, change


@inlined
def _exchange_ends(problem: Problem, state: State, cuts: Any, most: Any) -> Any:
    """
    Exchange the ends of two ruined tours with the same vehicle type.

    Both tours must be on time after the exchange. The arguments and the returned (one,
    other, change) are those of :func:`fixedfleet.search.cpu_ends.exchange_ends`.
    """
    nodes, legs, times = state.nodes, state.legs, state.day.times
    depot, demands = len(problem.near_depot), problem.demands
    one = other = np.uint32(0)
    change = most
    for k in range(1, cuts):
        a = state.cuts[k, 0]
        end_a = nodes[a, NEXT]
        for j in range(k):
            b = state.cuts[j, 0]
            end_b = nodes[b, NEXT]
            first, second = nodes[a, TOUR], nodes[b, TOUR]
            # No tour may become empty, and no empty tour may be used.
            both = max(a, b) < depot or max(end_a, end_b) < depot
            if not both or first == second:
                continue
            if state.day.types[first] != state.day.types[second]:
                continue
            longer = np.float64(leg_between(problem, a, end_b)) - legs[a] - legs[b]
            longer += leg_between(problem, b, end_a)
            longer *= state.day.prices[first]
            if longer >= change:
                continue
            if problem.day.timed:
                late = times[a, DEPART] + ride_between(problem, a, end_b)
                late -= times[end_b, LATEST]
                also = times[b, DEPART] + ride_between(problem, b, end_a)
                if max(late, also - times[end_a, LATEST]) > 0:
                    continue
            change = longer
            one, other = a, b
    if one != 0:
        first, second = nodes[one, TOUR], nodes[other, TOUR]
        more = load_until(nodes, demands, depot, one) - state.loads[first]
        more -= load_until(nodes, demands, depot, other) - state.loads[second]
        most_load = max(state.loads[first] + more, state.loads[second] - more)
        if most_load > state.day.capacities[first]:
            one = np.uint32(0)
    if one == 0:
        change = 0.0
    else:
        swap_ends(problem, state, one, other)
        if problem.day.timed:
            for node in (one, other):
                after = nodes[node, NEXT]
                _save(state, node)
                times[node, RIDE] = ride_between(problem, node, after)
                _pass_on(problem, state, node, after)
    return one, other, change


@inlined
def _is_best(state: State) -> Any:
    """
    Return whether the current plan is better than the best plan so far.

    It is better if its absent customers have a smaller total weight, or the same weight
    and its cost is lower.
    """
    missing, best = state.day.missing[0], state.day.missing[1]
    cheaper = state.costs[0] < state.costs[1] * (1.0 - 1e-7)
    return missing < best or (missing == best and cheaper)


@compiled(_nrt=False)
def advance_day(
    problem: Problem, state: State, iterations: Any, temperature: Any
) -> None:
    """Run a number of iterations of ruin and recreate at one temperature."""
    counts, day = state.counts, state.day
    kinds = day.idle.shape[1]
    for _ in range(iterations):
        counts[ITERATION] += 1
        day.counts[LOGGED] = day.counts[LATE] = 0
        for kind in range(kinds):
            day.idle[1, kind] = day.idle[0, kind]
        removed, cuts, _ = ruin(problem, state)
        change = _settle_cuts(problem, state, 0, cuts, 0)
        one = other = 0
        by_vehicles = kinds > 1 and cuts > 0 and below(state.random, _EXCHANGE) == 0
        if by_vehicles:
            removed, cuts, one, other, more = _exchange_vehicles(
                problem, state, removed, cuts
            )
            change += more
        late = day.counts[LATE] != 0
        count = 0 if late else removed + counts[ABSENT]
        for k in range(min(removed, count)):
            state.pool[k] = state.removed[k]
        for k in range(removed, count):
            state.pool[k] = state.absent[k - removed]
        _order(problem, state, count)
        most = temperature * exponential(uniform(state.random))
        end = other_end = np.uint32(0)
        # An exchange of vehicles may have removed the node before an end.
        if counts[ABSENT] == 0 and not by_vehicles and not late:
            end, other_end, more = _exchange_ends(problem, state, cuts, most)
            change += more
        bound = np.inf
        if problem.large_scale and counts[ABSENT] == 0:
            bound = most - change
        left, placed, more = _recreate(problem, state, count, bound)
        change += more
        if counts[ABSENT] > 0:
            for k in range(left):
                state.absences[state.pool[k]] += problem.day.blame[state.pool[k]]
        if not late and accept(state, left, change, most):
            state.costs[0] += change
            counts[ABSENT] = left
            day.missing[0] = 0
            for k in range(left):
                state.absent[k] = state.pool[k]
                day.missing[0] += problem.day.weights[state.pool[k]]
            mark_changes(problem, state, cuts, placed, end, other_end)
            if _is_best(state):
                state.costs[1] = state.costs[0]
                day.missing[1] = day.missing[0]
                counts[BEST_ABSENT] = left
                keep_best(state)
                for tour in range(len(day.types) * day.counts[SWAPPED]):
                    day.best_types[tour] = day.types[tour]
                day.counts[SWAPPED] = 0
        else:
            ends, vehicles = (end, other_end), (one, other)
            _undo(problem, state, removed, cuts, placed, ends, vehicles)
