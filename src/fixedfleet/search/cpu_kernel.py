"""
Ruin and recreate on one core: the compiled loop.

Each iteration removes strings of neighbouring customers from a few tours around a
random customer. Then it inserts these customers greedily, each at its cheapest feasible
position. Simulated annealing decides whether the new plan is accepted (Christiaens and
Vanden Berghe, "Slack Induction by String Removals for Vehicle Routing Problems", 2020).
Before customers are inserted, two of the tours may exchange their ends. The number of
tours is fixed, so a plan never exceeds the fleet. Customers that fit into no tour are
absent. Of two plans with absent customers, the one whose absent customers were absent
less often so far is better (the "sum of absences").

The time of an iteration does not depend on the number of customers: tour r is a linked
list that begins and ends at a depot node of its own (N + 1 + r), an insertion is tried
only beside a customer's nearest neighbours, and a rejected iteration is undone link by
link. Thousands of iterations in a row work in one area, which fits into the processor's
cache: customers are numbered along a curve, and the seed customers are
drawn from a window of consecutive numbers.

The same seed and number of iterations give the same plan on any machine, because
everything is plain arithmetic on 32-bit distances and whole loads. The compiler may not
reorder sums, and logarithms are not those of a library.
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.search.cpu_arrays import (
    ABSENT,
    BEST_ABSENT,
    CHANGED,
    EMPTY,
    ITERATION,
    MARK,
    NEXT,
    PREV,
    TOUR,
    USED,
    Problem,
    State,
    inlined,
    leg_between,
    mark,
)
from fixedfleet.search.cpu_distances import leg_from, leg_to
from fixedfleet.search.cpu_ends import exchange_ends, swap_ends, turn_round

__all__ = [
    "accept",
    "advance",
    "below",
    "cut",
    "draw_seed",
    "exponential",
    "insert",
    "keep_best",
    "mark_changes",
    "next_bits",
    "ruin",
    "sort_in",
    "string_start",
    "undo",
    "uniform",
]

_FAR = np.float32(3e38)
# If there are many customers: the number of tours that are tried if a customer does not
# fit beside its neighbours, and the number of tours, on average, at whose begin and end
# an insertion is tried. The way from the depot to the first customer of a tour is often
# long, so that other customers lie beside it.
_PROBES, _TRIED_ENDS = 256, 4
_TURN = 32  # one in this many iterations reverses a tour, to exchange its other end
_STAY = 4096  # iterations that draw their seed customers from the same window


@inlined
def next_bits(random: Any) -> Any:
    """Advance a xorshift64* generator and return 32 random bits."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return (x * np.uint64(2685821657736338717)) >> np.uint64(32)


@inlined
def below(random: Any, bound: Any) -> Any:
    """Return a random whole number from 0 to bound − 1."""
    return np.int64((next_bits(random) * np.uint64(bound)) >> np.uint64(32))


@inlined
def uniform(random: Any) -> Any:
    """Return a random number from the interval (0, 1]."""
    return (np.float64(next_bits(random)) + 1.0) * (1.0 / 4294967296.0)


@compiled(_nrt=False)
def exponential(u: Any) -> Any:
    """
    Return −ln u for u in (0, 1], with an error of about 1e−6.

    Only sums and products are used, which give the same result on every machine.
    """
    mantissa, exponent = frexp(u)
    if mantissa < 0.70710678118654752:
        mantissa *= 2.0
        exponent -= 1
    t = (mantissa - 1.0) / (mantissa + 1.0)
    s = t * t
    series = 2.0 * t * (1.0 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s / 9))))
    return -(exponent * 0.6931471805599453 + series)


