"""The master problem: a linear program whose columns are routes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.bound.capacity_cuts import (
    CapacityCut,
    crossings,
    find_capacity_cuts,
)
from fixedfleet.bound.linear_program import Entries, LinearProgram
from fixedfleet.bound.subset_rows import SubsetRow, count_visits, find_subset_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from fixedfleet.bound.linear_program import Basis, Solution
    from fixedfleet.bound.whole_instance import WholeInstance

    Cut = CapacityCut | SubsetRow
    Route = tuple[int, ...]

__all__ = ["DUAL_UNIT", "Master", "pad", "unpad"]

# A cost of 1 in the linear program is this many units. A plan then costs about 1000,
# which suits the solver's tolerances. Division by a power of two is exact.
DUAL_UNIT = 2**33
_EPSILON = 1e-7  # smaller values of variables, and smaller reduced costs, count as zero
_MOST_CAPACITY_CUTS, _MOST_SUBSET_ROWS = 40, 50  # most new cuts of each kind per round


def pad(routes: Sequence[Route]) -> NDArray[np.int16]:
    """
    Return routes as rows of one array, shape (R, L).

    A row has the depot, the customers of a route, and zeros to the end.
    """
    lengths = np.fromiter(map(len, routes), np.int64, len(routes))
    rows = np.zeros((len(routes), lengths.max(initial=0) + 2), np.int16)
    places = np.arange(1, rows.shape[1] + 1)[None, :] <= lengths[:, None]
    rows[:, 1:][places[:, :-1]] = np.fromiter(
        chain.from_iterable(routes), np.int16, lengths.sum()
    )
    return rows


def unpad(rows: NDArray[np.int16]) -> list[Route]:
    """Return routes, given as rows with zeros before or after, as tuples."""
    return [tuple(row[row > 0].tolist()) for row in rows]


class Master:
    """
    The master problem of column generation.

    Row v − 1 requires that customer v is served, and row N that at most M routes are
    used. The other rows are the cuts, in the order of ``cuts``. The first N columns are
    artificial: each serves one customer at a high cost, so that there is always a
    solution. The other columns are the routes, in the order of ``routes``.

    Parameters
    ----------
    whole
        The instance.
    penalties
        Costs of the artificial columns: one number, or one per customer. A customer's
        dual never exceeds the cost of its artificial column.
    once
        Whether customers must be served exactly once. Otherwise, they must be served at
        least once.
    """

    def __init__(
        self,
        whole: WholeInstance,
        penalties: NDArray[np.float64] | float,
        *,
        once: bool = False,
    ) -> None:
        customers = whole.size - 1
        self.whole = whole
        self.routes: list[Route] = []
        self.cuts: list[Cut] = []
        self._known: set[Route] = set()
        self._program = LinearProgram()
        lower = np.append(np.ones(customers), -np.inf)
        upper = np.append(np.full(customers, 1.0 if once else np.inf), whole.vehicles)
        self._program.add_rows(lower, upper)
        every = np.arange(customers)
        costs = np.full(customers, penalties, float)
        self._program.add_columns(costs, Entries(every, every, np.ones(customers)))
        self.solution: Solution = self._program.solve()

    # Columns

    def change_penalties(self, penalties: NDArray[np.float64]) -> None:
        """Set the costs of the artificial columns."""
        self._program.change_costs(penalties)

    @property
    def basis(self) -> Basis:
        """The basis of the last solution, for :meth:`forbid`."""
        return self._program.basis

    def forbid(self, which: NDArray[np.bool_], basis: Basis) -> None:
        """
        Do not use the routes of a mask, and allow all others again.

        ``basis`` is the one that the next solution starts from.
        """
        artificial = np.zeros(self.whole.size - 1, bool)
        self._program.set_to_zero(np.append(artificial, which), basis)

    def _route_costs(self, rows: NDArray[np.int16]) -> NDArray[np.float64]:
        """Return the cost of each route in the program; rows as in :func:`pad`."""
        costs = self.whole.costs[rows[:, :-1], rows[:, 1:]].sum(axis=1) / DUAL_UNIT
        return np.asarray(costs)

    def add_routes(self, routes: Iterable[Route]) -> int:
        """Add routes, except those that exist already; return how many are new."""
        fresh = []
        for route in routes:
            key = min(route, route[::-1]) if self.whole.symmetric else route
            if key not in self._known:
                self._known.add(key)
                fresh.append(key)
        if fresh:
            rows = pad(fresh)
            first = self._program.num_columns
            self._program.add_columns(
                self._route_costs(rows), _entries(self._coefficients(rows), first)
            )
            self.routes.extend(fresh)
        return len(fresh)

    def keep_routes(self, kept: NDArray[np.bool_]) -> None:
        """Delete the routes for which the mask is false."""
        if kept.all():
            return
        artificial = np.zeros(self.whole.size - 1, bool)
        self._program.delete_columns(np.append(artificial, ~kept))
        self.routes = [r for r, keep in zip(self.routes, kept, strict=True) if keep]
        self._known = set(self.routes)
        columns = self.solution.columns  # the solution may be older than some routes
        stay = np.append(~artificial, kept)[: len(columns)]
        self.solution = self.solution._replace(columns=columns[stay])

    def purge(self, most: int) -> None:
        """
        Delete routes of high reduced cost, if there are at least 2 · ``most`` routes.

        About ``most`` routes are kept.
        """
        if len(self.routes) < 2 * most:
            return
        rows = pad(self.routes)
        reduced = self._route_costs(rows)
        reduced -= self._coefficients(rows) @ self.solution.duals
        kept = reduced < max(np.partition(reduced, most)[most], _EPSILON)
        self.keep_routes(kept)

    def allow(self, allowed: NDArray[np.bool_]) -> None:
        """
        Delete the routes that use a forbidden arc.

        ``allowed`` is a mask of the arcs that are not forbidden, shape (n, n).
        """
        rows = pad(self.routes)
        end = rows[:, :-1] == rows[:, 1:]  # zeros after the route
        self.keep_routes((allowed[rows[:, :-1], rows[:, 1:]] | end).all(axis=1))

    # Rows

    def separate(
        self, seed: int, *, subset_rows: bool = True, limited: bool = True
    ) -> int:
        """
        Add cuts that the present solution violates; return how many cuts have changed.

        A cut has changed if it is new or if its memory has grown. ``seed`` is for the
        search of capacity cuts. If ``subset_rows`` is False, only capacity cuts are
        added. If ``limited``, new subset-row cuts have limited memory; otherwise, they
        have full memory.
        """
        routes, values = self.support()
        cuts: list[Cut] = list(
            find_capacity_cuts(self.whole, self.flow(), seed, _MOST_CAPACITY_CUTS)
        )
        if subset_rows:
            size, most = self.whole.size, _MOST_SUBSET_ROWS
            # Larger cuts make labels too many. They are for a given list of routes.
            sizes = (3,) if limited else (3, 4, 5)
            cuts += find_subset_rows(
                routes, values, size, most, limited=limited, sizes=sizes
            )
        return self.add_cuts(cuts)

    def add_cuts(self, cuts: Iterable[Cut]) -> int:
        """
        Add cuts, except those that exist already; return how many cuts have changed.

        If a subset-row cut exists already with a smaller memory, its memory is
        enlarged, which counts as a change.
        """
        places = {_key(cut): place for place, cut in enumerate(self.cuts)}
        fresh: list[Cut] = []
        grown = 0
        for cut in cuts:
            place = places.get(_key(cut))
            if place is None:
                fresh.append(cut)
            elif isinstance(cut, SubsetRow):
                grown += self._remember(place, cut.memory)
        if fresh:
            self._add_rows(fresh)
        return len(fresh) + grown

    def _add_rows(self, cuts: list[Cut]) -> None:
        capacity = np.array([isinstance(cut, CapacityCut) for cut in cuts])
        sides = np.array([_right_side(cut) for cut in cuts])
        customers = self.whole.size - 1
        table = np.zeros((customers + len(self.routes), len(cuts)), np.int64)
        for place, cut in enumerate(cuts):
            if isinstance(cut, CapacityCut):  # an artificial column is a tour, too
                table[:customers, place] = 2 * cut.inside[1:]
        table[customers:] = _cut_coefficients(pad(self.routes), cuts)
        columns, rows = np.nonzero(table)
        values = table[columns, rows].astype(float)
        self._program.add_rows(
            np.where(capacity, sides, -np.inf),
            np.where(capacity, np.inf, sides),
            Entries(rows + self._program.num_rows, columns, values),
        )
        self.cuts.extend(cuts)

    def _remember(self, place: int, memory: NDArray[np.bool_]) -> bool:
        """
        Add locations to the memory of the subset-row cut ``cuts[place]``.

        ``memory`` is a mask of locations. Return whether the memory has grown.
        """
        cut = self.cuts[place]
        if not isinstance(cut, SubsetRow) or not (memory & ~cut.memory).any():
            return False
        grown = cut._replace(memory=memory | cut.memory)
        self.cuts[place] = grown
        counts = _cut_coefficients(pad(self.routes), [grown])[:, 0]
        (columns,) = np.nonzero(counts)
        rows = np.full(len(columns), self.whole.size + place)
        self._program.change(
            Entries(rows, columns + self.whole.size - 1, counts[columns].astype(float))
        )
        return True

    def drop_slack_cuts(self) -> NDArray[np.bool_]:
        """
        Delete the cuts that have slack in the last solution.

        Return a mask of the rows of the linear program that are kept.
        """
        slack = self._program.slack_rows()
        slack[: self.whole.size] = False
        if not slack.any():
            return ~slack
        self._program.delete_rows(slack)
        self.cuts = [
            cut
            for cut, gone in zip(self.cuts, slack[self.whole.size :], strict=True)
            if not gone
        ]
        self.solution = self.solution._replace(duals=self.solution.duals[~slack])
        return ~slack

    # Solutions

    def solve(self) -> Solution:
        """Return an optimal solution, and store it as ``solution``."""
        self.solution = self._program.solve()
        return self.solution

    def support(self) -> tuple[list[Route], NDArray[np.float64]]:
        """Return the routes with positive value in the solution, and these values."""
        values = self.solution.columns[self.whole.size - 1 :]
        (used,) = np.nonzero(values > _EPSILON)
        return [self.routes[place] for place in used], values[used]

    def artificial(self) -> float:
        """
        Return the sum of the values of the artificial columns in the last solution.

        It is 0 if routes serve all customers.
        """
        return float(self.solution.columns[: self.whole.size - 1].sum())

    def flow(self) -> NDArray[np.float64]:
        """
        Return how often the last solution visits i and j directly one after the other.

        Entry [i, j] of the returned matrix counts both orders and adds up the values of
        the routes. The matrix has shape (n, n) and is symmetric.
        """
        flow = np.zeros((self.whole.size, self.whole.size))
        for route, value in zip(*self.support(), strict=True):
            np.add.at(flow, ([0, *route], [*route, 0]), value)
        return flow + flow.T

    def slope(self, route: Route, direction: NDArray[np.float64]) -> float:
        """
        Return the slope of the Lagrangian bound in a direction of the duals.

        ``route`` is the route of least reduced cost. The bound contains its reduced
        cost M times.
        """
        sides = [1.0] * (self.whole.size - 1) + [0.0]
        sides += [_right_side(cut) for cut in self.cuts]
        column = self._coefficients(pad([route]))[0]
        column[self.whole.size - 1] = 0  # the bound does not depend on the fleet's dual
        return float((np.array(sides) - self.whole.vehicles * column) @ direction)

    def _coefficients(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """
        Return the coefficient of each route in each row of the linear program.

        ``rows`` has the routes as in :func:`pad`. The result has shape (R, number of
        rows).
        """
        visits = np.zeros((len(rows), self.whole.size), np.int64)
        np.add.at(visits, (np.arange(len(rows))[:, None], rows), 1)
        fleet = np.ones((len(rows), 1), np.int64)
        return np.hstack((visits[:, 1:], fleet, _cut_coefficients(rows, self.cuts)))


def _right_side(cut: Cut) -> float:
    """Return the number that the coefficients of a plan's tours are compared with."""
    return float(2 * cut.vehicles if isinstance(cut, CapacityCut) else cut.most)


