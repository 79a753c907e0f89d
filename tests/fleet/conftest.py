"""Exact methods of the tests' own, to hold the fleet's verdicts against."""

from __future__ import annotations

from functools import cache

import pytest


@pytest.fixture(scope="session")
def fewest():
    """Return the fewest vehicles by dynamic programming over all sets of customers."""

    def by_subsets(sizes, capacity) -> int:
        best = [(0, capacity)]  # for each set: vehicles, load of the last one
        for subset in range(1, 1 << len(sizes)):
            ways = []
            for index, size in enumerate(sizes):
                if subset >> index & 1:
                    count, load = best[subset ^ 1 << index]
                    fits = load + size <= capacity
                    ways.append((count, load + size) if fits else (count + 1, size))
            best.append(min(ways))
        return max(1, best[-1][0])

    return by_subsets


@pytest.fixture(scope="session")
def fits():
    """Return whether demands fit, by going through all loads of each vehicle."""

    def by_loads(sizes, capacity, vehicles) -> bool:
        @cache
        def fit(rest, left) -> bool:  # rest: demands in falling order
            slack = left * capacity - sum(rest)
            if not rest or slack < 0:
                return not rest
            return any(
                fit(after, left - 1)
                for after in _rests(rest[1:], capacity - rest[0], slack)
            )

        return fit(tuple(sorted(sizes, reverse=True)), vehicles)

    return by_loads


def _rests(sizes, room, slack):
    """What a vehicle leaves that wastes no more than the slack, for all its loads."""
    if not sizes or sizes[-1] > room:
        if room <= slack:
            yield sizes
        return
    size = sizes[0]
    same = sizes.count(size)
    for taken in range(min(same, room // size), -1, -1):
        for rest in _rests(sizes[same:], room - taken * size, slack):
            yield (size,) * (same - taken) + rest