@inlined
def cut(
    problem: Problem, state: State, first: Any, length: Any, removed: Any, cuts: Any
) -> Any:
    """
    Remove a string of customers from its tour; return the change of cost.

    The string has ``length`` customers, the first of which is ``first``. It is logged
    for :func:`undo`. ``removed`` customers in ``cuts`` strings were removed before it
    in this iteration.
    """
    nodes, legs = state.nodes, state.legs
    absent = len(state.loads)
    tour = nodes[first, TOUR]
    before = nodes[first, PREV]
    freed = np.float64(legs[before])
    node = first
    for k in range(removed, removed + length):
        state.removed[k] = node
        state.removed_legs[k] = legs[node]
        freed += legs[node]
        state.loads[tour] -= problem.demands[node]
        nodes[node, TOUR] = absent
        node = nodes[node, NEXT]
    state.cuts[cuts, 0] = before
    state.cuts[cuts, 1] = node
    state.cuts[cuts, 2] = length
    state.cut_legs[cuts] = legs[before]
    leg = leg_between(problem, before, node)
    nodes[before, NEXT] = node
    nodes[node, PREV] = before
    legs[before] = leg
    change = leg - freed
    if before == node:  # the tour is empty now
        state.counts[USED] -= 1
        change -= problem.vehicle_cost
    return change


@inlined
def string_start(problem: Problem, state: State, customer: Any, span: Any) -> Any:
    """
    Choose a random string of ``span`` customers that contains a given customer.

    Return (first customer, length). If the tour has fewer than ``span`` customers, the
    string is the whole tour.
    """
    customers = len(problem.near_depot)
    first = customer
    for _ in range(below(state.random, span)):
        if state.nodes[first, PREV] >= customers:
            break
        first = state.nodes[first, PREV]
    # If the end of the tour is too near, begin earlier.
    ahead = span
    node = first
    while ahead > 0 and node < customers:
        node = state.nodes[node, NEXT]
        ahead -= 1
    while ahead > 0 and state.nodes[first, PREV] < customers:
        first = state.nodes[first, PREV]
        ahead -= 1
    return first, span - ahead


@inlined
def draw_seed(problem: Problem, state: State) -> Any:
    """
    Return a random customer, around which strings will be removed.

    It is drawn from a window of consecutive entries of ``state.seeds``. After ``_STAY``
    iterations, the next window is used.
    """
    n = len(state.seeds)
    window = min(problem.window, n)
    first = state.counts[ITERATION] // _STAY * window % n
    drawn = first + below(state.random, window)
    return state.seeds[drawn if drawn < n else drawn - n]


@inlined
def ruin(problem: Problem, state: State) -> Any:
    """
    Remove strings from the tours around a random customer.

    Return (number of customers removed, number of strings, change of cost).
    """
    absent = len(state.loads)
    seed = draw_seed(problem, state)
    served = len(state.seeds) - state.counts[ABSENT]
    mean = served / max(state.counts[USED], 1)
    longest = min(problem.max_string, max(1, int(mean)))
    most = 4.0 * problem.removals / (1.0 + longest) - 1.0
    strings = int(1.0 + uniform(state.random) * max(most, 0.0))
    removed = 0
    cuts = 0
    change = 0.0
    for k in range(-1, problem.neighbours.shape[1]):
        customer = seed if k < 0 else problem.neighbours[seed, k]
        tour = state.nodes[customer, TOUR]
        if tour == absent or state.stamps[tour] >= state.counts[ITERATION]:
            continue
        state.stamps[tour] = state.counts[ITERATION]
        length = 1 + below(state.random, longest)
        spared = 0
        if length > 1 and uniform(state.random) <= problem.split:
            spared = 1
            while spared < longest and uniform(state.random) <= 0.01:
                spared += 1
        first, span = string_start(problem, state, customer, length + spared)
        head = min(length, span)
        tail = 0
        if spared > 0 and span > spared + 1:
            length = span - spared
            head = 1 + below(state.random, length - 1)
            tail = length - head
        if tail > 0:
            second = first
            for _ in range(head + spared):
                second = state.nodes[second, NEXT]
            change += cut(problem, state, second, tail, removed, cuts)
            removed += tail
            cuts += 1
        change += cut(problem, state, first, head, removed, cuts)
        removed += head
        cuts += 1
        strings -= 1
        if strings == 0:
            break
    return removed, cuts, change


@inlined
def sort_in(state: State, customer: Any, key: Any, count: Any) -> Any:
    """
    Put a customer among the first ``count`` of the pool, which are sorted by key.

    The keys ascend. A customer with an equal key stays behind those before it.
    """
    pool, keys = state.pool, state.keys
    place = count
    while place > 0 and keys[place - 1] > key:
        keys[place] = keys[place - 1]
        pool[place] = pool[place - 1]
        place -= 1
    keys[place] = key
    pool[place] = customer


