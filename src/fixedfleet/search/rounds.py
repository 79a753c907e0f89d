"""Rounds: a search whose temperature falls is divided into steps of equal length."""

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
        Its number, from 0.
    deadline
        When it ends. It has the iterations of the round if these are limited.
    begin, end
        The shares of the whole limit that are used before and after it.
    """

    number: int
    deadline: Deadline
    begin: float
    end: float

    def between(self, hot: float, cold: float) -> tuple[float, float]:
        """Return the temperatures of the round if the search cools geometrically."""
        return hot * (cold / hot) ** self.begin, hot * (cold / hot) ** self.end


def rounds(
    deadline: Deadline, count: int, min_seconds: Callable[[], float] = lambda: 0.0
) -> Iterator[Round]:
    """
    Divide a search into this many rounds.

    If iterations are limited, each round has the same number of them. Otherwise the
    clock says how much of the limit is used, because a round may take longer than
    planned on a busy machine, and there may be fewer rounds. ``min_seconds`` is asked
    before each round for the seconds that it must have.
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
            iterations = -(-deadline.iterations // count)
            limited = replace(deadline, iterations=iterations)
            begin = done / deadline.iterations
            done += iterations
            end = min(1.0, done / deadline.iterations)
            yield Round(number, limited, begin, end)
        number += 1
