"""Lower bounds on the vehicles that demands need, and what can be fixed at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["martello_toth", "reduce", "volume"]


def volume(sizes: Sequence[int], capacity: int) -> int:
    """⌈Σq/Q⌉, the vehicles that the sum of the demands needs."""
    return -(-sum(sizes) // capacity)


def martello_toth(sizes: Sequence[int], capacity: int) -> int:
    """
    Martello and Toth's bound L2 over all its thresholds, in whole numbers.

    For a threshold a ≤ Q/2, no two of the demands above Q/2 share a vehicle, those
    above Q − a leave no room for a demand of a or more, and the demands from a to Q/2
    must go into what the others leave or into further vehicles. The largest count
    over all a is the bound. It is never below ⌈Σq/Q⌉ (a = 0).

    Parameters
    ----------
    sizes
        Demands from 1 to the capacity.
    capacity
        What one vehicle carries.
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


def reduce(
    sizes: Sequence[int], capacity: int
) -> tuple[list[tuple[int, ...]], list[int]]:
    """
    Fix the vehicles that some packing into the fewest vehicles has.

    Two rules, each by exchange: demands x + y = Q may share a vehicle, for whatever
    else rides with x fits into the place of y; and if beside the largest demand x at
    most one other fits, the largest that fits may ride with it.

    Returns
    -------
    tuple
        The fixed vehicles, as tuples of demands, and the demands that remain, in
        falling order. Fewest vehicles = number fixed + fewest for the rest.
    """
    counts = Counter(sizes)
    fixed: list[tuple[int, ...]] = []
    for size in sorted(counts):
        if 2 * size > capacity:
            break
        twin = capacity - size
        pairs = counts[size] // 2 if twin == size else min(counts[size], counts[twin])
        fixed.extend([(twin, size)] * pairs)
        counts[size] -= pairs
        counts[twin] -= pairs
    rest = sorted(counts.elements())
    while rest:
        room = capacity - rest[-1]
        fitting = bisect_right(rest, room, hi=len(rest) - 1)
        if fitting == 0:
            fixed.append((rest.pop(),))
        elif fitting == 1 or rest[0] + rest[1] > room:
            largest = rest.pop()
            fixed.append((largest, rest.pop(fitting - 1)))
        else:
            break
    return fixed, rest[::-1]