def _cut_coefficients(rows: NDArray[Any], cuts: list[Cut]) -> NDArray[np.int64]:
    """
    Return the coefficient of each route in each cut, shape (R, K).

    ``rows`` has the routes as in :func:`pad`.
    """
    table = np.zeros((len(rows), len(cuts)), np.int64)
    capacity = [k for k, cut in enumerate(cuts) if isinstance(cut, CapacityCut)]
    if capacity:
        insides = np.array([c.inside for c in cuts if isinstance(c, CapacityCut)])
        table[:, capacity] = crossings(rows, insides)
    subset = [cut for cut in cuts if isinstance(cut, SubsetRow)]
    if subset:
        places = [k for k, cut in enumerate(cuts) if isinstance(cut, SubsetRow)]
        memories = np.array([cut.memory for cut in subset])
        divisors = np.array([cut.divisor for cut in subset])
        weights = np.zeros(memories.shape, np.int64)
        for row, cut in zip(weights, subset, strict=True):
            row[list(cut.customers)] = 1
            row[list(cut.twice)] = 2
        table[:, places] = count_visits(rows, weights, memories, divisors)
    return table


def _entries(table: NDArray[np.int64], first: int) -> Entries:
    """
    Return the nonzero coefficients of new columns as sparse entries.

    Row i of ``table`` has the coefficients of column number ``first`` + i.
    """
    columns, rows = np.nonzero(table)
    return Entries(rows, columns + first, table[columns, rows].astype(float))


def _key(cut: Cut) -> object:
    if isinstance(cut, CapacityCut):
        return cut.inside.tobytes()
    return cut.customers, cut.twice, cut.divisor
