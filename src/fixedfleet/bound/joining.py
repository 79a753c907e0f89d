"""Routes out of two labels, one from the depot and one towards it, and an arc."""

from __future__ import annotations

from typing import Any

import numpy as np

from fixedfleet.bound.labelling import FORBIDDEN, Graph, Labels, penalty
from fixedfleet.compiling import compiled

__all__ = ["complete", "count_halves", "join", "least_through", "trace"]


@compiled()
def count_halves(there: Labels, half: Any) -> Any:
    """Return the settled labels up to a load, shape (n, K), and how many they are."""
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
    Find the cheapest route over each arc from a customer that crosses half the load.

    ``here`` are the labels from the depot and ``there`` the labels towards it, which
    are the same if distances are symmetric. ``found`` are three arrays of shape (n, n):
    the least cost, only ever lowered, and the labels before and behind the arc.
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
                total += _both_odd(graph, here, there, label, rest)
                if total < least[node, customer]:
                    least[node, customer] = total
                    before[node, customer], behind[node, customer] = label, rest


@compiled()
def _both_odd(graph: Graph, here: Labels, there: Labels, label: Any, rest: Any) -> Any:
    """Return the penalties of cuts that both halves of a route visit oddly often."""
    total = np.int64(0)
    for word in range(here.odd.shape[1]):
        cuts = here.odd[label, word] & there.odd[rest, word]
        if cuts:
            total += penalty(cuts, word, graph.penalties)
    return total


@compiled()
def trace(
    here: Labels, there: Labels, before: Any, behind: Any, longest: Any, most: Any
) -> Any:
    """
    Return the customers of joined labels, as rows with zeros to the end.

    At most ``most`` routes are returned, and those whose customers are all in a fifth
    as many of them already are left out.
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
def least_through(
    graph: Graph, here: Labels, there: Labels, most: Any, least: Any, node: Any
) -> None:
    """
    Find the least cost, at most ``most``, of a route through each arc from a customer.

    All labels up to the full load must be settled. ``least`` has shape (n, n); arcs
    from the depot are found from ``there``.
    """
    if here.num_settled[node]:
        back = here.settled_cost[node, 0] + graph.reduced[node, 0]
        least[node, 0] = min(most, back)
    if there.num_settled[node]:
        out = graph.reduced[0, node] + there.settled_cost[node, 0]
        least[0, node] = min(most, out)
    for way in range(graph.degrees[node]):
        customer = graph.successors[node, way]
        best = most
        for place in range(here.num_settled[node]):
            reached = here.settled_cost[node, place] + graph.reduced[node, customer]
            if there.num_settled[customer] == 0:
                break
            if reached + there.settled_cost[customer, 0] >= best:
                break
            label = here.settled[node, place]
            shared = graph.shared[node, customer] & here.memory[label]
            for other in range(there.num_settled[customer]):
                total = reached + there.settled_cost[customer, other]
                if total >= best:
                    break
                rest = there.settled[customer, other]
                if there.settled_memory[customer, other] & shared:
                    continue
                if there.load[rest] + here.load[label] > graph.limit:
                    continue
                total += _both_odd(graph, here, there, label, rest)
                best = min(best, total)
        least[node, customer] = best


@compiled()
def complete(graph: Graph, there: Labels) -> Any:
    """
    Return the least cost of a path from each customer back to the depot.

    Shape (limit + 1, n), by the load that is left for the customers that follow.
    """
    n = len(graph.steps)
    paths = np.full((graph.limit + 1, n), FORBIDDEN, np.int64)
    for node in range(1, n):
        for place in range(there.num_settled[node]):
            load = there.load[there.settled[node, place]]
            paths[load, node] = min(paths[load, node], there.settled_cost[node, place])
        for load in range(1, graph.limit + 1):
            paths[load, node] = min(paths[load, node], paths[load - 1, node])
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
