"""Lower and upper bounds on the smallest fleet that suffices."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

from fixedfleet.fleet import exact_packing
from fixedfleet.fleet.packing import best_fit, fill
from fixedfleet.plan import Plan
from fixedfleet.wording import count, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.deadline import Deadline
    from fixedfleet.fleet.packing import Packing
    from fixedfleet.instance import Instance

__all__ = ["SmallestFleet", "martello_toth"]

_RANDOM_PACKINGS = 3


class SmallestFleet:
    """
    Bounds on the smallest fleet that can carry the demands of an instance.

    Every demand must fit into a vehicle. Each lower bound has a proof, and the upper
    bound is the number of vehicles of a packing. The constructor computes quick bounds
    and packings; only the first packing ignores the deadline. :meth:`search` runs the
    exact search.
    """

    def __init__(self, instance: Instance, deadline: Deadline) -> None:
        self.instance = instance
        # Demands of zero fit anywhere. Dividing by common factors saves work.
        demands = [units for units in instance.demand_units.tolist() if units]
        self.unit = math.gcd(*demands) or 1
        self.sizes = [units // self.unit for units in demands]
        self.capacity = instance.capacity_units // self.unit
        self.packing: Packing = best_fit(self.sizes, self.capacity)
        self.lower: int = max(1, -(-sum(self.sizes) // self.capacity))
        self.proofs: list[tuple[int, str]] = []
        if self.open:
            bound = martello_toth(self.sizes, self.capacity)
            proof = f"the Martello–Toth bound is {count(bound, 'vehicle')}"
            self._raise_lower(bound, proof)
        for rng in (None, *map(Random, range(_RANDOM_PACKINGS))):
            if self.open and not deadline.over():
                self._keep(fill(self.sizes, self.capacity, rng, deadline))

    @property
    def upper(self) -> int:
        """The number of vehicles of the best packing."""
        return max(1, len(self.packing))

    @property
    def open(self) -> bool:
        """Whether the size of the smallest fleet is still unknown."""
        return self.lower < self.upper

    def search(self, vehicles: int, deadline: Deadline) -> None:
        """
        Run the exact search for this number of vehicles, then for the smallest fleet.

        The second part tries the lower bound and then larger fleets. It ends when the
        smallest fleet is known, when the deadline is over, or at the first fleet that
        it cannot decide.
        """
        self._decide(vehicles, deadline)
        while self.open:
            before = self.lower
            self._decide(before, deadline)
            if self.lower == before and self.open:
                return

    def proof_against(self, vehicles: int) -> str:
        """Return the simplest proof that this number of vehicles does not suffice."""
        amount, unit = self.instance.amount, self.instance.unit
        capacity = self.instance.capacity_units
        total = self.unit * sum(self.sizes)
        if total > vehicles * capacity:
            most = with_unit(str(amount(vehicles * capacity)), unit)
            return f"the demands sum to {amount(total)}, but the fleet carries {most}"
        used = self.unit * self.capacity
        if total > vehicles * used:
            return (
                f"every demand is a multiple of {amount(self.unit)}, so a vehicle "
                f"carries at most {amount(used)} of {amount(capacity)}, and the "
                f"demands sum to {amount(total)}, but the fleet carries "
                f"{with_unit(str(amount(vehicles * used)), unit)}"
            )
        return next(proof for bound, proof in self.proofs if bound > vehicles)

    def plan(self) -> Plan:
        """
        Return the best packing as a plan.

        The first tour also serves the customers whose demand is 0.
        """
        customers = defaultdict(list)
        for customer, units in enumerate(self.instance.demand_units.tolist()[1:], 1):
            customers[units].append(customer)
        tours = [
            [customers[size * self.unit].pop() for size in vehicle]
            for vehicle in self.packing
        ]
        first, *others = tours or [[]]
        return Plan([[*first, *customers[0]], *others])

    def _decide(self, vehicles: int, deadline: Deadline) -> None:
        """Decide by the exact search whether this number of vehicles suffices."""
        if not self.lower <= vehicles < self.upper or deadline.over():
            return
        answer = exact_packing.pack_exactly(
            self.sizes, self.capacity, vehicles, deadline
        )
        if answer == "impossible":
            fleet = count(vehicles, "vehicle")
            proof = f"every way to pack the demands into {fleet} was ruled out"
            self._raise_lower(vehicles + 1, proof)
        elif answer != "undecided":
            self._keep(answer)

    def _raise_lower(self, bound: int, proof: str) -> None:
        """Store a lower bound and its proof, if it is higher than the best so far."""
        if bound > self.lower:
            self.lower = bound
            self.proofs.append((bound, proof))

    def _keep(self, packing: Packing | None) -> None:
        """Store a packing, if it needs fewer vehicles than the best so far."""
        if packing is not None and len(packing) < self.upper:
            self.packing = packing


def martello_toth(sizes: Sequence[int], capacity: int) -> int:
    """
    Return Martello and Toth's lower bound L2 for demands from 1 to the capacity.

    Take a threshold a ≤ Q/2. No two demands above Q/2 share a vehicle, and a demand
    above Q − a leaves no room for a demand of a or more. So the demands from a to Q/2
    must fit beside the demands from Q/2 to Q − a, or into further vehicles. L2 is the
    largest of these bounds over all thresholds. Because a = 0 is among them, L2 is at
    least ⌈Σq/Q⌉.
    """
    ordered = sorted(sizes)
    sums = list(accumulate(ordered, initial=0))
    half = bisect_right(ordered, capacity // 2)  # ordered[half:] are above Q/2
    best = 0
    for threshold in [0, *dict.fromkeys(ordered[:half])]:
        low = bisect_left(ordered, threshold)
        high = max(half, bisect_right(ordered, capacity - threshold))
        room = (high - half) * capacity - (sums[high] - sums[half])
        overflow = max(0, sums[half] - sums[low] - room)
        best = max(best, len(ordered) - half - (-overflow // capacity))
    return best
