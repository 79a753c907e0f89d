"""
Join two labels over an arc to a route.

The first label is a path from the depot, and the second a path back to the depot. The
arc leads from the last customer of the first label to the first customer of the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fixedfleet.bound.labelling import FORBIDDEN, Graph, Labels, penalty
from fixedfleet.compiling import compiled

__all__ = [
    "both_odd",
    "cheapest_labels",
    "complete",
    "count_halves",
    "find_passable",
    "join",
    "trace",
]


@compiled()
def count_halves(there: Labels, half: Any) -> Any:
    """
    Return (places, counts) of the settled labels with a load of at most ``half``.

    ``places`` has the positions of these labels in each customer's list of settled
    labels, shape (n, K). ``counts`` has their number per customer, shape (n,).
    """
    n = len(there.num_settled)
    counts = np.zeros(n, np.int64)
    places = np.empty((n, max(1, there.num_settled.max())), np.int32)
    for node in range(1, n):
        for place in range(there.num_settled[node]):
            if there.load[there.settled[node, place]] <= half:
                places[node, counts[node]] = place
                counts[node] += 1
    return places, counts


@compiled()
def join(
    graph: Graph,
    here: Labels,
    there: Labels,
    half: Any,
    halves: Any,
    found: Any,
    node: Any,
) -> None:
    """
    Find the cheapest route over each arc from customer ``node``.

    Each route is found over one arc only: the arc after the customer with which its
    load first exceeds ``half``, or the arc back to the depot if the load never does.
    ``here`` has the labels from the depot, and ``there`` the labels towards it; both
    are the same if distances are symmetric. ``halves`` is what :func:`count_halves`
    returns for ``there``. ``found`` has three arrays of shape (n, n), which are
    updated: the least reduced cost of a route over each arc, the label before the arc
    and the label after it.
    """
    places, counts = halves
    least, before, behind = found
    for place in range(here.num_settled[node]):
        cost, label = here.settled_cost[node, place], here.settled[node, place]
        if cost + graph.reduced[node, 0] < least[node, 0]:
            least[node, 0] = cost + graph.reduced[node, 0]
            before[node, 0], behind[node, 0] = label, -1
        if here.load[label] <= half:
            continue
        room, memory = graph.limit - here.load[label], here.memory[label]
        for way in range(graph.degrees[node]):
            customer = graph.successors[node, way]
            if counts[customer] == 0:
                continue
            reached = cost + graph.reduced[node, customer]
            shared = graph.shared[node, customer] & memory
            for entry in range(counts[customer]):
                other = places[customer, entry]
                total = reached + there.settled_cost[customer, other]
                if total >= least[node, customer]:
                    break
                if there.settled_memory[customer, other] & shared:
                    continue
                rest = there.settled[customer, other]
                if there.load[rest] > room:
                    continue
                total += both_odd(graph, here, there, label, rest)
                if total < least[node, customer]:
                    least[node, customer] = total
                    before[node, customer], behind[node, customer] = label, rest


@compiled()
def both_odd(graph: Graph, here: Any, there: Any, label: Any, rest: Any) -> Any:
    """
    Return the penalties of the cuts whose divisor two labels reach only together.

    ``here`` and ``there`` are labels or paths of the enumeration.
    """
    total = np.int64(0)
    for word in range(graph.halves):
        cuts = here.odd[label, word] & there.odd[rest, word]
        if cuts:
            total += penalty(cuts, word, graph.penalties)
    for word in range(graph.halves, here.odd.shape[1], 2):
        cuts = here.odd[label, word] & there.odd[rest, word + 1]
        cuts |= here.odd[label, word + 1] & there.odd[rest, word]
        if cuts:
            total += penalty(cuts, word, graph.penalties)
    return total


@compiled()
def trace(
    here: Labels, there: Labels, before: Any, behind: Any, longest: Any, most: Any
) -> Any:
    """
    Return the routes of joined labels, as rows of customers with zeros to the end.

    Route k joins the labels ``before[k]`` and ``behind[k]``; ``behind[k]`` is −1 if the
    route returns to the depot after ``before[k]``. ``longest`` is the maximum number of
    customers of a route. At most ``most`` routes are returned. A route is left out if
    each of its customers is already in ``most`` / 5 of the returned routes, and in at
    least three.
    """
    used = np.zeros(len(here.num_settled), np.int64)
    rows = np.zeros((min(most, len(before)), longest), np.int16)
    count = 0
    for place in range(len(before)):
        if count == len(rows):
            break
        length, label = 0, before[place]
        while label >= 0:
            rows[count, length] = here.node[label]
            length += 1
            label = here.parent[label]
        rows[count, :length] = rows[count, :length][::-1].copy()
        label = behind[place]
        while label >= 0:
            rows[count, length] = there.node[label]
            length += 1
            label = there.parent[label]
        rare = False
        for stop in rows[count, :length]:
            rare |= used[stop] < max(3, most // 5)
        if rare:
            for stop in rows[count, :length]:
                used[stop] += 1
            count += 1
        else:
            rows[count] = 0
    return rows[:count]


@compiled()
def find_passable(
    graph: Graph,
    here: Labels,
    there: Labels,
    cheapest: Any,
    most: Any,
    passable: Any,
    node: Any,
) -> None:
    """
    Find the arcs at ``node`` that a route of reduced cost at most ``most`` can use.

    These are the arcs that start at ``node``, and the arc from the depot to ``node``.
    The result is written to the mask ``passable``, shape (n, n). All labels up to the
    full capacity must be settled. ``cheapest`` is what :func:`cheapest_labels` returns
    for ``there``.
    """
    if here.num_settled[node]:
        back = here.settled_cost[node, 0] + graph.reduced[node, 0]
        passable[node, 0] = back <= most
    if there.num_settled[node]:
        out = graph.reduced[0, node] + there.settled_cost[node, 0]
        passable[0, node] = out <= most
    for way in range(graph.degrees[node]):
        customer = graph.successors[node, way]
        found = False
        for place in range(here.num_settled[node]):
            spare = most - here.settled_cost[node, place]
            spare -= graph.reduced[node, customer]
            if spare < cheapest[graph.limit, customer]:
                break
            label = here.settled[node, place]
            if spare < cheapest[graph.limit - here.load[label], customer]:
                continue
            shared = graph.shared[node, customer] & here.memory[label]
            other = 0
            while not found and other < there.num_settled[customer]:
                left = spare - there.settled_cost[customer, other]
                if left < 0:
                    break
                rest = there.settled[customer, other]
                if (
                    not there.settled_memory[customer, other] & shared
                    and there.load[rest] + here.load[label] <= graph.limit
                ):
                    found = left >= both_odd(graph, here, there, label, rest)
                other += 1
            if found:
                break
        passable[node, customer] = found


@compiled()
def cheapest_labels(graph: Graph, there: Labels) -> Any:
    """
    Return the least cost of a label at each customer, of at most each load.

    The shape is (limit + 1, n).
    """
    n = len(graph.steps)
    costs = np.full((graph.limit + 1, n), FORBIDDEN, np.int64)
    for node in range(1, n):
        for place in range(there.num_settled[node]):
            load = there.load[there.settled[node, place]]
            costs[load, node] = min(costs[load, node], there.settled_cost[node, place])
        for load in range(1, graph.limit + 1):
            costs[load, node] = min(costs[load, node], costs[load - 1, node])
    return costs


@compiled()
def complete(graph: Graph, there: Labels) -> Any:
    """
    Return the least reduced cost of a way from each customer back to the depot.

    The result has shape (limit + 1, n). Entry [s, i] is for a way from customer i on
    which the customers after i have a total load of at most s steps. It is right for
    loads up to the one up to which labels are settled.
    """
    n = len(graph.steps)
    paths = cheapest_labels(graph, there)
    costs = np.empty((graph.limit + 1, n), np.int64)
    for node in range(1, n):
        for load in range(graph.limit + 1):
            least = graph.reduced[node, 0]
            for way in range(graph.degrees[node]):
                customer = graph.successors[node, way]
                path = paths[load, customer]
                if path < FORBIDDEN:
                    least = min(least, graph.reduced[node, customer] + path)
            costs[load, node] = least
    return costs
