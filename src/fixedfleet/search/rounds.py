"""Rounds: steps of equal length, into which simulated annealing is divided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixedfleet.deadline import Deadline

__all__ = ["Round", "rounds"]


@dataclass(frozen=True)
class Round:
    """
    One round of a search.

    Attributes
    ----------
    number
        The number of the round, from 0.
    deadline
        When the round ends. If iterations are limited, this deadline limits them to the
        iterations of this round.
    begin, end
        The shares of the whole limit that are used before and after the round.
    """

    number: int
    deadline: Deadline
    begin: float
    end: float

    def between(self, hot: float, cold: float) -> tuple[float, float]:
        """
        Return the first and the last temperature of this round.

        During the whole search, the temperature falls geometrically from hot to cold.
        """
        return hot * (cold / hot) ** self.begin, hot * (cold / hot) ** self.end


def rounds(
    deadline: Deadline, count: int, min_seconds: Callable[[], float] = lambda: 0.0
) -> Iterator[Round]:
    """
    Yield the rounds of a search, about ``count`` of them.

    With a limit on iterations, all rounds have the same number of iterations, but the
    last one may have fewer, so that their sum is the limit. With a time limit, all
    rounds have the same planned duration, and there are fewer rounds if some take
    longer than planned. ``min_seconds`` is called before each round and returns the
    shortest duration that the round may have.
    """
    number, done = 0, 0
    while not deadline.over():
        if deadline.iterations is None:
            begin = deadline.used()
            share = max(1 / count, min_seconds() / deadline.seconds)
            end = min(1.0, begin + share)
            yield Round(number, deadline.until(end), begin, end)
        else:
            if done >= deadline.iterations:
                return
            equal = -(-deadline.iterations // count)
            iterations = min(equal, deadline.iterations - done)
            limited = replace(deadline, iterations=iterations)
            begin = done / deadline.iterations
            done += iterations
            end = done / deadline.iterations
            yield Round(number, limited, begin, end)
        number += 1