@inlined
def _order(problem: Problem, state: State, count: Any) -> Any:
    """
    Sort the pool, which has ``count`` customers to insert.

    The order is random, or by demand (largest first), or by distance from the depot
    (farthest or closest first). It is drawn anew in each call.
    """
    mode = below(state.random, 11)
    depot = len(problem.near_depot)
    for k in range(count):
        customer = state.pool[k]
        if mode < 4:
            key = np.float32(next_bits(state.random) >> np.uint64(8))
        elif mode < 8:
            key = -np.float32(problem.demands[customer])
        elif mode < 10:
            key = -leg_to(problem.legs, customer, depot)
        else:
            key = leg_to(problem.legs, customer, depot)
        sort_in(state, customer, key, k)


@inlined
def _try(
    problem: Problem, state: State, before: Any, legs: Any, cost: Any, place: Any
) -> Any:
    """
    Compare an insertion after the node ``before`` with the best one so far.

    ``legs`` is the total length of the two new legs. ``cost`` and ``place`` are the
    cost of the best insertion so far, and the node before it. Return these two,
    updated. One in ``problem.blink`` insertions is skipped at random.
    """
    extra = legs - state.legs[before]
    if extra < cost and below(state.random, problem.blink) != 0:
        cost = extra
        place = before
    return cost, place


@inlined
def _place(problem: Problem, state: State, customer: Any) -> Any:
    """
    Return the node after which the insertion of a customer is cheapest.

    Return 0 if no position is feasible. Not all positions are tried; see the module's
    docstring.
    """
    nodes, loads, absent = state.nodes, state.loads, len(state.loads)
    tours = len(state.tours)
    depot = np.uint32(len(problem.near_depot))
    room = problem.capacity - problem.demands[customer]
    cost = _FAR
    place = np.uint32(0)
    for k in range(problem.neighbours.shape[1]):
        # Further neighbours are tried only if the customer fits beside none so far.
        if k >= problem.num_near and (place != 0 or not problem.large_scale):
            break
        node = problem.neighbours[customer, k]
        tour = nodes[node, TOUR]
        if tour == absent or loads[tour] > room:
            continue
        behind, before = nodes[node, NEXT], nodes[node, PREV]
        legs = problem.near_back[customer, k] + leg_to(problem.legs, customer, behind)
        cost, place = _try(problem, state, node, legs, cost, place)
        legs = leg_from(problem.legs, customer, before)
        legs += problem.near_there[customer, k]
        cost, place = _try(problem, state, before, legs, cost, place)
    by_depot = problem.near_depot[customer]
    if problem.large_scale and not by_depot:
        by_depot = below(state.random, tours) < _TRIED_ENDS
    if by_depot:
        from_depot = leg_from(problem.legs, customer, depot)
        to_depot = leg_to(problem.legs, customer, depot)
        for r in state.tours:
            node = np.uint32(depot + r)
            after, before = nodes[node, NEXT], nodes[node, PREV]
            if loads[r] > room or after == node:
                continue
            legs = from_depot + leg_to(problem.legs, customer, after)
            cost, place = _try(problem, state, node, legs, cost, place)
            legs = leg_from(problem.legs, customer, before) + to_depot
            cost, place = _try(problem, state, before, legs, cost, place)
    if place == 0:
        first, most = 0, tours
        if problem.large_scale and tours > _PROBES and state.counts[ABSENT] == 0:
            first, most = below(state.random, tours), _PROBES
        for k in range(most):
            r = state.tours[first + k if first + k < tours else first + k - tours]
            node = np.uint32(depot + r)
            if loads[r] > room or nodes[node, NEXT] == node:
                continue
            while True:
                after = nodes[node, NEXT]
                legs = leg_from(problem.legs, customer, node)
                legs += leg_to(problem.legs, customer, after)
                cost, place = _try(problem, state, node, legs, cost, place)
                node = after
                if node >= depot:
                    break
    if state.counts[USED] < tours and room >= 0:
        alone = leg_from(problem.legs, customer, depot) + leg_to(
            problem.legs, customer, depot
        )
        if alone + problem.vehicle_cost < cost:
            k = state.counts[EMPTY]  # begin where the last empty tour was found
            while nodes[depot + state.tours[k], NEXT] != depot + state.tours[k]:
                k = k + 1 if k + 1 < tours else 0
            place = np.uint32(depot + state.tours[k])
            if problem.large_scale:
                state.counts[EMPTY] = k
    return place


