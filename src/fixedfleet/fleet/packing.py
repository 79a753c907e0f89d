"""
Quick packings of demands into vehicles. A packing proves that a fleet suffices.

All demands must be from 1 to the capacity.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.deadline import Deadline
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch

__all__ = ["Packing", "best_fit", "best_fit_batch", "fill", "is_quick", "take_fullest"]

# For each vehicle, the demands that it carries.
Packing = list[list[int]]

# `fill` takes one step per vehicle and demand, on an integer with one bit per unit of
# capacity. With more work than this, it would take more than a second.
_MOST_WORK = 5_000_000
_MOST_BITS = 2**30  # limit on the size of all these integers together: 128 MiB
_NEVER = Deadline()


def best_fit(sizes: Sequence[int], capacity: int) -> Packing:
    """
    Return a packing by best fit: the demands of each vehicle.

    Each demand, the largest first, is put into the vehicle where it leaves the least
    free capacity. A further vehicle is used only if the demand fits into none.
    """
    packing: Packing = []
    rooms: list[tuple[int, int]] = []  # (free capacity, vehicle), ascending
    for size in sorted(sizes, reverse=True):
        place = bisect_left(rooms, (size, 0))
        if place < len(rooms):
            room, vehicle = rooms.pop(place)
            packing[vehicle].append(size)
        else:
            room, vehicle = capacity, len(packing)
            packing.append([size])
        insort(rooms, (room - size, vehicle))
    return packing


def best_fit_batch(batch: InstanceBatch) -> tuple[PlanBatch, NDArray[np.bool_]]:
    """
    Pack all instances of a batch by best fit.

    Return (plans, packed). ``packed`` has shape (B,) and says which plans serve every
    customer within capacity and fleet. The other plans must not be used.
    """
    from fixedfleet.fleet.packing_loop import best_fit_rows

    fleet = np.minimum(batch.vehicles, batch.sizes)  # further vehicles would stay empty
    largest = batch.demands.max(initial=0)
    # Small integers are sorted faster. Padding comes last.
    below = (largest - batch.demands).astype(np.min_scalar_type(largest))
    order = np.argsort(below, axis=1, kind="stable")
    vehicles, packed = best_fit_rows(
        batch.demands, order, batch.sizes, batch.capacity, fleet
    )
    return PlanBatch.from_vehicles(vehicles, int(fleet.max(initial=1))), packed


def fill(
    sizes: Sequence[int],
    capacity: int,
    rng: Random | None = None,
    deadline: Deadline = _NEVER,
) -> Packing | None:
    """
    Return a packing that fills one vehicle after the other as far as possible.

    With ``rng``, each vehicle takes one of its fullest loads at random, so that demands
    of all sizes are left for the last vehicles. This is best if many demands share a
    vehicle. Without ``rng``, each vehicle takes the largest demand that is left and
    fills up with others. This is best if few demands share a vehicle. Return None if
    this would take more than a second, or if the deadline is over first.
    """
    if not is_quick(len(sizes), capacity, sum(sizes) // capacity + 1):
        return None
    rest = sorted(sizes)
    packing: Packing = []
    while rest:
        if deadline.over():
            return None
        vehicle = []
        if rng is None:
            vehicle.append(rest.pop())
        else:
            rng.shuffle(rest)
        vehicle += take_fullest(rest, capacity - sum(vehicle))
        packing.append(vehicle)
    return packing


def is_quick(demands: int, capacity: int, vehicles: int) -> bool:
    """
    Return whether :func:`fill` is expected to take less than a second.

    ``demands`` is the number of demands.
    """
    work = demands * vehicles * (1 + capacity // 4096)
    return work <= _MOST_WORK and demands * capacity <= _MOST_BITS


def take_fullest(rest: list[int], room: int) -> list[int]:
    """
    Remove the demands from ``rest`` that fill a vehicle best; return them.

    Among all sets of demands with a sum of at most ``room``, they have the largest sum.
    """
    within = (1 << (room + 1)) - 1
    sums = [1]  # bit s of sums[i]: some of the first i demands add up to s
    for size in rest:
        sums.append(
            (sums[-1] | sums[-1] << size) & within if size <= room else sums[-1]
        )
    target = sums[-1].bit_length() - 1
    taken = []
    for index in range(len(rest) - 1, -1, -1):
        size = rest[index]
        if size <= target and sums[index] >> (target - size) & 1:
            taken.append(rest.pop(index))
            target -= size
    return taken
