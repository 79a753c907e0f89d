"""
Packings into vehicles of several types, and proofs that there is no packing.

Only loads matter here: a vehicle type is a capacity and a number of vehicles.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.fleet import exact_packing
from fixedfleet.fleet.packing import is_quick, take_fullest
from fixedfleet.plan import Plan
from fixedfleet.wording import count, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance, VehicleType

    # The index of a vehicle's type, and the demands that the vehicle carries.
    Load = tuple[int, list[int]]

__all__ = ["MixedFleet", "name_type"]


class MixedFleet:
    """
    Decide whether vehicles of several types can carry the demands of an instance.

    Every demand must fit into the largest vehicle. ``packing`` is None until a packing
    is found, and ``proof`` is empty until the fleet is proven to be too small. The
    constructor tries quick packings and a quick proof; :meth:`search` runs the exact
    search.
    """

    def __init__(self, instance: Instance, deadline: Deadline) -> None:
        self.instance = instance
        demands = [units for units in instance.demand_units.tolist() if units]
        # Demands of zero fit anywhere. Dividing by common factors saves work.
        self.unit = math.gcd(*demands) or 1
        self.sizes = sorted((units // self.unit for units in demands), reverse=True)
        self.capacities = [units // self.unit for units in instance.type_capacity_units]
        self.counts = [min(one.count, len(demands) or 1) for one in instance.fleet]
        self.proof = self._prove_by_sums()
        self.packing: list[Load] | None = None
        if not self.proof:
            self.packing = self._pack(self.counts, deadline)

    @property
    def open(self) -> bool:
        """Whether it is still unknown if the fleet suffices."""
        return self.packing is None and not self.proof

    def search(self, deadline: Deadline) -> None:
        """Decide by the exact search whether the fleet suffices, if time allows."""
        if not self.open or deadline.over():
            return
        fleet: dict[int, int] = defaultdict(int)  # vehicles by capacity
        for capacity, vehicles in zip(self.capacities, self.counts, strict=True):
            fleet[capacity] += vehicles
        answer = exact_packing.pack_mixed(self.sizes, dict(fleet), deadline)
        if answer == "impossible":
            self.proof = "every way to pack the demands into the fleet was ruled out"
        elif not isinstance(answer, str):
            self.packing = self._give_types(answer)

    def plan(self) -> Plan | None:
        """
        Return the packing as a plan; None if no packing is known.

        The first tour also serves the customers whose demand is 0.
        """
        return None if self.packing is None else self._to_plan(self.packing)

    def additions(self, deadline: Deadline) -> tuple[VehicleType, Plan] | None:
        """
        Return vehicles of one type to add so that the fleet suffices, and a packing.

        The ``count`` of the returned type is the number of vehicles to add. The type
        that needs the fewest vehicles is chosen; then the one with the lowest fixed
        cost; then the smallest. Return None if the deadline is over first.
        """
        best: tuple[int, float, int, int] | None = None
        plan = Plan([])
        missing = sum(self.sizes) - sum(room for room, _ in self._rooms(self.counts))
        for index, one in enumerate(self.instance.fleet):
            capacity = self.capacities[index]
            if not capacity:
                continue
            number = max(1, -(-missing // capacity))
            while best is None or number <= best[0]:
                if deadline.over():
                    return None
                value = (number, one.fixed_cost, capacity, index)
                if best is not None and value >= best:
                    break
                more = list(self.counts)
                more[index] += number
                if (packing := self._pack(more, deadline)) is not None:
                    best, plan = value, self._to_plan(packing)
                    break
                if number > len(self.sizes):  # some demand exceeds this type
                    break
                number += 1
        if best is None:
            return None
        return replace(self.instance.fleet[best[3]], count=best[0]), plan

    def _prove_by_sums(self) -> str:
        """
        Return a proof, as a sentence, that the fleet is too small; "" if there is none.

        For each capacity, the demands above it are added up. If the larger vehicles
        cannot carry their sum, the fleet is too small.
        """
        amount, unit = self.instance.amount, self.instance.unit
        demands = self.instance.demand_units
        capacities: dict[int, int] = defaultdict(int)  # vehicles by capacity
        for capacity, one in zip(
            self.instance.type_capacity_units, self.instance.fleet, strict=True
        ):
            capacities[capacity] += one.count
        for least in sorted({0, *capacities}):
            demand = int(demands[demands > least].sum())
            room = sum(c * number for c, number in capacities.items() if c > least)
            if demand > room:
                most = with_unit(str(amount(room)), unit)
                if not least:
                    return (
                        f"the demands sum to {amount(demand)}, but the fleet carries "
                        f"{most}"
                    )
                return (
                    f"the demands above {amount(least)} sum to {amount(demand)}, but "
                    f"the vehicles that are large enough for them carry {most}"
                )
        return ""

    def _pack(self, counts: Sequence[int], deadline: Deadline) -> list[Load] | None:
        """
        Return a quick packing into the fleet, or None if none is found.

        ``counts`` has the number of vehicles of each type. The packing has (index of
        type, demands) of each vehicle.
        """
        rooms = sorted(self._rooms(counts))
        packing = best_fit_into(self.sizes, rooms)
        for order in (rooms[::-1], rooms):
            if packing is None and not deadline.over():
                packing = fill_in_order(self.sizes, order, deadline)
        return packing

    def _rooms(self, counts: Sequence[int]) -> list[tuple[int, int]]:
        """
        Return (capacity, index of type) of each vehicle.

        ``counts`` has the number of vehicles of each type.
        """
        return [
            (self.capacities[index], index)
            for index, number in enumerate(counts)
            for _ in range(number)
        ]

    def _give_types(self, packing: Sequence[tuple[int, list[int]]]) -> list[Load]:
        """
        Return a packing with vehicle types instead of capacities.

        The given packing has (capacity, demands) of each vehicle. The returned packing
        has (index of type, demands) of each vehicle.
        """
        free: dict[int, list[int]] = defaultdict(list)
        for capacity, index in self._rooms(self.counts):
            free[capacity].append(index)
        return [(free[capacity].pop(), sizes) for capacity, sizes in packing]

    def _to_plan(self, packing: list[Load]) -> Plan:
        customers = defaultdict(list)
        for customer, units in enumerate(self.instance.demand_units.tolist()[1:], 1):
            customers[units // self.unit].append(customer)
        tours = [[customers[size].pop() for size in sizes] for _, sizes in packing]
        types = [index for index, _ in packing]
        if not any(tours):
            tours, types = [[]], [0]
        place = next((i for i, tour in enumerate(tours) if tour), 0)
        tours[place] += customers[0]
        return Plan(tours, types)


def best_fit_into(
    sizes: Sequence[int], rooms: Sequence[tuple[int, int]]
) -> list[Load] | None:
    """
    Pack each demand into the vehicle where it leaves the least free capacity.

    ``sizes`` has the demands in descending order. ``rooms`` has the (capacity, index of
    type) of each vehicle in ascending order. Return (index of type, demands) of each
    vehicle, or None if a demand fits nowhere.
    """
    packing: list[Load] = [(index, []) for _, index in rooms]
    left = [(room, vehicle) for vehicle, (room, _) in enumerate(rooms)]
    for size in sizes:
        place = bisect_left(left, (size, 0))
        if place == len(left):
            return None
        room, vehicle = left.pop(place)
        packing[vehicle][1].append(size)
        insort(left, (room - size, vehicle))
    return packing


def fill_in_order(
    sizes: Sequence[int], rooms: Sequence[tuple[int, int]], deadline: Deadline
) -> list[Load] | None:
    """
    Fill one vehicle after the other as far as possible, in the order of ``rooms``.

    ``rooms`` has the (capacity, index of type) of each vehicle. Return (index of type,
    demands) of each vehicle. Return None if demands are left, if filling would take too
    long, or if the deadline is over first.
    """
    if not is_quick(len(sizes), max(room for room, _ in rooms), len(rooms)):
        return None
    rest, packing = sorted(sizes), []
    for room, index in rooms:
        if deadline.over():
            return None
        packing.append((index, take_fullest(rest, min(room, sum(rest)))))
    return None if rest else packing


def name_type(one: VehicleType) -> str:
    """
    Return a text about vehicles to add, such as "2 more vehicles of type 'large'".

    ``one.count`` is the number of vehicles to add.
    """
    kind = f"type {one.name!r}" if one.name else f"capacity {one.capacity:g}"
    return f"{count(one.count, 'more vehicle')} of {kind}"