@inlined
def insert(
    problem: Problem, state: State, customer: Any, before: Any, placed: Any
) -> Any:
    """
    Insert a customer after the node ``before``; return the change of cost.

    The insertion is logged for :func:`undo`. ``placed`` customers were inserted before
    it in this iteration.
    """
    nodes, legs = state.nodes, state.legs
    after = nodes[before, NEXT]
    tour = nodes[before, TOUR]
    # Computed with 64 bits, because errors of 32 bits would add up: the cheapest
    # position is often the one whose cost was rounded down most.
    change = np.float64(leg_from(problem.legs, customer, before))
    change += leg_to(problem.legs, customer, after)
    change -= legs[before]
    if after == before:
        state.counts[USED] += 1
        change += problem.vehicle_cost
    state.placed[placed] = customer
    state.placed_legs[placed] = legs[before]
    nodes[before, NEXT] = customer
    nodes[customer, NEXT] = after
    nodes[customer, PREV] = before
    nodes[after, PREV] = customer
    nodes[customer, TOUR] = tour
    legs[before] = leg_from(problem.legs, customer, before)
    legs[customer] = leg_to(problem.legs, customer, after)
    state.loads[tour] += problem.demands[customer]
    return change


@inlined
def undo(
    problem: Problem,
    state: State,
    removed: Any,
    cuts: Any,
    placed: Any,
    one: Any,
    other: Any,
) -> None:
    """
    Restore the plan from before this iteration.

    ``removed``, ``cuts`` and ``placed`` are the numbers of removed customers, removed
    strings and inserted customers. ``one`` and ``other`` are the nodes before the two
    exchanged ends; ``one`` is 0 if no ends were exchanged.
    """
    nodes, legs = state.nodes, state.legs
    absent = len(state.loads)
    for k in range(placed - 1, -1, -1):
        customer = state.placed[k]
        before, after = nodes[customer, PREV], nodes[customer, NEXT]
        nodes[before, NEXT] = after
        nodes[after, PREV] = before
        legs[before] = state.placed_legs[k]
        state.loads[nodes[customer, TOUR]] -= problem.demands[customer]
        nodes[customer, TOUR] = absent
        if before == after:
            state.counts[USED] -= 1
    if one != 0:
        swap_ends(problem, state, one, other)
    for k in range(cuts - 1, -1, -1):
        before, after = state.cuts[k, 0], state.cuts[k, 1]
        if before == after:
            state.counts[USED] += 1
        tour = nodes[before, TOUR]
        legs[before] = state.cut_legs[k]
        last = removed
        removed -= state.cuts[k, 2]
        for j in range(removed, last):
            customer = state.removed[j]
            nodes[before, NEXT] = customer
            nodes[customer, PREV] = before
            nodes[customer, TOUR] = tour
            legs[customer] = state.removed_legs[j]
            state.loads[tour] += problem.demands[customer]
            before = customer
        nodes[before, NEXT] = after
        nodes[after, PREV] = before


@inlined
def _weight(state: State, customers: Any, count: Any) -> Any:
    """
    Return the sum of absences of the first ``count`` entries of ``customers``.

    The absences of a customer are the number of iterations in which it was absent.
    """
    total = 0
    for k in range(count):
        total += state.absences[customers[k]]
    return total


@inlined
def _recreate(problem: Problem, state: State, count: Any, most: Any) -> Any:
    """
    Insert the ``count`` customers of the pool; return (absent, inserted, change).

    These are the number of customers that are not inserted, the number of those that
    are, and the change of cost. Customers that fit nowhere are moved to the front of
    the pool. The loop ends early if the change reaches ``most``, or if a customer fits
    nowhere although the plan served all customers before. In both cases the iteration
    will be rejected.
    """
    change = 0.0
    left = 0
    placed = 0
    complete = state.counts[ABSENT] == 0
    for k in range(count):
        customer = state.pool[k]
        before = _place(problem, state, customer)
        if before == 0:
            state.pool[left] = customer
            left += 1
            if complete:  # a plan that serves all customers is never replaced
                break
        else:
            change += insert(problem, state, customer, before, placed)
            placed += 1
            if change >= most:  # further insertions would only increase the cost
                left += count - 1 - k
                break
    return left, placed, change


