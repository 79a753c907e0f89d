"""
The bound before branching: column generation, cuts, fixing of arcs, enumeration.

Rounds of cuts raise the bound. When the gap has become smaller, arcs that no better
plan has are forbidden, and all routes that a better plan can have are enumerated. If
these are few enough, a tree over them decides.
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
_KEPT = 10  # routes per customer that stay in the master; twice as many are purged
_CONVERGED = 0.03  # share of the gap that may be left between master and bound
_SHARE = 0.7  # of the best duals so far in the first duals to price by
_ROUNDS = 500  # of cuts, at most
_ENOUGH = 3e-4  # capacity cuts alone go on while a round gains this share
_LITTLE = 5e-5  # a round of all cuts that gains less helps little
_FIX_GAP, _SHRUNK = 0.025, 0.8  # fix arcs below this gap, then when it has shrunk
_SHRUNK_LITTLE = 0.93  # the same, when cuts help little
_MOST_LABELS = 60_000  # settled ones of a pricing; with more, fixing takes too long
# How much the enumeration may find, by the largest gap.
_ROOMS = {
    0.007: Room(paths=4_000_000, routes=1_000_000),
    0.015: Room(paths=600_000, routes=150_000),
    1.0: Room(paths=60_000, routes=20_000),
}


class Root:
    """
    Column generation with cuts, down to all routes that a better plan can have.

    Parameters
    ----------
    whole
        The instance.
    goal
        Plans of at most this cost, in units, are looked for.
    tours
        Tours to begin with: those of good plans.
    seconds_left
        How much time is left.

    Attributes
    ----------
    bound
        No plan costs less, in units; above the goal if no plan is better.
    pool
        All routes that a plan of at most the goal can have, if they were enumerated.
    """

    def __init__(
        self,
        whole: WholeInstance,
        goal: int,
        tours: Sequence[Route],
        seconds_left: Callable[[], float],
    ) -> None:
        self.pricer = Pricer(whole, seconds_left)
        self.master = Master(whole, 2 * max(goal, DUAL_UNIT))
        self.master.add_routes([*tours, *((c,) for c in range(1, whole.size))])
        self.goal = goal
        self.bound = 0
        self.pool: NDArray[np.int16] | None = None
        self._center = _first_duals(whole, tours)  # those of the best bound
        self._fixed_at = self._stalled_at = math.inf  # gaps of the last enumerations

    @property
    def decided(self) -> bool:
        """Whether the bound is above the goal, or all routes are enumerated."""
        return self.bound > self.goal or self.pool is not None

    def run(self) -> Iterator[None]:
        """Raise the bound; yield when it may have become better."""
        yield from self._converge()
        subset_rows = stalled = False
        for number in range(_ROUNDS):
            if self.decided:
                return
            before = self.master.solution.value
            if not self.master.separate(number, subset_rows=subset_rows):
                if subset_rows:
                    break
                subset_rows = True
                continue
            yield from self._converge()
            if subset_rows:
                self._center = self._center[self.master.drop_slack_cuts()]
            if self.decided:
                return
            self._close(stalled=stalled)
            yield
            gain = self.master.solution.value / before - 1
            stalled = subset_rows and gain < _LITTLE
            subset_rows |= gain < _ENOUGH
        self._close(stalled=True)

    # Column generation

    def _converge(self) -> Iterator[None]:
        """Add routes until the master's value is proven to be a bound, nearly."""
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
            open_gap = max(self.goal - best, 0) * _CONVERGED
            if new == 0 or value * DUAL_UNIT - best < open_gap:
                if mode == EXACT:
                    return
                mode = WITHOUT_CUTS if mode == BY_COST and self._has_rows() else EXACT
                best = -math.inf

    def _adapt(
        self, share: float, priced: Priced, direction: NDArray[np.float64]
    ) -> float:
        """
        Return the share of the best duals so far in the duals to price by next.

        It falls if the bound rises towards the duals of the master (Pessoa et al.,
        "Automation and Combination of Linear-Programming Based Stabilization
        Techniques in Column Generation", INFORMS Journal on Computing 2018).
        """
        if not priced.routes:
            return share
        slope = self.master.slope(priced.routes[0], direction)
        return max(0.0, share - 0.1) if slope > 0 else share + 0.1 * (1 - share)

    def _has_rows(self) -> bool:
        return any(isinstance(cut, SubsetRow) for cut in self.master.cuts)

    def _price(self, duals: NDArray[np.float64], mode: int) -> tuple[Priced, int]:
        """Add routes by these duals; return them with the bound, and how many."""
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
        Fix arcs and enumerate routes if the gap has shrunk enough.

        When cuts help little, the enumeration may take all the room there is.
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
    """Return duals to begin with: customers share the cost of the tours they are in."""
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
