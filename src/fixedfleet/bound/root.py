"""
The bound before branching: column generation, cuts, fixing of arcs, enumeration.

Rounds of cuts raise the bound. When the gap is small enough, arcs that no better plan
can use are forbidden, and all routes that a better plan can contain are enumerated. If
there are few such routes, branch and cut over them decides whether there is a better
plan; see ``route_pool.py``.
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

_ROUTES = 60  # most new routes per pricing
_KEPT = 6  # routes per customer that a purge leaves in the master
# Column generation stops when the master's value exceeds the bound of the duals by less
# than this share of the gap: the first in the exact mode, the second in other modes.
_CONVERGED, _NEARLY = 0.03, 0.3
_EARLY = 8  # most exact pricings before the first cuts
_FEW = 4  # if an exact pricing finds more new routes, a faster mode is used again
# At first, a dual is at most _DUAL_LIMIT times the initial dual of the customer, or the
# share _LEAST_DUAL of the mean one if that is more. These limits rise by _LOOSER times
# when the value of the master exceeds the bound of its duals by less than the share
# _RELIABLE of the goal.
_DUAL_LIMIT, _LEAST_DUAL = 1.3, 0.1
_LOOSER, _RELIABLE = 3.0, 0.015
_NEGLIGIBLE = 1e-6  # a smaller sum of artificial columns counts as zero
_SHARE = 0.7  # the initial weight of the best duals in the smoothed duals
_ROUNDS = 500  # most rounds of cuts
_ENOUGH = 3e-4  # while a round raises the value by this share, only capacity cuts
_LITTLE = 5e-5  # cuts have stalled if a round raises the value by a smaller share
_LEAST_VALUE = 1e-6  # gains of smaller values of the master are shares of this one
# Arcs are fixed when the gap is below _FIX_GAP, and again whenever the gap has shrunk
# by the factor _SHRUNK since the last time (_SHRUNK_LITTLE if cuts have stalled).
_FIX_GAP, _SHRUNK = 0.025, 0.85
_SHRUNK_LITTLE = 0.93
_MOST_LABELS = 400_000  # if a pricing settles more labels, fixing would take too long
# The limits of the enumeration. Each applies if the gap is below its key.
_ROOMS = {
    0.006: Room(paths=2_000_000, routes=600_000),
    0.009: Room(paths=250_000, routes=80_000),
    0.015: Room(paths=100_000, routes=35_000),
    1.0: Room(paths=60_000, routes=20_000),
}


class Root:
    """
    Column generation with cuts at the root node, until few enough routes are left.

    Parameters
    ----------
    whole
        The instance.
    goal
        A plan counts as better than the best known plan if its cost, in units, is at
        most this. Such a plan is called "within the goal".
    tours
        Tours of good plans, with which column generation starts. Each customer must be
        in one of them.
    seconds_left
        Returns the remaining time in seconds. It is called often, and the computation
        ends when it returns 0 or less.

    Attributes
    ----------
    bound
        A lower bound, in units, on all plans within the goal. If it is above the goal,
        there is no such plan.
    pool
        All routes that a plan within the goal can contain, as rows; None until they are
        enumerated.
    """

    def __init__(
        self,
        whole: WholeInstance,
        goal: int,
        tours: Sequence[Route],
        seconds_left: Callable[[], float],
    ) -> None:
        self.pricer = Pricer(whole, seconds_left)
        self._center = _first_duals(whole, tours)  # later, the duals of the best bound
        # While the master has few routes, its duals oscillate. So they are limited.
        first = self._center[:-1]
        self._limits = _DUAL_LIMIT * np.maximum(first, _LEAST_DUAL * first.mean())
        self.master = Master(whole, self._limits)
        self.master.add_routes([*tours, *((c,) for c in range(1, whole.size))])
        self.goal = goal
        self.bound = 0
        self.pool: NDArray[np.int16] | None = None
        self._fixed_at = self._stalled_at = math.inf  # gaps of the last enumerations

    @property
    def decided(self) -> bool:
        """
        Whether the root is done: the bound is above the goal, or ``pool`` is known.
        """
        return self.bound > self.goal or self.pool is not None

    def run(self) -> Iterator[None]:
        """Raise the bound; yield whenever it may have risen."""
        # At first, only capacity cuts are added, and routes come from a heuristic
        # pricing, which gives no bound. Some exact pricings before the first cuts, and
        # one after each later round, give an early bound and further routes.
        for number in range(_ROUNDS):
            before = self.master.solution.value
            yield from self._converge(BY_COST)
            yield from self._converge(EXACT, EXACT, most=1 if number else _EARLY)
            gain = self._gain(before)
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
                gain = self._gain(before)
                stalled = subset_rows and gain < _LITTLE
                subset_rows |= gain < _ENOUGH
            elif not subset_rows:
                subset_rows = True
            elif self._duals_are_limited:
                yield from self._converge()
            else:
                break
            if subset_rows and not self.decided:
                self._close(stalled=stalled)
                yield
        if not self.decided:
            self._close(stalled=True)

    def _gain(self, before: float) -> float:
        """
        Return the share by which the master's value has risen since it was ``before``.

        The value can be 0 if some distances are 0.
        """
        return (self.master.solution.value - before) / max(before, _LEAST_VALUE)

    # Column generation

    @property
    def _duals_are_limited(self) -> bool:
        """Whether some duals would be larger without their limits."""
        return self.master.artificial() > _NEGLIGIBLE

    def _converge(
        self, last: int = EXACT, mode: int = BY_COST, most: float = math.inf
    ) -> Iterator[None]:
        """
        Generate columns in one pricing mode after the other, from ``mode`` to ``last``.

        This is a generator that yields after each pricing, and ends after ``most`` of
        them at the latest. Each mode is more exact than the previous one. A mode ends
        when pricing finds no new route, or when the master's value is close to the
        bound of the duals. Pricing uses smoothed duals: a weighted mean of the duals
        with the best bound so far and the duals of the master. At the end, the limits
        of the duals rise if the bound of exact pricing is close to the master's value.
        """
        best, share, number = -math.inf, _SHARE, 0
        while number < most:
            number += 1
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
                    mode, best = WITHOUT_CUTS, -math.inf  # this mode is much faster
            elif mode == last:
                break
            else:
                mode = WITHOUT_CUTS if mode == BY_COST and self._has_rows() else EXACT
                best = -math.inf
        reliable = value * DUAL_UNIT - best < _RELIABLE * self.goal
        if mode == EXACT and reliable and self._duals_are_limited:
            self._limits *= _LOOSER
            self.master.change_penalties(self._limits)

    def _adapt(
        self, share: float, priced: Priced, direction: NDArray[np.float64]
    ) -> float:
        """
        Return the next weight of the best duals in the smoothed duals.

        ``share`` is the present weight. The best duals are those with the best bound so
        far, and ``direction`` is the master's duals minus the best duals. If the bound
        increases in this direction, the weight is reduced, otherwise it is increased
        (Pessoa et al., "Automation and Combination of Linear-Programming Based
        Stabilization Techniques in Column Generation", INFORMS Journal on Computing
        2018).
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

        Return (result of pricing, number of new routes).
        """
        near = mode == BY_COST
        reduced = self.pricer.reduce(self.master.cuts, duals, near=near)
        fleet = min(0, round(duals[self.master.whole.size - 1] * DUAL_UNIT))
        priced = self.pricer.price(reduced, mode, fleet, _ROUTES)
        if mode == EXACT:
            self.bound = max(self.bound, priced.bound)
        self.master.purge(_KEPT * self.master.whole.size)
        return priced, self.master.add_routes(priced.routes)

    # Fixing and enumeration

    def _close(self, *, stalled: bool) -> None:
        """
        Forbid arcs and enumerate routes, if the gap is much smaller than the last time.

        ``stalled`` says whether cuts hardly raise the bound any more. Then the
        enumeration may find more paths and routes before it gives up.
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
    """
    Return initial duals of the customers and of the fleet.

    The cost of each tour is divided among its customers, and each customer gets the
    mean of its shares. The dual of the fleet is 0.
    """
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
