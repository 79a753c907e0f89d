"""How fast a core is: a fixed computation, timed in the process that runs methods.

Times of different machines can be compared after division by this time. It is a rough
measure: it ignores what a method gains from a larger cache or wider instructions.
"""

from __future__ import annotations

import time
from functools import cache

__all__ = ["core_seconds"]

_LENGTH, _TIMES = 20_000, 5


@cache
def core_seconds() -> float:
    """
    Return the processor time of a fixed computation, measured once per process.

    It sorts numbers in a fixed random order, whose comparisons no processor can
    predict: the solvers spend their time on such code. The least of several times
    counts, so that other programs hardly change it.
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
