"""
Enumerate all routes that a better plan can contain.

In a plan that costs at most the goal, the reduced cost of a route is at most the gap
between bound and goal. Paths start at the depot and visit no customer twice. Among the
paths that visit the same customers and end at the same one, only the shortest is kept.
Among the routes that visit the same customers, only the shortest is kept. A path is
dropped if its reduced cost exceeds the gap, even with the cheapest way back to the
depot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.bound.joining import complete
from fixedfleet.bound.labelling import Graph, Labels, penalty
from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.bound.pricing import Pricer, Reduced

__all__ = ["Room", "enumerate_routes"]

_SLICE = 20_000  # number of paths extended between two checks of the time limit
_PATHS, _ROUTES = 0, 1  # positions of the two numbers in Paths.counts


class Room(NamedTuple):
    """The maximum numbers of paths and routes; with more, the enumeration gives up."""

    paths: int
    routes: int


class Paths(NamedTuple):
    """Paths from the depot, in the order in which they are found."""

    reduced: Any  # (L,) int64: reduced cost
    cost: Any  # (L,) int64: cost in units
    load: Any  # (L,) int64: demand
    steps: Any  # (L,) int64: demand in steps, see WholeInstance
    node: Any  # (L,) int16: the last customer
    parent: Any  # (L,) int32: the path without the last customer; −1 if there is none
    visited: Any  # (L, V) uint64: the customers of the path, as bits
    odd: Any  # (L, W) uint64: see Labels
    table: Any  # (T,) int32: hash table of paths by customers and last customer
    routes: Any  # (R,) int32: the path of each route
    route_cost: Any  # (R,) int64: cost of each route in units
    route_table: Any  # (S,) int32: hash table of routes by customers
    counts: Any  # (2,) int64: numbers of paths and routes so far


def enumerate_routes(
    pricer: Pricer,
    reduced: Reduced,
    labels: Labels,
    most: int,
    room: Room,
) -> NDArray[np.int16] | None:
    """
    Return all routes with a reduced cost of at most ``most``, as rows of an array.

    A row has the depot, customers, and zeros to the end. ``labels`` are all labels
    towards the depot, settled up to the full capacity. They give the least reduced cost
    with which a path can be completed. Return None if there are more paths or routes
    than ``room`` allows.
    """
    whole, graph = pricer.whole, reduced.graph
    paths = _empty_paths(graph, *room)
    completions = complete(graph, labels)
    limits = (whole.costs, whole.demands, whole.capacity, completions, most)
    if not _start(graph, paths, *limits):
        return None
    position = 0
    while 0 <= position < paths.counts[_PATHS]:
        pricer.check_time()
        position = _extend(graph, paths, *limits, position, _SLICE)
    if position < 0:
        return None
    rows: NDArray[np.int16] = _unpack(paths)
    return rows


def _empty_paths(graph: Graph, paths: int, routes: int) -> Paths:
    n, words = graph.members.shape
    return Paths(
        reduced=np.empty(paths, np.int64),
        cost=np.empty(paths, np.int64),
        load=np.empty(paths, np.int64),
        steps=np.empty(paths, np.int64),
        node=np.empty(paths, np.int16),
        parent=np.empty(paths, np.int32),
        visited=np.empty((paths, n // 64 + 1), np.uint64),
        odd=np.empty((paths, words), np.uint64),
        table=np.full(1 << (2 * paths - 1).bit_length(), -1, np.int32),
        routes=np.empty(routes, np.int32),
        route_cost=np.empty(routes, np.int64),
        route_table=np.full(1 << (2 * routes - 1).bit_length(), -1, np.int32),
        counts=np.zeros(2, np.int64),
    )


@compiled()
def _hash(visited: Any, node: Any, size: Any) -> Any:
    """
    Return the first position to try in a hash table with ``size`` positions.

    The key is a set of customers, as bits in ``visited``, and the last customer,
    ``node``. ``size`` is a power of two.
    """
    value = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)
    for word in visited:
        value = (value ^ word) * np.uint64(0xC2B2AE3D27D4EB4F)
        value ^= value >> np.uint64(29)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(32)
    return np.int64(value & np.uint64(size - 1))


@compiled()
def _same(paths: Paths, one: Any, other: Any) -> Any:
    for word in range(paths.visited.shape[1]):
        if paths.visited[one, word] != paths.visited[other, word]:
            return False
    return True


@compiled()
def _start(
    graph: Graph,
    paths: Paths,
    costs: Any,
    demands: Any,
    capacity: Any,
    completions: Any,
    most: Any,
) -> Any:
    """
    Add the paths that consist of the depot and one customer.

    Return False if there are more paths than allowed. ``costs`` has the cost of each
    arc. ``completions`` is what :func:`complete` returns, and ``most`` is the largest
    reduced cost of a route.
    """
    for way in range(graph.degrees[0]):
        customer = graph.successors[0, way]
        reduced = graph.reduced[0, customer]
        left = graph.limit - graph.steps[customer]
        if reduced + completions[left, customer] > most:
            continue
        new = paths.counts[_PATHS]
        if new + 1 >= len(paths.cost):
            return False
        paths.odd[new] = graph.members[customer]
        paths.visited[new] = np.uint64(0)
        bit = np.uint64(1) << np.uint64(customer % 64)
        paths.visited[new, customer // 64] = bit
        _keep(
            paths,
            new,
            customer,
            -1,
            reduced,
            costs[0, customer],
            demands[customer],
            graph.steps[customer],
        )
    return True


@compiled()
def _keep(
    paths: Paths,
    new: Any,
    node: Any,
    parent: Any,
    reduced: Any,
    cost: Any,
    load: Any,
    steps: Any,
) -> None:
    """
    Store the path at index ``new``, unless an equivalent path is at most as expensive.

    Paths are equivalent if they have the same customers and the same last customer. If
    the stored equivalent path costs more, it is overwritten. ``parent`` is the index of
    the path without the last customer. ``reduced`` is the reduced cost, and ``steps``
    the load in steps; see :class:`WholeInstance`.
    """
    place = _hash(paths.visited[new], node, len(paths.table))
    kept = paths.table[place]
    while kept >= 0 and not (paths.node[kept] == node and _same(paths, kept, new)):
        place = (place + 1) & (len(paths.table) - 1)
        kept = paths.table[place]
    if kept < 0:
        kept = new
        paths.table[place] = new
        paths.counts[_PATHS] += 1
    elif paths.cost[kept] <= cost:
        return
    paths.reduced[kept] = reduced
    paths.cost[kept] = cost
    paths.load[kept] = load
    paths.steps[kept] = steps
    paths.node[kept] = node
    paths.parent[kept] = parent
    paths.odd[kept] = paths.odd[new]


@compiled()
def _close(graph: Graph, paths: Paths, costs: Any, path: Any, most: Any) -> Any:
    """
    Turn the path with index ``path`` into a route by returning to the depot.

    If the reduced cost of the route exceeds ``most``, it is not stored. Return False if
    there are more routes than allowed.
    """
    node = paths.node[path]
    if paths.reduced[path] + graph.reduced[node, 0] > most:
        return True
    cost = paths.cost[path] + costs[node, 0]
    place = _hash(paths.visited[path], 0, len(paths.route_table))
    route = paths.route_table[place]
    while route >= 0 and not _same(paths, paths.routes[route], path):
        place = (place + 1) & (len(paths.route_table) - 1)
        route = paths.route_table[place]
    if route < 0:
        route = paths.counts[_ROUTES]
        if route == len(paths.routes):
            return False
        paths.route_table[place] = route
        paths.counts[_ROUTES] += 1
    elif paths.route_cost[route] <= cost:
        return True
    paths.routes[route] = path
    paths.route_cost[route] = cost
    return True


@compiled()
def _extend(
    graph: Graph,
    paths: Paths,
    costs: Any,
    demands: Any,
    capacity: Any,
    completions: Any,
    most: Any,
    position: Any,
    work: Any,
) -> Any:
    """
    Close the next ``work`` paths to routes, and extend them by one customer.

    The first of these paths has the index ``position``. Return the index of the path to
    continue with, or −1 if there are more paths or routes than allowed. The other
    arguments are those of :func:`_start`.
    """
    last = min(position + work, paths.counts[_PATHS])
    while position < last:
        if not _close(graph, paths, costs, position, most):
            return -1
        node = paths.node[position]
        for way in range(graph.degrees[node]):
            customer = graph.successors[node, way]
            steps = paths.steps[position] + graph.steps[customer]
            load = paths.load[position] + demands[customer]
            if steps > graph.limit or load > capacity:
                continue
            bit = np.uint64(1) << np.uint64(customer % 64)
            if paths.visited[position, customer // 64] & bit:
                continue
            reduced = paths.reduced[position] + graph.reduced[node, customer]
            allowance = most - completions[graph.limit - steps, customer]
            if reduced > allowance:
                continue
            new = paths.counts[_PATHS]
            if new + 1 >= len(paths.cost):
                return -1
            for word in range(paths.odd.shape[1]):
                odd = paths.odd[position, word] & graph.memories[customer, word]
                member = graph.members[customer, word]
                if odd & member:
                    reduced += penalty(odd & member, word, graph.penalties)
                paths.odd[new, word] = odd ^ member
            if reduced > allowance:
                continue
            paths.visited[new] = paths.visited[position]
            paths.visited[new, customer // 64] |= bit
            cost = paths.cost[position] + costs[node, customer]
            _keep(paths, new, customer, position, reduced, cost, load, steps)
        position += 1
    return position


@compiled()
def _unpack(paths: Paths) -> Any:
    """Return all routes as rows: the depot, customers, and zeros to the end."""
    longest = 0
    for route in range(paths.counts[_ROUTES]):
        length, path = 0, paths.routes[route]
        while path >= 0:
            length += 1
            path = paths.parent[path]
        longest = max(longest, length)
    rows = np.zeros((paths.counts[_ROUTES], longest + 2), np.int16)
    for route in range(paths.counts[_ROUTES]):
        place, path = 0, paths.routes[route]
        while path >= 0:
            place += 1
            path = paths.parent[path]
        path = paths.routes[route]
        while path >= 0:
            rows[route, place] = paths.node[path]
            place -= 1
            path = paths.parent[path]
    return rows
