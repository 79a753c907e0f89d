"""
Labels: partial routes from the depot, extended customer by customer.

A label is a path from the depot to a customer. It has a reduced cost, a load in steps
(see :class:`WholeInstance`), an ng-memory (the customers that it must not visit next),
and for each subset-row cut whether it has visited an odd number of the cut's customers.
A label is dropped if another label dominates it. The other label is then at the same
customer, has at most the same load and cost, and can still visit every customer that
the first one can. A label that was compared with the others and not dropped is called
settled. Labels are settled in ascending order of their loads.

The compiled loop returns after some work and can be continued, so that the caller can
check the time limit in between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled

__all__ = [
    "BY_COST",
    "EXACT",
    "FORBIDDEN",
    "WITHOUT_CUTS",
    "Graph",
    "Labels",
    "empty_labels",
    "penalty",
    "settle",
    "start_labels",
]

FORBIDDEN = 1 << 60  # the reduced cost of an arc that no route may use
# The modes of dominance. In the first mode, labels are compared by load and cost only;
# in the second, also by ng-memory; in the third, also by subset-row cuts. Only pricing
# in the third mode is exact.
BY_COST, WITHOUT_CUTS, EXACT = range(3)
_TOP, _FREE = 0, 1  # entries of Labels.counts: labels used, and the first freed label
_GLANCE = 8  # a new label is at once compared with this many settled labels


class Graph(NamedTuple):
    """
    The arcs, demands and cuts for labelling; all costs are whole numbers.

    In the shapes, n is the number of locations, and W the number of 64-bit words that
    have one bit per subset-row cut.
    """

    steps: Any  # (n,) int64: demand in steps
    limit: Any  # int64: capacity in steps
    reduced: Any  # (n, n) int64: reduced cost of each arc
    successors: Any  # (n, n) int32: customers that may follow, then zeros
    degrees: Any  # (n,) int64: number of these customers
    own: Any  # (n,) uint64: see Neighbourhoods
    shared: Any  # (n, n) uint64: see Neighbourhoods
    blocked: Any  # (n, n) uint64: see Neighbourhoods
    members: Any  # (n, W) uint64: the subset-row cuts that contain a customer
    memories: Any  # (n, W) uint64: the subset-row cuts whose memory contains it
    penalties: Any  # (64 · W,) int64: cost of each second visit to a cut's customers


class Labels(NamedTuple):
    """
    All labels, and for each customer the list of its settled labels.

    In the shapes, L is the maximum number of labels, and K that of settled labels per
    customer. The other letters are those of :class:`Graph`.
    """

    cost: Any  # (L,) int64: reduced cost
    load: Any  # (L,) int32: load in steps
    node: Any  # (L,) int16: the last customer
    parent: Any  # (L,) int32: the label before; −1 for the first customer of a route
    memory: Any  # (L,) uint64: the ng-memory, see Neighbourhoods
    odd: Any  # (L, W) uint64: subset-row cuts with an odd number of visits
    following: Any  # (L,) int32: the next label of the same pending or free list
    pending: Any  # (limit + 1, n) int32: first label by load and customer, or −1
    counts: Any  # (2,) int64: see _TOP and _FREE
    settled: Any  # (n, K) int32: settled labels, the cheapest first
    settled_cost: Any  # (n, K) int64
    settled_memory: Any  # (n, K) uint64
    num_settled: Any  # (n,) int64


def empty_labels(graph: Graph, labels: int, per_node: int) -> Labels:
    """
    Return arrays with space for ``labels`` labels, which hold none yet.

    Each customer has space for ``per_node`` settled labels.
    """
    n, words = graph.members.shape
    return Labels(
        cost=np.empty(labels, np.int64),
        load=np.empty(labels, np.int32),
        node=np.empty(labels, np.int16),
        parent=np.empty(labels, np.int32),
        memory=np.empty(labels, np.uint64),
        odd=np.empty((labels, words), np.uint64),
        following=np.empty(labels, np.int32),
        pending=np.full((graph.limit + 1, n), -1, np.int32),
        counts=np.array([0, -1]),
        settled=np.empty((n, per_node), np.int32),
        settled_cost=np.empty((n, per_node), np.int64),
        settled_memory=np.empty((n, per_node), np.uint64),
        num_settled=np.zeros(n, np.int64),
    )


@compiled()
def penalty(cuts: Any, word: Any, penalties: Any) -> Any:
    """
    Return the sum of the penalties of some subset-row cuts.

    They are the cuts whose bits are set in ``cuts``, which is word number ``word`` of
    the bits of all cuts.
    """
    total = np.int64(0)
    place = 64 * word
    while cuts != np.uint64(0):
        if cuts & np.uint64(0xFF) == np.uint64(0):
            cuts >>= np.uint64(8)
            place += 8
            continue
        if cuts & np.uint64(1):
            total += penalties[place]
        cuts >>= np.uint64(1)
        place += 1
    return total


@compiled()
def start_labels(graph: Graph, labels: Labels) -> None:
    """Add one label for each customer that a route may visit first."""
    for place in range(graph.degrees[0]):
        customer = graph.successors[0, place]
        new = labels.counts[_TOP]
        labels.counts[_TOP] += 1
        labels.cost[new] = graph.reduced[0, customer]
        labels.load[new] = graph.steps[customer]
        labels.node[new] = customer
        labels.parent[new] = -1
        labels.memory[new] = graph.own[customer]
        labels.odd[new] = graph.members[customer]
        labels.following[new] = labels.pending[graph.steps[customer], customer]
        labels.pending[graph.steps[customer], customer] = new


@compiled()
def settle(
    graph: Graph, labels: Labels, position: Any, extended: Any, mode: Any, work: Any
) -> Any:
    """
    Settle pending labels, and return the position to continue from.

    A position is load · n + customer, and stands for all pending labels with this load
    and customer; the first is ``position``. Labels with a load of at most ``extended``
    are also extended. ``mode`` is BY_COST, WITHOUT_CUTS or EXACT. The call ends after
    about ``work`` comparisons of labels. Return −1 if the arrays are full.
    """
    n = len(graph.steps)
    waiting = np.empty(len(labels.cost), np.int32)
    while position < (graph.limit + 1) * n and work > 0:
        load, node = divmod(position, n)
        count = 0
        label = labels.pending[load, node]
        while label >= 0:
            waiting[count] = label
            count += 1
            label = labels.following[label]
        if count > 1:
            waiting[:count] = waiting[np.argsort(labels.cost[waiting[:count]])]
        for place in range(count):
            label = waiting[place]
            known = labels.num_settled[node]
            work -= 1 + known // 16
            if _dominated(graph, labels, label, node, mode, known):
                labels.following[label] = labels.counts[_FREE]
                labels.counts[_FREE] = label
                continue
            if known == labels.settled.shape[1]:
                return -1
            _insert(labels, label, node)
            if load <= extended and not _extend(graph, labels, label, mode):
                return -1
        position += 1
    return position


@compiled()
def _dominated(
    graph: Graph, labels: Labels, label: Any, node: Any, mode: Any, most: Any
) -> Any:
    """
    Return whether one of the ``most`` cheapest settled labels dominates a label.

    ``node`` is the last customer of the label. ``mode`` says what is compared: only the
    cost (BY_COST), also the ng-memory (WITHOUT_CUTS), or also the cuts (EXACT).
    """
    cost, others = labels.cost[label], ~labels.memory[label]
    for place in range(most):
        spare = cost - labels.settled_cost[node, place]
        if spare < 0:
            return False
        if mode == BY_COST:
            return True
        if labels.settled_memory[node, place] & others != np.uint64(0):
            continue
        if mode == EXACT:
            rival = labels.settled[node, place]
            for word in range(labels.odd.shape[1]):
                cuts = labels.odd[rival, word] & ~labels.odd[label, word]
                if cuts != np.uint64(0):
                    spare -= penalty(cuts, word, graph.penalties)
                    if spare < 0:
                        break
        if spare >= 0:
            return True
    return False


@compiled()
def _insert(labels: Labels, label: Any, node: Any) -> None:
    """Insert a label into the settled labels of its customer, sorted by cost."""
    cost, low, high = labels.cost[label], 0, labels.num_settled[node]
    last = high
    while low < high:
        middle = (low + high) // 2
        if labels.settled_cost[node, middle] <= cost:
            low = middle + 1
        else:
            high = middle
    for place in range(last, low, -1):
        labels.settled[node, place] = labels.settled[node, place - 1]
        labels.settled_cost[node, place] = labels.settled_cost[node, place - 1]
        labels.settled_memory[node, place] = labels.settled_memory[node, place - 1]
    labels.settled[node, low] = label
    labels.settled_cost[node, low] = cost
    labels.settled_memory[node, low] = labels.memory[label]
    labels.num_settled[node] = last + 1


@compiled()
def _extend(graph: Graph, labels: Labels, label: Any, mode: Any) -> Any:
    """
    Add the labels that visit one more customer than ``label``.

    Return False if the arrays are full.
    """
    node, load, memory = labels.node[label], labels.load[label], labels.memory[label]
    for place in range(graph.degrees[node]):
        customer = graph.successors[node, place]
        reached = load + graph.steps[customer]
        if reached > graph.limit or memory & graph.blocked[node, customer]:
            continue
        new = labels.counts[_FREE]
        if new < 0:
            new = labels.counts[_TOP]
            if new == len(labels.cost):
                return False
        following = labels.following[new]
        cost = labels.cost[label] + graph.reduced[node, customer]
        for word in range(labels.odd.shape[1]):
            odd = labels.odd[label, word] & graph.memories[customer, word]
            member = graph.members[customer, word]
            if odd & member:
                cost += penalty(odd & member, word, graph.penalties)
            labels.odd[new, word] = odd ^ member
        labels.cost[new] = cost
        labels.memory[new] = memory & graph.shared[node, customer] | graph.own[customer]
        known = min(labels.num_settled[customer], _GLANCE)
        if _dominated(graph, labels, new, customer, mode, known):
            continue
        if labels.counts[_FREE] < 0:
            labels.counts[_TOP] += 1
        else:
            labels.counts[_FREE] = following
        labels.load[new] = reached
        labels.node[new] = customer
        labels.parent[new] = label
        labels.following[new] = labels.pending[reached, customer]
        labels.pending[reached, customer] = new
    return True
