"""Lower bounds on the number of vehicles, and the reduction of the demands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["martello_toth", "reduce", "volume"]


def volume(sizes: Sequence[int], capacity: int) -> int:
    """Return ⌈Σq/Q⌉, the number of vehicles that the sum of the demands needs."""
    return -(-sum(sizes) // capacity)


def martello_toth(sizes: Sequence[int], capacity: int) -> int:
    """
    Return Martello and Toth's lower bound L2, the largest over all thresholds.

    Take a threshold a ≤ Q/2. No two demands above Q/2 share a vehicle, and a demand
    above Q − a leaves no room for a demand of a or more. So the demands from a to Q/2
    must fit beside the demands from Q/2 to Q − a, or into further vehicles. With a = 0,
    the bound is at least ⌈Σq/Q⌉.

    Parameters
    ----------
    sizes
        Demands from 1 to the capacity.
    capacity
        The largest load of a vehicle.
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


def reduce(sizes: Sequence[int], capacity: int) -> tuple[list[list[int]], list[int]]:
    """
    Fix the loads of some vehicles without needing more vehicles in total.

    There are two rules. If x + y = Q, then x and y may share a vehicle, because
    whatever shares a vehicle with x in another packing fits into the place of y. If at
    most one other demand fits beside the largest demand x, then the largest one that
    fits may share a vehicle with x.

    Returns
    -------
    tuple
        The demands of each fixed vehicle, and the other demands in falling order. The
        fewest vehicles are those fixed and the fewest for the other demands.
    """
    counts = Counter(sizes)
    fixed: list[list[int]] = []
    for size in sorted(counts):
        if 2 * size > capacity:
            break
        twin = capacity - size
        pairs = counts[size] // 2 if twin == size else min(counts[size], counts[twin])
        fixed.extend([twin, size] for _ in range(pairs))
        counts[size] -= pairs
        counts[twin] -= pairs
    rest = sorted(counts.elements())
    while rest:
        room = capacity - rest[-1]
        fitting = bisect_right(rest, room, hi=len(rest) - 1)
        if fitting == 0:
            fixed.append([rest.pop()])
        elif fitting == 1 or rest[0] + rest[1] > room:
            largest = rest.pop()
            fixed.append([largest, rest.pop(fitting - 1)])
        else:
            break
    return fixed, rest[::-1]
