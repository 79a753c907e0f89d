"""Lower bounds on the number of vehicles. Demands are from 1 to the capacity."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["martello_toth", "volume"]


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
