"""
Pricing: find routes of least reduced cost for the duals of the master, and a bound.

The duals are rounded to whole numbers first. Any duals give a valid lower bound: the
sum over all rows of the dual times the right-hand side, except for the row of the
fleet, plus the number of tours times the least reduced cost of a route. The bound has
no rounding errors, because all sums are 64-bit whole numbers.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.bound.capacity_cuts import CapacityCut
from fixedfleet.bound.joining import (
    cheapest_labels,
    complete,
    count_halves,
    find_passable,
    join,
    trace,
)
from fixedfleet.bound.labelling import (
    EXACT,
    FORBIDDEN,
    Graph,
    Labels,
    Useful,
    cross,
    empty_labels,
    settle,
    start_labels,
)
from fixedfleet.bound.master import DUAL_UNIT, unpad
from fixedfleet.bound.neighbourhoods import make_neighbourhoods

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fixedfleet.bound.master import Cut, Route
    from fixedfleet.bound.whole_instance import WholeInstance

__all__ = [
    "Fixed",
    "OutOfTimeError",
    "Priced",
    "Pricer",
    "Reduced",
    "TooManyLabelsError",
]

_NEIGHBOURS = 8  # customers in a neighbourhood of ng-routes
_NEAR = 12  # successors per customer in a faster pricing, which is not exact
_SLICE = 200_000  # work of labelling between two checks of the time limit
_MOST_LABELS, _MOST_PER_NODE = 1 << 22, 1 << 16


class OutOfTimeError(Exception):
    """The time limit is over; raised to end the computation of a bound."""


class TooManyLabelsError(Exception):
    """Pricing needs more labels than the arrays may hold; raised to end it."""


class Reduced(NamedTuple):
    """
    The reduced costs of arcs for given duals, in the units of :class:`WholeInstance`.
    """

    graph: Graph  # for the labels from the depot
    backward: Graph  # for the labels towards the depot
    constant: int  # Σ right side · dual over all rows but that of the fleet


class Priced(NamedTuple):
    """
    The result of pricing: a lower bound in units, and routes.

    The bound is valid only if the mode was EXACT. The routes are sorted, the least
    reduced cost first.
    """

    bound: int
    routes: list[Route]
    least: int  # no route has a smaller reduced cost, if the mode was exact


class Fixed(NamedTuple):
    """
    The result of :meth:`Pricer.fix`: a bound in units, and input for the enumeration.
    """

    bound: int
    spare: int  # the largest reduced cost of a route in a plan within the goal
    labels: tuple[Labels, Labels]  # labels from and towards the depot, up to full load


class Pricer:
    """
    Finds routes of negative reduced cost over the arcs that are still allowed.

    Parameters
    ----------
    whole
        The instance.
    seconds_left
        Returns the remaining time in seconds. It is called while labels are settled;
        when it returns 0 or less, OutOfTimeError is raised.
    """

    def __init__(self, whole: WholeInstance, seconds_left: Callable[[], float]) -> None:
        self.whole = whole
        self.seconds_left = seconds_left
        self.allowed = whole.allowed.copy()
        self.num_labels = 0  # the number of settled labels in the last pricing
        self._neighbourhoods = make_neighbourhoods(whole.costs, _NEIGHBOURS)
        # Sizes of the arrays: labels in total, and settled labels per customer.
        self._room = 1 << 15, 1 << 9

    # From duals to reduced costs

    def reduce(
        self, cuts: list[Cut], duals: NDArray[np.float64], *, near: bool = False
    ) -> Reduced:
        """
        Return the reduced costs of all arcs for duals of the master.

        ``duals`` has the duals of the customers, of the fleet and of the cuts. If it
        has fewer entries, the missing duals of the last cuts are zero. With ``near``,
        a customer has only the _NEAR successors to which the reduced cost is least.
        Pricing is then faster, but not exact.
        """
        n = self.whole.size
        units = np.zeros(n + len(cuts), np.int64)
        units[: len(duals)] = np.rint(duals * DUAL_UNIT)
        customers = np.append(0, units[: n - 1] // 2)
        costs = self.whole.costs - customers[:, None] - customers[None, :]
        constant = 2 * int(customers.sum())
        rows: list[tuple[Any, int]] = []
        for cut, dual in zip(cuts, units[n:].tolist(), strict=True):
            if isinstance(cut, CapacityCut):
                if dual > 0:
                    costs -= dual * (cut.inside[:, None] != cut.inside[None, :])
                    constant += 2 * cut.vehicles * dual
            elif dual < 0:
                rows.append((cut, -dual))
                constant += cut.most * dual
        costs = np.where(self.allowed, costs, FORBIDDEN)
        forward = self._graph(costs, rows, near)
        backward = forward if self.whole.symmetric else self._graph(costs.T, rows, near)
        return Reduced(forward, backward, constant)

    def _graph(
        self, costs: NDArray[np.int64], rows: list[tuple[Any, int]], near: bool
    ) -> Graph:
        n = self.whole.size
        num_thirds = sum(cut.divisor == 3 for cut, _ in rows)
        halves = -(-(len(rows) - num_thirds) // 64)
        words = halves + 2 * -(-num_thirds // 64)
        members = np.zeros((n, words), np.uint64)
        memories = np.zeros((n, words), np.uint64)
        penalties = np.zeros(64 * words, np.int64)
        places = {2: count(), 3: count()}
        for cut, penalty in rows:
            place, bit = divmod(next(places[cut.divisor]), 64)
            word = place if cut.divisor == 2 else halves + 2 * place
            mask = np.uint64(1 << bit)
            members[list(cut.customers), word] |= mask
            memories[cut.memory, word] |= mask
            penalties[64 * word + bit] = penalty
            if cut.twice:
                members[list(cut.twice), word + 1] |= mask
        usable = costs < FORBIDDEN
        usable[:, 0] = False
        degrees = usable.sum(axis=1)
        # Usable customers come first.
        order = np.where(usable, costs, FORBIDDEN) if near else ~usable
        successors = np.argsort(order, axis=1, kind="stable").astype(np.int32)
        if near:
            degrees[1:] = np.minimum(degrees[1:], _NEAR)
        return Graph(
            self.whole.steps,
            self.whole.limit,
            np.ascontiguousarray(costs),
            successors,
            degrees,
            *self._neighbourhoods,
            halves,
            members,
            memories,
            penalties,
        )

    # Labels

    def labels(self, graph: Graph, last: int, mode: int = EXACT) -> Labels:
        """
        Return all settled labels of a graph with a load of at most ``last`` steps.

        ``mode`` is BY_COST, WITHOUT_CUTS or EXACT; see
        :mod:`fixedfleet.bound.labelling`.
        """
        completions = np.zeros((graph.limit + 1, self.whole.size), np.int64)
        useful = Useful(0, last, completions, FORBIDDEN)
        while True:
            labels = empty_labels(graph, *self._room)
            start_labels(graph, labels)
            if self._settle(graph, labels, 0, last, mode, useful):
                return labels
            self._enlarge()

    def both(
        self, reduced: Reduced, last: int, mode: int, most: int
    ) -> tuple[Labels, Labels]:
        """
        Return (labels from the depot, labels towards the depot).

        Labels are extended up to the load ``last``, which is half of the limit or more.
        Labels of more than half the limit are left out if the reduced cost of every
        route that they can become exceeds ``most``. If ``last`` is half the limit, the
        labels from the depot have the first customer beyond it, too.
        """
        half = self.whole.limit // 2
        while True:
            here = self.labels(reduced.graph, half, mode)
            there = here
            if not self.whole.symmetric:
                there = self.labels(reduced.backward, half, mode)
            done = self._beyond(reduced.graph, here, there, last, mode, most)
            if done and there is not here and last > half:
                done = self._beyond(reduced.backward, there, here, last, mode, most)
            if done:
                self.num_labels = int(here.num_settled.sum())
                return here, there
            self._enlarge()

    def _beyond(
        self,
        graph: Graph,
        labels: Labels,
        opposite: Labels,
        last: int,
        mode: int,
        most: int,
    ) -> bool:
        """
        Add the labels with more than half of the limit as their load.

        Return False if the arrays are full.
        """
        first = self.whole.limit // 2 + 1
        completions = complete(graph, opposite)
        useful = Useful(first, self.whole.limit, completions, most)
        for node in range(1, self.whole.size):
            if not cross(graph, labels, node, mode, useful):
                return False
            if node % 64 == 0:
                self.check_time()
        useful = useful._replace(last=last)
        return self._settle(graph, labels, first, self.whole.limit, mode, useful)

    def _settle(
        self,
        graph: Graph,
        labels: Labels,
        first: int,
        last: int,
        mode: int,
        useful: Useful,
    ) -> bool:
        """
        Settle the labels with loads from ``first`` to ``last``.

        Return False if the arrays are full.
        """
        position, end = first * self.whole.size, (last + 1) * self.whole.size
        while 0 <= position < end:
            self.check_time()
            position = settle(graph, labels, position, end, mode, useful, _SLICE)
        return position == end

    def _enlarge(self) -> None:
        """Make the arrays of labels twice as large."""
        total, per_node = self._room
        if total > _MOST_LABELS or per_node > _MOST_PER_NODE:
            raise TooManyLabelsError
        self._room = 2 * total, 2 * per_node

    def check_time(self) -> None:
        """Raise OutOfTimeError if no time is left."""
        if self.seconds_left() <= 0:
            raise OutOfTimeError

    # Routes and bounds

    def price(self, reduced: Reduced, mode: int, below: int, most: int) -> Priced:
        """
        Return routes of reduced cost less than ``below``, and the bound of the duals.

        At most ``most`` routes are returned. The bound is valid only in the mode EXACT,
        because the other modes may miss the route of least reduced cost.
        """
        limit = self.whole.limit
        half = limit // 2
        here, there = self.both(reduced, half, mode, below - 1)
        n = self.whole.size
        least = np.full((n, n), below)
        before = np.full((n, n), -1, np.int32)
        behind = np.full((n, n), -1, np.int32)
        halves = count_halves(there, half)
        for node in range(1, n):
            join(
                reduced.graph, here, there, half, halves, (least, before, behind), node
            )
            if node % 8 == 0:
                self.check_time()
        starts, ends = np.nonzero(before >= 0)
        order = np.argsort(least[starts, ends], kind="stable")
        chosen = starts[order], ends[order]
        rows = trace(here, there, before[chosen], behind[chosen], limit, most)
        cheapest = int(least.min())
        return Priced(self.bound(reduced, cheapest), unpad(rows), cheapest)

    def bound(self, reduced: Reduced, least: int) -> int:
        """Return the lower bound in units, given the least reduced cost of a route."""
        return reduced.constant + self._tours(least) * least

    def spare(self, reduced: Reduced, least: int, goal: int) -> int:
        """
        Return the largest reduced cost that a route of a plan within the goal can have.

        A plan is within the goal if it costs at most ``goal``. ``least`` is the least
        reduced cost of a route. All costs are in units.
        """
        return goal - reduced.constant - (self._tours(least) - 1) * least

    def _tours(self, least: int) -> int:
        """
        Return the number of tours by which the bound multiplies the least reduced cost.

        This is the largest possible number of tours if the least reduced cost is
        negative, and the smallest possible number otherwise.
        """
        return self.whole.vehicles if least < 0 else self.whole.fewest

    def fix(self, reduced: Reduced, goal: int) -> Fixed:
        """
        Forbid the arcs that no plan with a cost of at most ``goal``, in units, can use.
        """
        _, _, least = self.price(reduced, EXACT, 0, 1)
        spare = self.spare(reduced, least, goal)
        labels = here, there = self.both(reduced, self.whole.limit, EXACT, spare)
        n = self.whole.size
        passable = np.zeros((n, n), bool)
        cheapest = cheapest_labels(reduced.graph, there)
        for node in range(1, n):
            find_passable(reduced.graph, here, there, cheapest, spare, passable, node)
            self.check_time()
        self.allowed &= passable
        return Fixed(self.bound(reduced, least), spare, labels)