@inlined
def accept(state: State, left: Any, change: Any, most: Any) -> Any:
    """
    Return whether the new plan of this iteration replaces the current plan.

    ``left`` is the number of absent customers of the new plan. ``change`` is the cost
    of the new plan minus that of the current plan. Simulated annealing accepts a change
    below ``most``.
    """
    absent = state.counts[ABSENT]
    better = change < most
    if absent == 0:
        better = better and left == 0
    elif left == 0:
        better = True
    else:
        new = _weight(state, state.pool, left)
        old = _weight(state, state.absent, absent)
        # Equal sums are common: if the same customers are absent, the sums are equal.
        fewer = new < old or (new == old and left < absent)
        better = fewer or (better and left <= absent)
        for k in range(left):
            state.absences[state.pool[k]] += 1
    return better


@inlined
def _is_best(problem: Problem, state: State) -> Any:
    """
    Return whether the current plan is better than the best plan so far.

    It is better if it has fewer absent customers, or equally many absent customers and
    a lower cost.
    """
    absent, best = state.counts[ABSENT], state.counts[BEST_ABSENT]
    # The cost must be lower by more than the precision of the length. The vehicle cost
    # is left out of this precision, because it may be far larger than the length.
    length = state.costs[0] - problem.vehicle_cost * state.counts[USED]
    cheaper = state.costs[0] < state.costs[1] - 1e-7 * length
    return absent < best or (absent == best and cheaper)


@inlined
def mark_changes(
    problem: Problem, state: State, cuts: Any, placed: Any, one: Any, other: Any
) -> None:
    """
    Mark the nodes whose successor this iteration has changed.

    The arguments are those of :func:`undo`.
    """
    for k in range(cuts):
        mark(state, state.cuts[k, 0])
    for k in range(placed):
        mark(state, state.placed[k])
        mark(state, state.nodes[state.placed[k], PREV])
    if one != 0:  # the ends were exchanged, so their last nodes have other depots
        for node in (one, other):
            depot = len(problem.near_depot) + state.nodes[node, TOUR]
            mark(state, state.nodes[depot, PREV])


@inlined
def keep_best(state: State) -> None:
    """
    Store the current plan as the best plan.

    Only the successors of marked nodes are copied, because the others are the same.
    """
    for k in range(state.counts[CHANGED]):
        node = state.changed[k]
        state.best[node] = state.nodes[node, NEXT]
        state.nodes[node, MARK] = 0
    state.counts[CHANGED] = 0


@compiled(_nrt=False)
def advance(problem: Problem, state: State, iterations: Any, temperature: Any) -> None:
    """Run a number of iterations of ruin and recreate at one temperature."""
    counts = state.counts
    for _ in range(iterations):
        counts[ITERATION] += 1
        if problem.exchange and counts[ITERATION] % _TURN == 0:
            turn_round(state, draw_seed(problem, state))
        removed, cuts, change = ruin(problem, state)
        count = removed + counts[ABSENT]
        for k in range(removed):
            state.pool[k] = state.removed[k]
        for k in range(removed, count):
            state.pool[k] = state.absent[k - removed]
        _order(problem, state, count)
        most = np.inf
        if problem.large_scale:
            most = temperature * exponential(uniform(state.random))
        one = other = np.uint32(0)
        if problem.exchange and counts[ABSENT] == 0:
            one, other, more = exchange_ends(problem, state, cuts, most)
            change += more
        bound = most - change if counts[ABSENT] == 0 else np.inf
        left, placed, more = _recreate(problem, state, count, bound)
        change += more
        if not problem.large_scale:
            most = temperature * exponential(uniform(state.random))
        if accept(state, left, change, most):
            state.costs[0] += change
            counts[ABSENT] = left
            for k in range(left):
                state.absent[k] = state.pool[k]
            mark_changes(problem, state, cuts, placed, one, other)
            if _is_best(problem, state):
                state.costs[1] = state.costs[0]
                counts[BEST_ABSENT] = left
                keep_best(state)
        else:
            undo(problem, state, removed, cuts, placed, one, other)
