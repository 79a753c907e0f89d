"""Quick packings: witnesses for a fleet that suffices."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

__all__ = ["Packing", "best_fit", "fill"]

# The demands that ride together, for each vehicle.
Packing = list[list[int]]

# Filling vehicles one by one takes a step for each vehicle and demand, on a number of
# as many bits as the capacity has units; more than this many words take over a second.
_MOST_WORK = 5_000_000


def best_fit(sizes: Sequence[int], capacity: int) -> Packing:
    """
    Put each demand, the largest first, into the vehicle it leaves the least room in.

    Parameters
    ----------
    sizes
        Demands from 1 to the capacity.
    capacity
        What one vehicle carries.
    """
    packing: Packing = []
    rooms: list[tuple[int, int]] = []  # (room, vehicle), rising
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


def fill(
    sizes: Sequence[int], capacity: int, rng: Random | None = None
) -> Packing | None:
    """
    Fill one vehicle after the other as far as can be.

    Parameters
    ----------
    sizes
        Demands from 1 to the capacity.
    capacity
        What one vehicle carries.
    rng
        Where given, which of the fullest loads a vehicle takes is drawn, so that the
        last vehicles still have demands of all sizes to choose from: best where many
        demands share a vehicle. Without it, a vehicle takes the largest demand left
        and fills up with large ones: best where few do.

    Returns
    -------
    Packing or None
        None where this would take too long: too many demands or units.
    """
    vehicles = sum(sizes) // capacity + 1
    if len(sizes) * vehicles * (1 + capacity // 4096) > _MOST_WORK:
        return None
    rest = sorted(sizes)
    packing: Packing = []
    while rest:
        vehicle = []
        if rng is None:
            vehicle.append(rest.pop())
        else:
            rng.shuffle(rest)
        vehicle += _take_fullest(rest, capacity - sum(vehicle))
        packing.append(vehicle)
    return packing


def _take_fullest(rest: list[int], room: int) -> list[int]:
    """Take the demands with the largest sum in room out of rest, late ones first."""
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
