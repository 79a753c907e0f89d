"""
Enumerate all routes that a better plan can contain.

In a plan that costs at most the goal, the reduced cost of a route is at most the gap
between bound and goal. Paths start at the depot and visit no customer twice. If
distances are symmetric, paths with up to half of the load are joined to routes. Among
the paths that visit the same customers and end at the same one, only the shortest is
kept. Among the routes that visit the same customers, only the shortest is kept. A path
is extended to a customer only if some label from this customer to the depot completes
it to a route whose reduced cost is at most the gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.bound.joining import both_odd, cheapest_labels
from fixedfleet.bound.labelling import Graph, Labels, count_visit
from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.bound.pricing import Pricer, Reduced

__all__ = ["Room", "enumerate_routes"]

# The numbers of paths extended, and joined, between two checks of the time limit.
_SLICE, _JOINED = 20_000, 2_000
_TRIES = 100  # the most labels whose penalties are compared to complete a path
_PATHS, _ROUTES = 0, 1  # positions of the two numbers in Paths.counts


class Room(NamedTuple):
    """The maximum numbers of paths and routes; with more, the enumeration gives up."""

    paths: int
    routes: int


class Given(NamedTuple):
    """
    What the enumeration reads and does not change.

    The letters in the shapes are those of :class:`Graph` and :class:`Labels`.
    """

    graph: Graph
    costs: Any  # (n, n) int64: cost of each arc in units
    demands: Any  # (n,) int64
    capacity: Any  # int64
    most: Any  # int64: the largest reduced cost of a route
    labels: Labels  # the labels towards the depot
    loads: Any  # (n, K) int32: the loads of the settled labels
    cheapest: Any  # (limit + 1, n) int64: see `joining.cheapest_labels`


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
    rests: Any  # (R,) int32: the path on which a route returns to the depot, or −1
    route_visited: Any  # (R, V) uint64: the customers of each route, as bits
    route_cost: Any  # (R,) int64: cost of each route in units
    route_table: Any  # (S,) int32: hash table of routes by customers
    counts: Any  # (2,) int64: numbers of paths and routes so far


class Halves(NamedTuple):
    """
    The paths of at most half the load, sorted by last customer, load and reduced cost.

    Copies in this order, because reading them one after the other is much faster.
    """

    path: Any  # (H,) int32: the index in Paths
    reduced: Any  # (H,) int64, as in Paths
    visited: Any  # (H, V) uint64, as in Paths
    starts: Any  # (n · (limit + 1) + 1,): where each customer and load begins


def enumerate_routes(
    pricer: Pricer,
    reduced: Reduced,
    labels: Labels,
    most: int,
    room: Room,
) -> NDArray[np.int16] | None:
    """
    Return all routes with a reduced cost of at most ``most``, as rows of an array.

    A row has the depot, customers, and zeros to the end. ``labels`` are the labels
    towards the depot, settled up to the full load. Return None if there are more paths
    or routes than ``room`` allows.
    """
    whole, graph = pricer.whole, reduced.graph
    given = Given(
        graph=graph,
        costs=whole.costs,
        demands=whole.demands,
        capacity=whole.capacity,
        most=most,
        labels=labels,
        loads=_settled_loads(labels),
        cheapest=cheapest_labels(graph, labels),
    )
    paths = _empty_paths(graph, *room)
    if not _start(given, paths):
        return None
    # First, paths of at most half the load. Then, paths with one customer more, which
    # are joined to the first ones. In an asymmetric graph, which has no paths that can
    # be used in both directions, paths are extended up to the full load.
    half = whole.limit // 2 if whole.symmetric else whole.limit
    position = 0
    while 0 <= position < paths.counts[_PATHS]:
        pricer.check_time()
        position = _extend(given, paths, 0, half, position, position + _SLICE)
    number = paths.counts[_PATHS]  # of the first paths
    if position >= 0 and half < whole.limit:
        position = 0
        while 0 <= position < number:
            pricer.check_time()
            end = min(position + _SLICE, number)
            position = _extend(given, paths, half + 1, whole.limit, position, end)
    if position < 0:
        return None
    halves = _sort_halves(graph, paths, number)
    for begin in range(number, paths.counts[_PATHS], _JOINED):
        pricer.check_time()
        end = min(begin + _JOINED, paths.counts[_PATHS])
        if not _join(given, paths, halves, begin, end):
            return None
    rows: NDArray[np.int16] = _unpack(paths)
    return rows


def _settled_loads(labels: Labels) -> NDArray[np.int32]:
    """Return the loads of the settled labels, in the order of ``labels.settled``."""
    loads = np.zeros(labels.settled.shape, np.int32)
    for customer, number in enumerate(labels.num_settled):
        loads[customer, :number] = labels.load[labels.settled[customer, :number]]
    return loads


def _sort_halves(graph: Graph, paths: Paths, number: int) -> Halves:
    """Return the first ``number`` paths, which have at most half the load, sorted."""
    groups = paths.node[:number].astype(np.int64) * (graph.limit + 1)
    groups += paths.steps[:number]
    order = np.lexsort((paths.reduced[:number], groups)).astype(np.int32)
    every = np.arange(len(graph.steps) * (graph.limit + 1) + 1)
    starts = np.searchsorted(groups[order], every)
    return Halves(order, paths.reduced[order], paths.visited[order], starts)


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
        rests=np.empty(routes, np.int32),
        route_visited=np.empty((routes, n // 64 + 1), np.uint64),
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
def _same(visited: Any, one: Any, other: Any) -> Any:
    for word in range(visited.shape[1]):
        if visited[one, word] != visited[other, word]:
            return False
    return True


@compiled()
def _start(given: Given, paths: Paths) -> Any:
    """
    Add the paths that consist of the depot and one customer.

    Return False if there are more paths than allowed.
    """
    graph = given.graph
    for way in range(graph.degrees[0]):
        customer = graph.successors[0, way]
        reduced = graph.reduced[0, customer]
        if reduced + given.cheapest[graph.limit, customer] > given.most:
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
            given.costs[0, customer],
            given.demands[customer],
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
    while kept >= 0 and not (
        paths.node[kept] == node and _same(paths.visited, kept, new)
    ):
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
def _close(given: Given, paths: Paths, path: Any) -> Any:
    """
    Turn the path with index ``path`` into a route by returning to the depot.

    If the reduced cost of the route exceeds ``given.most``, it is not stored. Return
    False if there are more routes than allowed.
    """
    node = paths.node[path]
    if paths.reduced[path] + given.graph.reduced[node, 0] > given.most:
        return True
    return _keep_route(paths, path, -1, paths.cost[path] + given.costs[node, 0])


@compiled()
def _keep_route(paths: Paths, path: Any, rest: Any, cost: Any) -> Any:
    """
    Keep the route along one path and back along another, unless a kept one is as short.

    Only routes through the same customers are compared. Return False if there are more
    routes than allowed.
    """
    new = paths.counts[_ROUTES]
    if new == len(paths.routes):
        return False
    for word in range(paths.visited.shape[1]):
        paths.route_visited[new, word] = paths.visited[path, word]
        if rest >= 0:
            paths.route_visited[new, word] |= paths.visited[rest, word]
    place = _hash(paths.route_visited[new], 0, len(paths.route_table))
    route = paths.route_table[place]
    while route >= 0 and not _same(paths.route_visited, route, new):
        place = (place + 1) & (len(paths.route_table) - 1)
        route = paths.route_table[place]
    if route < 0:
        route = new
        paths.route_table[place] = new
        paths.counts[_ROUTES] += 1
    elif paths.route_cost[route] <= cost:
        return True
    paths.routes[route], paths.rests[route] = path, rest
    paths.route_cost[route] = cost
    return True


@compiled()
def _join(given: Given, paths: Paths, halves: Halves, first: Any, last: Any) -> Any:
    """
    Make routes of paths: directly back to the depot, or along one of ``halves``.

    The paths have the indices from ``first`` up to, but not including, ``last``. Return
    False if there are more routes than allowed.
    """
    graph = given.graph
    for path in range(first, last):
        if not _close(given, paths, path):
            return False
        node, room = paths.node[path], graph.limit - paths.steps[path]
        for way in range(graph.degrees[node]):
            customer = graph.successors[node, way]
            spare = given.most - paths.reduced[path] - graph.reduced[node, customer]
            if spare < given.cheapest[room, customer]:
                continue
            if not _can_end(given, paths, path, customer, spare):
                continue
            group = customer * (graph.limit + 1)
            for steps in range(1, room + 1):
                begin = halves.starts[group + steps]
                for place in range(begin, halves.starts[group + steps + 1]):
                    left = spare - halves.reduced[place]
                    if left < 0:
                        break
                    if _overlap(paths, path, halves, place):
                        continue
                    rest = halves.path[place]
                    if paths.load[path] + paths.load[rest] > given.capacity:
                        continue
                    if left < both_odd(graph, paths, paths, path, rest):
                        continue
                    cost = paths.cost[path] + given.costs[node, customer]
                    if not _keep_route(paths, path, rest, cost + paths.cost[rest]):
                        return False
    return True


@compiled()
def _overlap(paths: Paths, path: Any, halves: Halves, place: Any) -> Any:
    """Return whether a path has a customer in common with one of ``halves``."""
    for word in range(halves.visited.shape[1]):
        if paths.visited[path, word] & halves.visited[place, word]:
            return True
    return False


@compiled()
def _can_end(given: Given, paths: Paths, path: Any, customer: Any, spare: Any) -> Any:
    """
    Return whether a path can return to the depot by way of this customer.

    It can if a label towards the depot, at the customer, fits: the cost of the label
    and the penalties that the two cause together are at most ``spare``.
    """
    graph, labels = given.graph, given.labels
    visited = np.uint64(0)  # as in the memory of labels at this customer
    stop = path
    while stop >= 0:
        visited |= graph.blocked[customer, paths.node[stop]]
        stop = paths.parent[stop]
    room = graph.limit - paths.steps[path]
    tries = _TRIES
    for place in range(labels.num_settled[customer]):
        left = spare - labels.settled_cost[customer, place]
        if left < 0:
            return False
        if given.loads[customer, place] > room:
            continue
        if labels.settled_memory[customer, place] & visited:
            continue
        label = labels.settled[customer, place]
        if left >= both_odd(graph, paths, labels, path, label):
            return True
        tries -= 1
        if tries == 0:  # perhaps a later label would fit
            return True
    return False


@compiled()
def _extend(
    given: Given, paths: Paths, smallest: Any, largest: Any, position: Any, last: Any
) -> Any:
    """
    Close paths to routes, and extend them by one customer.

    The paths have the indices from ``position`` up to, but not including, ``last``. The
    loads of the longer paths are from ``smallest`` to ``largest`` steps. Return the
    index of the path to continue with, or −1 if there are more paths or routes than
    allowed.
    """
    graph = given.graph
    last = min(last, paths.counts[_PATHS])
    while position < last:
        if not _close(given, paths, position):
            return -1
        node = paths.node[position]
        for way in range(graph.degrees[node]):
            customer = graph.successors[node, way]
            steps = paths.steps[position] + graph.steps[customer]
            load = paths.load[position] + given.demands[customer]
            if steps < smallest or steps > largest or load > given.capacity:
                continue
            bit = np.uint64(1) << np.uint64(customer % 64)
            if paths.visited[position, customer // 64] & bit:
                continue
            reduced = paths.reduced[position] + graph.reduced[node, customer]
            spare = given.most - reduced
            if spare < given.cheapest[graph.limit - paths.steps[position], customer]:
                continue
            if not _can_end(given, paths, position, customer, spare):
                continue
            new = paths.counts[_PATHS]
            if new + 1 >= len(paths.cost):
                return -1
            reduced += count_visit(graph, paths.odd, position, paths.odd, new, customer)
            paths.visited[new] = paths.visited[position]
            paths.visited[new, customer // 64] |= bit
            cost = paths.cost[position] + given.costs[node, customer]
            _keep(paths, new, customer, position, reduced, cost, load, steps)
        position += 1
    return position


@compiled()
def _unpack(paths: Paths) -> Any:
    """Return all routes as rows: the depot, customers, and zeros to the end."""
    longest = 0
    for route in range(paths.counts[_ROUTES]):
        length, path, rest = 0, paths.routes[route], paths.rests[route]
        while path >= 0:
            length += 1
            path = paths.parent[path]
        while rest >= 0:
            length += 1
            rest = paths.parent[rest]
        longest = max(longest, length)
    rows = np.zeros((paths.counts[_ROUTES], longest + 2), np.int16)
    for route in range(paths.counts[_ROUTES]):
        place, path = 0, paths.routes[route]
        while path >= 0:
            place += 1
            path = paths.parent[path]
        rest = paths.rests[route]
        after = place
        while rest >= 0:
            after += 1
            rows[route, after] = paths.node[rest]
            rest = paths.parent[rest]
        path = paths.routes[route]
        while path >= 0:
            rows[route, place] = paths.node[path]
            place -= 1
            path = paths.parent[path]
    return rows
