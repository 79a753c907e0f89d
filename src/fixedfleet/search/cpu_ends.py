"""
Ruin and recreate on one core: two tours exchange their ends.

An end of a tour is the part after one of its customers. An end is often longer than the
strings that ruin and recreate removes, so these cannot move it to another tour. If all
vehicles are nearly full, ends of different loads cannot be exchanged. So ends are
exchanged after strings were removed, when the tours have free capacity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fixedfleet.compiling import compiled
from fixedfleet.search.cpu_arrays import (
    NEXT,
    PREV,
    TOUR,
    Problem,
    State,
    leg_between,
    mark,
)

__all__ = ["exchange_ends", "load_until", "swap_ends", "turn_round"]


@compiled(_nrt=False)
def exchange_ends(problem: Problem, state: State, cuts: Any, most: Any) -> Any:
    """
    Exchange the ends of two ruined tours; return (one, other, change).

    This is a 2-opt* move. An end begins where a string was removed; ``cuts`` is the
    number of removed strings. ``one`` and ``other`` are the nodes before the two ends,
    and ``change`` is the change of cost. Only the pair of ends with the smallest change
    is tried, and only if this change is below ``most``. If nothing is exchanged,
    ``one`` and ``change`` are 0, and ``other`` has no meaning.
    """
    nodes, legs = state.nodes, state.legs
    depot = len(problem.near_depot)
    one = other = np.uint32(0)
    change = most
    for k in range(1, cuts):
        a = state.cuts[k, 0]
        end_a = nodes[a, NEXT]
        for j in range(k):
            b = state.cuts[j, 0]
            end_b = nodes[b, NEXT]
            # No tour may become empty, and no empty tour may be used.
            both = max(a, b) < depot or max(end_a, end_b) < depot
            if both and nodes[a, TOUR] != nodes[b, TOUR]:
                longer = np.float64(leg_between(problem, a, end_b)) - legs[a] - legs[b]
                longer += leg_between(problem, b, end_a)
                if longer < change:
                    change = longer
                    one, other = a, b
    if one == 0 or not swap_ends(problem, state, one, other):
        one = np.uint32(0)
        change = 0.0
    return one, other, change


@compiled(_nrt=False)
def swap_ends(problem: Problem, state: State, one: Any, other: Any) -> Any:
    """
    Exchange the parts of two tours after the nodes ``one`` and ``other``.

    Nothing is exchanged if a tour would exceed the capacity. Return whether the ends
    were exchanged.
    """
    nodes, legs, loads = state.nodes, state.legs, state.loads
    customers = len(problem.near_depot)
    first, second = nodes[one, TOUR], nodes[other, TOUR]
    more = load_until(nodes, problem.demands, customers, one) - loads[first]
    more -= load_until(nodes, problem.demands, customers, other) - loads[second]
    fits = max(loads[first] + more, loads[second] - more) <= problem.capacity
    if fits:
        end, other_end = nodes[one, NEXT], nodes[other, NEXT]
        _append(nodes, customers, one, other_end)
        _append(nodes, customers, other, end)
        loads[first] += more
        loads[second] -= more
        legs[one] = leg_between(problem, one, nodes[one, NEXT])
        legs[other] = leg_between(problem, other, nodes[other, NEXT])
    return fits


@compiled(_nrt=False)
def load_until(nodes: Any, demands: Any, customers: Any, node: Any) -> Any:
    """
    Return the load of a tour from its first customer up to and including a node.

    ``customers`` is N + 1; nodes from this number on are depots.
    """
    load = np.int64(0)
    while node < customers:
        load += demands[node]
        node = nodes[node, PREV]
    return load


@compiled(_nrt=False)
def _append(nodes: Any, customers: Any, before: Any, first: Any) -> None:
    """
    Make the nodes from ``first`` to the end of its tour follow the node ``before``.

    ``customers`` is N + 1; nodes from this number on are depots.
    """
    tour = nodes[before, TOUR]
    while first < customers:
        nodes[before, NEXT] = first
        nodes[first, PREV] = before
        nodes[first, TOUR] = tour
        before, first = first, nodes[first, NEXT]
    nodes[before, NEXT] = customers + tour
    nodes[customers + tour, PREV] = before


@compiled(_nrt=False)
def turn_round(state: State, customer: Any) -> None:
    """Reverse the tour of a customer; do nothing if the customer is absent."""
    nodes, legs = state.nodes, state.legs
    if nodes[customer, TOUR] < len(state.loads):
        leg = legs[nodes[customer, PREV]]
        node = np.uint32(customer)
        while True:
            after = nodes[node, NEXT]
            nodes[node, NEXT], nodes[node, PREV] = nodes[node, PREV], after
            legs[node], leg = leg, legs[node]
            mark(state, node)
            node = after
            if node == customer:
                break
