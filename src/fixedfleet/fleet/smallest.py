"""The smallest fleet that suffices, closed in on from below and from above."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

from fixedfleet.fleet import exact
from fixedfleet.fleet.bounds import martello_toth, reduce, volume
from fixedfleet.fleet.heuristics import best_fit, fill
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fixedfleet.fleet.heuristics import Packing

__all__ = ["SmallestFleet", "in_vehicles"]

_DRAWN_PACKINGS = 3


def in_vehicles(count: int) -> str:
    """Write a number of vehicles."""
    return "1 vehicle" if count == 1 else f"{count} vehicles"


class SmallestFleet:
    """
    What is known of the smallest fleet, from below by proofs and above by a packing.

    Demands of zero take no room and are left out; the unit is as coarse as can be.
    """

    def __init__(self, demands: Sequence[int], capacity: int) -> None:
        given = [size for size in demands if size]
        self.total, self.asked = sum(given), capacity
        self.unit = math.gcd(*given) or 1
        self.sizes = [size // self.unit for size in given]
        self.capacity = capacity // self.unit
        self.packing: Packing = best_fit(self.sizes, self.capacity)
        self.lower = max(1, volume(self.sizes, self.capacity))
        self.proofs: list[tuple[int, str]] = []
        self.fixed: list[tuple[int, ...]] = []
        self.rest = self.sizes
        self.narrowed = False
        if self.open:
            bound = martello_toth(self.sizes, self.capacity)
            self._prove(bound, f"the Martello–Toth bound is {in_vehicles(bound)}")

    @property
    def upper(self) -> int:
        return max(1, len(self.packing))

    @property
    def open(self) -> bool:
        return self.lower < self.upper

    def run(self, vehicles: int, time_limit: float) -> None:
        """Decide the fleet that was asked about first, then the smallest one."""
        left = self.decide(vehicles, time_limit)
        while self.open:
            before = self.lower
            left = self.decide(before, left)
            if self.lower == before and self.open:  # undecided
                return

    def decide(self, vehicles: int, seconds: float) -> float:
        """Raise the lower bound above ``vehicles``, or pack; return seconds left."""
        if self._leaves_open(vehicles):
            self._narrow()
        if not self._leaves_open(vehicles) or seconds <= 0:
            return seconds
        exact.load()  # the limit is for the search, not for the import
        begin = time.perf_counter()
        answer = exact.pack_exactly(
            self.rest, self.capacity, vehicles - len(self.fixed), seconds
        )
        if answer == "impossible":
            fleet = in_vehicles(vehicles)
            self._prove(
                vehicles + 1,
                f"every way to pack the demands into {fleet} was ruled out",
            )
        elif answer != "undecided":
            self._keep([*map(list, self.fixed), *answer])
        return seconds - (time.perf_counter() - begin)

    def proof_against(self, vehicles: int, amount: Callable[[int], int | float]) -> str:
        """Return the simplest proof that so many vehicles do not suffice."""
        carried = vehicles * self.asked
        if self.total > carried:
            return f"the demands sum to {amount(self.total)} of {amount(carried)}"
        filled = self.capacity * self.unit
        if self.total > vehicles * filled:
            return (
                f"every demand is a multiple of {amount(self.unit)}, so a vehicle "
                f"carries no more than {amount(filled)} of {amount(self.asked)}, and "
                f"the demands sum to {amount(self.total)} of "
                f"{amount(vehicles * filled)}"
            )
        return next(proof for bound, proof in self.proofs if bound > vehicles)

    def _leaves_open(self, vehicles: int) -> bool:
        return self.lower <= vehicles < self.upper

    def _narrow(self) -> None:
        """Take dearer packings, and fix the vehicles that can be fixed."""
        if self.narrowed:
            return
        self.narrowed = True
        for rng in (None, *map(Random, range(_DRAWN_PACKINGS))):
            if self.open:
                self._keep(fill(self.sizes, self.capacity, rng))
        if self.open:
            self.fixed, self.rest = reduce(self.sizes, self.capacity)
            self._keep([*map(list, self.fixed), *best_fit(self.rest, self.capacity)])
            bound = len(self.fixed) + martello_toth(self.rest, self.capacity)
            self._prove(
                bound,
                f"the Martello–Toth bound after reduction is {in_vehicles(bound)}",
            )

    def _prove(self, bound: int, proof: str) -> None:
        if bound > self.lower:
            self.lower = bound
            self.proofs.append((bound, proof))

    def _keep(self, packing: Packing | None) -> None:
        if packing is not None and len(packing) < self.upper:
            self.packing = packing

    def plan(self, demands: Sequence[int]) -> Plan:
        """Put customers in the place of demands; those of zero ride in tour 1."""
        customers = defaultdict(list)
        for customer, demand in enumerate(demands, 1):
            customers[demand].append(customer)
        tours = [
            [customers[size * self.unit].pop() for size in vehicle]
            for vehicle in self.packing
        ]
        first, *others = tours or [[]]
        return Plan([[*first, *customers[0]], *others])
