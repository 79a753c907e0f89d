"""
The bound before branching: column generation, cuts, fixing of arcs, enumeration.

Rounds of cuts raise the bound. When the gap has become smaller, arcs that no better
plan has are forbidden, and all routes that a better plan can have are enumerated. If
these are few enough, branch and cut over them decides; see ``route_pool.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.bound.enumeration import Room, enumerate_routes
from fixedfleet.bound.labelling import BY_COST, EXACT, WITHOUT_CUTS
from fixedfleet.bound.master import DUAL_UNIT, Master
from fixedfleet.bound.pricing import Pricer, TooManyLabelsError
from fixedfleet.bound.subset_rows import SubsetRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from fixedfleet.bound.master import Route
    from fixedfleet.bound.pricing import Priced
    from fixedfleet.bound.whole_instance import WholeInstance

__all__ = ["Root"]

_ROUTES = 60  # new routes per pricing
_KEPT = 6  # routes per customer that a purge leaves in the master
# Column generation stops when the master's value exceeds the bound of the duals by less
# than this share of the gap: in the exact mode, and in the other modes.
_CONVERGED, _NEARLY = 0.03, 0.1
_FEW = 4  # if an exact pricing finds more new routes, a faster mode goes on
_DUAL_LIMIT = 1.3  # at first, duals are at most this multiple of the initial duals
_SHARE = 0.7  # the first weight of the best duals in the smoothed duals
_ROUNDS = 500  # the most rounds of cuts
_ENOUGH = 3e-4  # add only capacity cuts while a round raises the value by this share
_LITTLE = 5e-5  # cuts have stalled if a round raises the value by a smaller share
# Fix arcs when the gap is below the first number, and again each time when the gap has
# shrunk by the second factor.
_FIX_GAP, _SHRUNK = 0.025, 0.85
_SHRUNK_LITTLE = 0.93  # the second factor when cuts have stalled
_MOST_LABELS = 400_000  # if a pricing settles more labels, fixing takes too long
# The limits of the enumeration, by the gap below which they apply.
_ROOMS = {
    0.006: Room(paths=2_000_000, routes=600_000),
    0.009: Room(paths=250_000, routes=80_000),
    0.015: Room(paths=100_000, routes=35_000),
    1.0: Room(paths=60_000, routes=20_000),
}


class Root:
    """
    Column generation with cuts at the root node, until few routes are left.

    Parameters
    ----------
    whole
        The instance.
    goal
        The largest cost, in units, of a plan that counts as better than the best known
        one.
    tours
        Tours of good plans, which are the first columns.
    seconds_left
        Called often; the computation ends when it returns 0 or less.

    Attributes
    ----------
    bound
        A lower bound, in units, on all plans within the goal. If it is above the goal,
        there is no such plan.
    pool
        All routes that a plan within the goal can have; None until they are enumerated.
    """

    def __init__(
        self,
        whole: WholeInstance,
        goal: int,
        tours: Sequence[Route],
        seconds_left: Callable[[], float],
    ) -> None:
        self.pricer = Pricer(whole, seconds_left)
        self._center = _first_duals(whole, tours)  # later the duals of the best bound
        # While the master has few routes, its duals oscillate, so they are limited.
        self.master = Master(whole, _DUAL_LIMIT * self._center[:-1])
        self._duals_limited = True
        self.master.add_routes([*tours, *((c,) for c in range(1, whole.size))])
        self.goal = goal
        self.bound = 0
        self.pool: NDArray[np.int16] | None = None
        self._fixed_at = self._stalled_at = math.inf  # gaps of the last enumerations

    @property
    def decided(self) -> bool:
        """Whether the bound is above the goal, or all routes are enumerated."""
        return self.bound > self.goal or self.pool is not None

    def run(self) -> Iterator[None]:
        """Raise the bound; yield whenever it may have risen."""
        # First, capacity cuts with routes from a heuristic pricing, which proves no
        # bound. An exact pricing after each round gives an early bound and more routes.
        for number in range(_ROUNDS):
            before = self.master.solution.value
            yield from self._converge(BY_COST)
            self._price(self._center, EXACT)
            yield
            gain = self.master.solution.value / before - 1
            if number > 0 and gain < _ENOUGH:
                break
            if not self.master.separate(number, subset_rows=False):
                break
        yield from self._converge()
        subset_rows = stalled = False
        for number in range(_ROUNDS):
            if self.decided:
                return
            before = self.master.solution.value
            if self.master.separate(number, subset_rows=subset_rows):
                yield from self._converge()
                if subset_rows:
                    self._center = self._center[self.master.drop_slack_cuts()]
                gain = self.master.solution.value / before - 1
                stalled = subset_rows and gain < _LITTLE
                subset_rows |= gain < _ENOUGH
            elif subset_rows:
                break
            else:
                subset_rows = True
            if subset_rows and not self.decided:
                self._close(stalled=stalled)
                yield
        if not self.decided:
            self._close(stalled=True)

    # Column generation

    def _converge(self, last: int = EXACT) -> Iterator[None]:
        """
        Generate columns in ever more exact pricing modes, up to mode ``last``.

        It ends when pricing in that mode finds no new route, or when the master's value
        is close to the bound of the duals. It yields after each pricing.
        """
        mode, best, share = BY_COST, -math.inf, _SHARE
        while True:
            self.pricer.check_time()
            value, _, duals = self.master.solve()
            missing = len(duals) - len(self._center)  # new cuts
            center = np.append(self._center, np.zeros(missing))
            point = share * center + (1 - share) * duals
            priced, new = self._price(point, mode)
            share = self._adapt(share, priced, duals - center)
            if new == 0:
                point = duals
                priced, new = self._price(duals, mode)
            if priced.bound > best:
                best, center = priced.bound, point
            self._center = center
            yield
            if self.bound > self.goal:
                return
            allowed = _CONVERGED if mode == EXACT else _NEARLY
            near = value * DUAL_UNIT - best < max(self.goal - best, 0) * allowed
            if new and not near:
                if mode == EXACT and new > _FEW and self._has_rows():
                    mode, best = WITHOUT_CUTS, -math.inf  # much faster
            elif self._duals_limited:
                self._duals_limited = False
                self.master.change_penalties(2 * max(self.goal / DUAL_UNIT, 1.0))
            elif mode == last:
                return
            else:
                mode = WITHOUT_CUTS if mode == BY_COST and self._has_rows() else EXACT
                best = -math.inf

    def _adapt(
        self, share: float, priced: Priced, direction: NDArray[np.float64]
    ) -> float:
        """
        Return the next weight of the best duals so far in the smoothed duals.

        The weight falls if the bound rises towards the duals of the master (Pessoa et
        al., "Automation and Combination of Linear-Programming Based Stabilization
        Techniques in Column Generation", INFORMS Journal on Computing 2018).
        """
        if not priced.routes:
            return share
        slope = self.master.slope(priced.routes[0], direction)
        return max(0.0, share - 0.1) if slope > 0 else share + 0.1 * (1 - share)

    def _has_rows(self) -> bool:
        return any(isinstance(cut, SubsetRow) for cut in self.master.cuts)

    def _price(self, duals: NDArray[np.float64], mode: int) -> tuple[Priced, int]:
        """
        Price with these duals and add the routes found to the master.

        Return the result of pricing, and the number of routes that are new.
        """
        reduced = self.pricer.reduce(self.master.cuts, duals)
        fleet = min(0, round(duals[self.master.whole.size - 1] * DUAL_UNIT))
        priced = self.pricer.price(reduced, mode, fleet, _ROUTES)
        if mode == EXACT:
            self.bound = max(self.bound, priced.bound)
        self.master.purge(_KEPT * self.master.whole.size)
        return priced, self.master.add_routes(priced.routes)

    # Fixing and enumeration

    def _close(self, *, stalled: bool) -> None:
        """
        Fix arcs and enumerate routes if the gap has shrunk enough since the last time.

        ``stalled`` says that cuts raise the bound only little. The enumeration may then
        find as many paths and routes as the largest limits allow.
        """
        gap = (self.goal - self.bound) / max(self.goal, 1)
        if self.pricer.num_labels > _MOST_LABELS:
            return
        if stalled and gap < _SHRUNK_LITTLE * self._stalled_at:
            self._stalled_at = gap
            room = _ROOMS[min(_ROOMS)]
        elif gap < min(_FIX_GAP, _SHRUNK * self._fixed_at):
            room = next(room for most, room in _ROOMS.items() if gap < most)
        else:
            return
        self._fixed_at = gap
        duals = self.master.solution.duals
        try:
            fixed = self.pricer.fix(
                self.pricer.reduce(self.master.cuts, duals), self.goal
            )
        except TooManyLabelsError:
            return
        self.bound = max(self.bound, fixed.bound)
        if self.bound > self.goal:
            return
        reduced = self.pricer.reduce(self.master.cuts, duals)
        self.pool = enumerate_routes(
            self.pricer, reduced, fixed.labels[1], fixed.spare, room
        )
        if self.pool is None:
            self.master.allow(self.pricer.allowed)
            self.master.solve()


def _first_duals(whole: WholeInstance, tours: Sequence[Route]) -> NDArray[np.float64]:
    """Return initial duals: the cost of each tour is shared among its customers."""
    costs = whole.costs / DUAL_UNIT
    near = np.sort(costs[1:, 1:] + costs[1:, 1:].T, axis=1)[:, :4].sum(axis=1) / 6
    far = (costs[0, 1:] + costs[1:, 0]) * whole.demands[1:] / whole.capacity
    weights = np.append(0.0, near + far)
    shares, counts = np.zeros(whole.size), np.zeros(whole.size)
    for tour in tours:
        stops = list(tour)
        cost = whole.cost_of([tour]) / DUAL_UNIT
        shares[stops] += cost * weights[stops] / max(weights[stops].sum(), 1e-9)
        counts[stops] += 1
    return np.append(shares[1:] / counts[1:], 0.0)
