"""An instance in whole numbers, so that bounds are computed without rounding errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["TOLERANCE", "WholeInstance", "make_whole"]

# A plan counts as optimal if no plan is cheaper by more than this share of its cost. If
# all costs are whole numbers, no plan is cheaper at all.
TOLERANCE = Fraction(1, 10**7)
_BITS = 42  # bits of a plan's cost, so that sums of duals and labels fit into 64 bits
_MOST_STEPS = 4000  # the largest capacity in steps; the loads of labels are steps


@dataclass(frozen=True, eq=False)
class WholeInstance:
    """
    An instance whose costs are whole numbers.

    Attributes
    ----------
    costs
        Shape (n, n) with n = N + 1: twice the distance of each arc in units, rounded
        down. Each arc from or to the depot also has half of the vehicle cost.
    unit
        The number of units per unit of length of the user. Because ``costs`` are
        doubled, a cost of the user is ``2 · unit`` times as large here. In this
        package, "in units" means such a doubled number.
    demands, capacity
        As in :attr:`Instance.demand_units`.
    steps, limit
        Demands and capacity as small whole numbers, called steps. Labels are sorted by
        their loads in steps, so each customer has at least 1. If the capacity is large,
        demands are rounded down to steps. Then every tour within the capacity is within
        the limit, but a tour within the limit may exceed the capacity.
    vehicles, fewest
        The largest and the smallest number of tours that a plan can have.
    allowed
        Shape (n, n): the arcs that a plan may have.
    whole
        Whether the cost of every plan is a whole number.
    symmetric
        Whether the distances are the same in both directions.
    """

    costs: NDArray[np.int64]
    unit: Fraction
    demands: NDArray[np.int64]
    capacity: int
    steps: NDArray[np.int64]
    limit: int
    vehicles: int
    fewest: int
    allowed: NDArray[np.bool_]
    whole: bool
    symmetric: bool

    @property
    def size(self) -> int:
        """The number of locations, N + 1."""
        return len(self.demands)

    def cost_of(self, tours: list[tuple[int, ...]]) -> int:
        """Return the cost of tours in units. It never exceeds their true cost."""
        ends = [([0, *tour], [*tour, 0]) for tour in tours]
        return sum(int(self.costs[start, end].sum()) for start, end in ends)

    def goal(self, cost: float) -> int:
        """
        Return the largest cost, in units, that counts as cheaper than ``cost``.

        If no plan costs at most this many units, a plan that costs ``cost`` is optimal.
        """
        exact = Fraction(cost)
        exact = exact - 1 if self.whole else exact * (1 - TOLERANCE)
        return math.floor(2 * self.unit * exact)

    def to_user(self, bound: int) -> float:
        """
        Convert a lower bound from units to the user's unit of cost.

        The result is rounded so that it is still a lower bound.
        """
        exact = Fraction(bound) / (2 * self.unit)
        if self.whole:
            return float(math.ceil(exact))
        cost = float(exact)
        return cost if Fraction(cost) <= exact else math.nextafter(cost, -math.inf)


def make_whole(instance: Instance, plan: Plan, vehicle_cost: float) -> WholeInstance:
    """
    Return an instance in whole numbers; the cost of the plan determines the unit.

    Arcs that no plan of at most this cost can use are not allowed.
    """
    cost = plan.cost_v(instance, vehicle_cost)
    distances, demands = instance.distances, instance.demand_units
    # No load exceeds the sum of all demands, which fits into 64 bits.
    capacity = min(instance.capacity_units, max(1, int(demands.sum())))
    exponent = _BITS - math.frexp(cost)[1] if cost > 0 else 0
    # A plan that costs at most as much has no arc longer than the cost.
    allowed = distances <= cost
    halves = 2 * np.floor(np.ldexp(np.where(allowed, distances, 0.0), exponent))
    halves[0] += math.floor(math.ldexp(vehicle_cost, exponent))
    halves[:, 0] += math.floor(math.ldexp(vehicle_cost, exponent))
    np.fill_diagonal(halves, 0.0)
    together = demands[:, None] + demands[None, :]
    allowed &= together <= capacity
    np.fill_diagonal(allowed, False)
    steps, limit = _count_in_steps(demands, capacity)
    fractions = np.append(distances[distances <= cost], vehicle_cost)
    return WholeInstance(
        costs=halves.astype(np.int64),
        unit=Fraction(2) ** exponent,
        demands=demands,
        capacity=capacity,
        steps=steps,
        limit=limit,
        vehicles=min(instance.vehicles, instance.num_customers),
        fewest=instance.minimum_vehicles,
        allowed=allowed,
        whole=bool((fractions == np.floor(fractions)).all() and cost < 2**40),
        symmetric=bool(np.array_equal(distances, distances.T)),
    )


def _count_in_steps(
    demands: NDArray[np.int64], capacity: int
) -> tuple[NDArray[np.int64], int]:
    """
    Return demands and capacity as small whole numbers, called steps.

    Each customer has at least 1 step. Demands and capacity are divided by a number and
    rounded down. The number is so large that the returned capacity is at most
    _MOST_STEPS, or the number of locations if that is larger. Let z be the number of
    customers whose demand becomes 0. Each of them gets the demand 1, and all other
    demands are multiplied by z + 1. The capacity is multiplied by z + 1 as well, and z
    is added to it. So every tour that is within the capacity and visits each customer
    at most once is also within the returned capacity.
    """
    common = int(np.gcd.reduce(demands)) or 1
    coarse = common
    while True:
        steps, limit = demands // coarse, capacity // coarse
        limit = min(limit, int(steps.sum()))
        small = int((steps[1:] == 0).sum())
        if (limit + 1) * (small + 1) <= max(_MOST_STEPS, len(demands) + 1):
            break
        coarse = coarse * 3 // 2 + 1
    steps = np.where(steps == 0, 1, steps * (small + 1))
    steps[0] = 0
    return steps, limit * (small + 1) + small
