"""
Labels: partial routes from the depot, extended customer by customer.

A label is a path from the depot to a customer. It has a reduced cost, a load in steps
(see :class:`WholeInstance`), an ng-memory (the customers that it must not visit next),
and for each subset-row cut what it has counted since the last penalty. A label is
dropped if another label dominates it. The other label is then at the same customer, has
at most the same load and cost, and can still visit every customer that the first one
can. A label that was compared with the others and not dropped is called settled. Labels
are settled in ascending order of their loads.

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
    "Useful",
    "count_visit",
    "cross",
    "empty_labels",
    "lowest_bit",
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
# In a de Bruijn sequence, all runs of six bits differ. If it is multiplied by a power
# of two, the first six bits of the product tell which power it is.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
for _place in range(64):
    _PLACES[((1 << _place) * int(_DE_BRUIJN) % 2**64) >> 58] = _place


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
    degrees: Any  # (n,) int64: how many these are
    own: Any  # (n,) uint64, see Neighbourhoods
    shared: Any  # (n, n) uint64
    blocked: Any  # (n, n) uint64
    # Words of bits, one bit per subset-row cut: first the cuts with divisor 2, then
    # pairs of words for those with divisor 3. The first word of a pair says whether a
    # number is at least 1, the second one whether it is 2.
    halves: Any  # int64: the number of words for the cuts with divisor 2
    members: Any  # (n, W) uint64: how much a visit to a customer counts
    memories: Any  # (n, W) uint64: the cuts that remember across a customer
    penalties: Any  # (64 · W,) int64: cost each time a cut's count reaches its divisor


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
    odd: Any  # (L, W) uint64: what the cuts have counted since the last penalty
    following: Any  # (L,) int32: the next label of the same pending or free list
    pending: Any  # (limit + 1, n) int32: first label by load and customer, or −1
    counts: Any  # (2,) int64: see _TOP and _FREE
    settled: Any  # (n, K) int32: settled labels, the cheapest first
    settled_cost: Any  # (n, K) int64
    settled_memory: Any  # (n, K) uint64
    settled_odd: Any  # (n, K, W) uint64
    num_settled: Any  # (n,) int64


class Useful(NamedTuple):
    """Which labels are useful: they have some load and can be completed to a route."""

    first: Any  # int64: the smallest load
    last: Any  # int64: the largest load
    completions: Any  # (limit + 1, n) int64: see `joining.complete`
    most: Any  # int64: the largest reduced cost of a route


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
        settled_odd=np.empty((n, per_node, words), np.uint64),
        num_settled=np.zeros(n, np.int64),
    )


@compiled()
def lowest_bit(word: Any) -> Any:
    """Return the place of the lowest bit that is set in a 64-bit word."""
    lowest = word & (~word + np.uint64(1))
    return _PLACES[(lowest * _DE_BRUIJN) >> np.uint64(58)]


@compiled()
def penalty(cuts: Any, word: Any, penalties: Any) -> Any:
    """
    Return the sum of the penalties of some subset-row cuts.

    They are the cuts whose bits are set in ``cuts``, which is word number ``word`` of
    the bits of all cuts.
    """
    total = np.int64(0)
    while cuts != np.uint64(0):
        total += penalties[64 * word + lowest_bit(cuts)]
        cuts &= cuts - np.uint64(1)
    return total


@compiled()
def count_visit(
    graph: Graph, before: Any, label: Any, after: Any, new: Any, customer: Any
) -> Any:
    """
    Write what the cuts have counted after one more visit; return the penalties.

    The counts are read from ``before[label]`` and written to ``after[new]``.
    """
    total = np.int64(0)
    for word in range(graph.halves):
        odd = before[label, word] & graph.memories[customer, word]
        member = graph.members[customer, word]
        if odd & member:
            total += penalty(odd & member, word, graph.penalties)
        after[new, word] = odd ^ member
    for word in range(graph.halves, before.shape[1], 2):
        memory = graph.memories[customer, word]
        some, two = before[label, word] & memory, before[label, word + 1] & memory
        counts, twice = graph.members[customer, word], graph.members[customer, word + 1]
        full = (two & counts) | (some & twice)
        if full:
            total += penalty(full, word, graph.penalties)
        once = counts & ~twice
        after[new, word] = (some & ~counts) | (once & ~two) | (twice & (two | ~some))
        after[new, word + 1] = (two & ~counts) | (once & some & ~two) | (twice & ~some)
    return total


@compiled()
def _less_penalties(
    graph: Graph, labels: Labels, node: Any, place: Any, label: Any, spare: Any
) -> Any:
    """
    Subtract the penalties of the cuts that a rival has counted more for than a label.

    The rival is settled at this place of its customer's list. It ends as soon as the
    result is negative.
    """
    rival, odd = labels.settled_odd, labels.odd
    for word in range(graph.halves):
        cuts = rival[node, place, word] & ~odd[label, word]
        while cuts != np.uint64(0) and spare >= 0:
            spare -= graph.penalties[64 * word + lowest_bit(cuts)]
            cuts &= cuts - np.uint64(1)
        if spare < 0:
            return spare
    for word in range(graph.halves, odd.shape[1], 2):
        cuts = rival[node, place, word] & ~odd[label, word]
        cuts |= rival[node, place, word + 1] & ~odd[label, word + 1]
        while cuts != np.uint64(0) and spare >= 0:
            spare -= graph.penalties[64 * word + lowest_bit(cuts)]
            cuts &= cuts - np.uint64(1)
        if spare < 0:
            return spare
    return spare


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
    graph: Graph,
    labels: Labels,
    position: Any,
    last: Any,
    mode: Any,
    useful: Useful,
    work: Any,
) -> Any:
    """
    Settle pending labels, and return the position to continue from.

    A position is load · n + customer, where n is the number of locations. It stands for
    all pending labels with this load and customer. Positions from ``position`` up to,
    but not including, ``last`` are settled, and their labels are extended to those that
    are ``useful``. ``mode`` is BY_COST, WITHOUT_CUTS or EXACT, the modes of dominance.
    The call ends after about ``work`` comparisons of labels. Return ``last`` if all are
    settled, and −1 if the arrays are full.
    """
    n = len(graph.steps)
    waiting = np.empty(len(labels.cost), np.int32)
    while position < last and work > 0:
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
            if load < useful.last and not _extend(graph, labels, label, mode, useful):
                return -1
        position += 1
    return position


@compiled()
def cross(graph: Graph, labels: Labels, node: Any, mode: Any, useful: Useful) -> Any:
    """
    Extend all settled labels of a customer to labels that are useful.

    Return False if there is no room.
    """
    for place in range(labels.num_settled[node]):
        if not _extend(graph, labels, labels.settled[node, place], mode, useful):
            return False
    return True


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
            spare = _less_penalties(graph, labels, node, place, label, spare)
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
        for word in range(labels.odd.shape[1]):
            labels.settled_odd[node, place, word] = labels.settled_odd[
                node, place - 1, word
            ]
    labels.settled[node, low] = label
    labels.settled_cost[node, low] = cost
    labels.settled_memory[node, low] = labels.memory[label]
    labels.settled_odd[node, low] = labels.odd[label]
    labels.num_settled[node] = last + 1


@compiled()
def _extend(graph: Graph, labels: Labels, label: Any, mode: Any, useful: Useful) -> Any:
    """
    Add the useful labels that visit one more customer than ``label``.

    Return False if the arrays are full.
    """
    node, load, memory = labels.node[label], labels.load[label], labels.memory[label]
    for place in range(graph.degrees[node]):
        customer = graph.successors[node, place]
        reached = load + graph.steps[customer]
        if reached > useful.last or reached < useful.first:
            continue
        if memory & graph.blocked[node, customer]:
            continue
        cost = labels.cost[label] + graph.reduced[node, customer]
        most = useful.most - useful.completions[graph.limit - reached, customer]
        if cost > most:
            continue
        new = labels.counts[_FREE]
        if new < 0:
            new = labels.counts[_TOP]
            if new == len(labels.cost):
                return False
        following = labels.following[new]
        cost += count_visit(graph, labels.odd, label, labels.odd, new, customer)
        if cost > most:
            continue
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
