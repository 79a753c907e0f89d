"""
Measure how fast a core is, by the time of a fixed computation.

The time is measured in the process that runs the methods. To compare running times of
different machines, divide them by this time. It is a rough measure: it ignores what a
method gains from a larger cache or wider instructions.
"""

from __future__ import annotations

import time
from functools import cache

__all__ = ["core_seconds"]

_LENGTH, _TIMES = 20_000, 5


@cache
def core_seconds() -> float:
    """
    Return the processor time of a fixed computation, in seconds.

    It is measured once per process; later calls return the same number.

    The computation sorts numbers that are in a fixed random order. A processor cannot
    predict the comparisons; the same holds for the code on which solvers spend their
    time. The computation is repeated, and the smallest time is returned, so that other
    programs hardly affect the result.
    """
    numbers, number = [], 1
    for _ in range(_LENGTH):
        number = number * 1_103_515_245 % 2_147_483_647
        numbers.append(number)
    times = []
    for _ in range(_TIMES):
        begin = time.process_time()
        sorted(numbers)
        times.append(time.process_time() - begin)
    return round(min(times), 6)
