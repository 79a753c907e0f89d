"""
Branch and cut over all routes that a better plan can contain.

Each node of the tree has a list of routes. Its linear program begins with a few of
them; the others are priced one by one, and added if their reduced cost is negative.
Routes whose reduced cost exceeds the gap are dropped. When cuts hardly raise the bound
any more, the node branches on a pair of customers: they are in the same tour in one
branch, and in different tours in the other (Ryan and Foster).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.bound.labelling import Graph, count_visit
from fixedfleet.bound.master import DUAL_UNIT, Master, pad, unpad
from fixedfleet.bound.pricing import OutOfTimeError
from fixedfleet.bound.subset_rows import SubsetRow
from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fixedfleet.bound.master import Cut, Route
    from fixedfleet.bound.pricing import Pricer

__all__ = ["RoutePool", "walk"]

_FIRST = 600  # routes in the first linear program
_ENTERING = 300  # most routes that one pricing adds to a linear program
_KEPT = 10  # routes per customer that a purge leaves in a linear program
_ROUNDS = 40  # most rounds of cuts in one node
_STALLED = 3  # a node branches after this many rounds of little gain in a row
_GAIN = 1e-4  # a round gains little if the bound rises by less than this share
_CANDIDATES = 6  # most pairs of customers that strong branching tries
# A linear program counts as solved if its value exceeds the bound of the duals by less
# than this share of the gap.
_CONVERGED = 0.02
_NEGLIGIBLE = 1e-9  # a reduced cost below this share of the cost counts as zero
_ARTIFICIAL = 20  # an artificial column costs as much as this many plans


@dataclass(order=True)
class Node:
    """
    A node of the tree: its routes, and a lower bound on plans that use only these.
    """

    bound: int
    number: int
    routes: NDArray[np.int16] = field(compare=False)  # (R, L), see `master.pad`
    first: NDArray[np.bool_] = field(compare=False)  # (R,): in the first program
    cuts: list[Cut] = field(compare=False)


class RoutePool:
    """
    A branch-and-cut tree over an enumerated pool of routes.

    Parameters
    ----------
    pricer
        Turns duals into reduced costs, and checks the time limit.
    routes
        All routes that a plan within the goal can contain, as rows.
    master
        The solved master of the root. The tree begins with its cuts. Its duals select
        the routes of the first linear program.
    bound
        A lower bound, in units, on the cost of all plans within the goal.
    goal
        A plan counts as better than the best known plan, or "within the goal", if its
        cost, in units, is at most this.
    found
        Called with the tours of a plan within the goal; returns the new goal, or the
        same goal if the plan is not better than the best known plan.

    Attributes
    ----------
    bound
        The present lower bound, in units, on the cost of all plans within the goal. If
        it is above the goal, there is no such plan.
    stuck
        Whether the linear program of a node has an integral solution that is not a
        better plan: its exact cost in units is above the goal, or its true cost is not
        less than that of the best known plan. The search then ends with the present
        bound.
    """

    def __init__(
        self,
        pricer: Pricer,
        routes: NDArray[np.int16],
        master: Master,
        bound: int,
        goal: int,
        found: Callable[[list[Route]], int],
    ) -> None:
        self._pricer = pricer
        self._whole = pricer.whole
        self._goal = goal
        self._found = found
        self._numbers = count()
        self.bound = bound
        self.stuck = False
        everywhere = np.ones(self._whole.size, bool)
        cuts: list[Cut] = [
            cut._replace(memory=everywhere) if isinstance(cut, SubsetRow) else cut
            for cut in master.cuts
        ]
        reduced = pricer.reduce(master.cuts, master.solution.duals)
        costs = walk(reduced.graph, routes)
        first = np.argsort(np.argsort(costs, kind="stable")) < _FIRST
        self._open = [Node(bound, next(self._numbers), routes, first, cuts)]

    def search(self) -> Iterator[None]:
        """Search the tree; yield whenever the bound or the plan may have improved."""
        while self._open and not self.stuck:
            node = heapq.heappop(self._open)
            try:
                branches = self._branch(node) if node.bound <= self._goal else []
            except OutOfTimeError:
                heapq.heappush(self._open, node)
                self._note()
                raise
            for branch in branches:
                heapq.heappush(self._open, branch)
            self._note()
            yield

    def _note(self) -> None:
        least = min((node.bound for node in self._open), default=self._goal + 1)
        self.bound = max(self.bound, min(least, self._goal + 1))

    def _branch(self, node: Node) -> list[Node]:
        """
        Return the nodes that replace a node in the tree.

        The list is empty if no better plan uses only the routes of this node. If the
        linear program has an integral solution, the node itself is returned.
        """
        master = self._tighten(node, _ROUNDS)
        if node.bound > self._goal:
            return []
        pairs = self._pairs(master)
        if not pairs:
            self._price(node, master, 0.0)
            pairs = self._pairs(master)
        if node.bound > self._goal:
            return []
        if pairs:
            return self._strongest(node, master, pairs)
        # Each value is nearly 0 or nearly 1. The plan has the routes of the latter.
        support = zip(*master.support(), strict=True)
        routes = [route for route, value in support if value > 0.5]
        cost = self._whole.cost_of(routes)
        if master.artificial() > 1e-6 or cost > self._goal:
            self.stuck = True
        else:
            before, self._goal = self._goal, self._found(routes)
            self.stuck = self._goal == before
        return [node]

    def _tighten(self, node: Node, rounds: int) -> Master:
        """
        Raise the bound of a node by rounds of cuts, and return its master.

        There are at most ``rounds`` rounds. Routes of the node whose reduced cost is
        too large are dropped.
        """
        most = _ARTIFICIAL * max(self._goal / DUAL_UNIT, 1.0)
        master = Master(self._whole, most, once=True)
        master.add_cuts(node.cuts)
        master.add_routes(unpad(node.routes[node.first]))
        stalled = 0
        for number in range(rounds):
            before = node.bound
            self._price(node, master)
            # Not while pricing, which could delete and add the same routes forever.
            master.purge(_KEPT * self._whole.size)
            if node.bound > self._goal:
                break
            little = node.bound - before < _GAIN * self._goal
            stalled = stalled + 1 if little else 0
            if stalled == _STALLED or number == rounds - 1:
                break
            master.drop_slack_cuts()
            if not master.separate(number, limited=False):
                break
        node.cuts = master.cuts
        return master

    def _price(self, node: Node, master: Master, allowed: float = _CONVERGED) -> None:
        """
        Solve the linear program over all routes of a node by column generation.

        It ends when the program's value exceeds the bound of the duals by less than
        the share ``allowed`` of the gap. This raises the node's bound. Routes whose
        reduced cost is too large for a plan within the goal are dropped.
        """
        while True:
            self._pricer.check_time()
            value, _, duals = master.solve()
            reduced = self._pricer.reduce(master.cuts, duals)
            fleet = min(0, round(duals[self._whole.size - 1] * DUAL_UNIT))
            costs = walk(reduced.graph, node.routes)
            least = int(costs.min(initial=0))
            bound = self._pricer.bound(reduced, least)
            if value * DUAL_UNIT - bound < allowed * max(self._goal - bound, 0):
                break
            (entering,) = np.nonzero(costs < fleet - _NEGLIGIBLE * self._goal)
            entering = entering[np.argsort(costs[entering], kind="stable")]
            if not master.add_routes(unpad(node.routes[entering[:_ENTERING]])):
                break
        node.bound = max(node.bound, bound)
        spare = self._pricer.spare(reduced, least, self._goal)
        kept = costs <= spare
        near = fleet + 0.3 * (spare - fleet)
        node.routes, node.first = node.routes[kept], (costs <= near)[kept]

    def _pairs(self, master: Master) -> list[tuple[int, int]]:
        """
        Return pairs of customers to branch on (Ryan and Foster), the best first.

        For each pair, the values of the routes that serve both customers are added up.
        The sum must be strictly between 0 and 1. Pairs with a sum close to 0.5 come
        first.
        """
        routes, values = master.support()
        together = np.zeros((self._whole.size, self._whole.size))
        for route, value in zip(routes, values, strict=True):
            together[np.ix_(route, route)] += value
        pairs = np.argwhere(np.triu((together > 1e-6) & (together < 1 - 1e-6), 1))
        shares = together[pairs[:, 0], pairs[:, 1]]
        order = np.argsort(np.abs(shares - 0.5), kind="stable")
        return [(int(i), int(j)) for i, j in pairs[order[:_CANDIDATES]]]

    def _strongest(
        self, node: Node, master: Master, pairs: list[tuple[int, int]]
    ) -> list[Node]:
        """
        Try to branch on each pair; return the two branches that raise the bounds most.

        A branch whose bound exceeds the goal is left out. ``master`` is the solved
        linear program of the node. It serves all branches, because a new program would
        start without a basis.
        """
        best, chosen, basis = -1.0, [node], master.basis
        for i, j in pairs:
            branches = []
            allowed = _allowed(node.routes, i, j)
            for side, kept in enumerate(allowed):
                branch = Node(
                    node.bound,
                    next(self._numbers),
                    node.routes[kept],
                    node.first[kept],
                    node.cuts,
                )
                forbidden = ~_allowed(pad(master.routes), i, j)[side]
                master.forbid(forbidden, basis)
                self._price(branch, master)
                branches.append(branch)
            gains = [min(b.bound, self._goal + 1) - node.bound for b in branches]
            score = max(min(gains), 1) * float(max(*gains, 1))
            if score > best:
                best, chosen = score, branches
            if min(branch.bound for branch in branches) > self._goal:
                break
        return [branch for branch in chosen if branch.bound <= self._goal]


def _allowed(
    routes: NDArray[np.int16], i: int, j: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """
    Return two masks of routes, which have one branch on the customers i and j each.

    The first has the routes that serve both or neither; the second, those that do not
    serve both.
    """
    has_i, has_j = ((routes == customer).any(axis=1) for customer in (i, j))
    return has_i == has_j, ~(has_i & has_j)


@compiled()
def walk(graph: Graph, routes: Any) -> Any:
    """
    Return the reduced cost of each route, shape (R,).

    ``routes`` has shape (R, L): the depot, customers, and zeros to the end.
    """
    costs = np.zeros(len(routes), np.int64)
    odd = np.zeros((1, graph.members.shape[1]), np.uint64)
    for route in range(len(routes)):
        odd[:] = 0
        total, before = np.int64(0), 0
        for place in range(1, routes.shape[1]):
            stop = routes[route, place]
            total += graph.reduced[before, stop]
            if stop == 0:
                break
            total += count_visit(graph, odd, 0, odd, 0, stop)
            before = stop
        costs[route] = total
    return costs
