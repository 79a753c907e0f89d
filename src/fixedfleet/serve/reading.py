"""Reading bodies in threads: a few at a time, and no more waiting than may wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from anyio import CapacityLimiter, to_thread

from fixedfleet.serve.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Reading"]

T = TypeVar("T")

_THREADS = 2  # more would only take turns, and hold memory meanwhile
_PAUSE = 2  # seconds after which to ask again


class Reading:
    """
    Runs what reads a body where it does not hold up other answers.

    Parameters
    ----------
    waiting
        Bodies that may wait to be read; the next is answered with 503.
    """

    def __init__(self, waiting: int) -> None:
        self._waiting = waiting
        self._limiter = CapacityLimiter(_THREADS)

    async def run(self, read: Callable[[], T]) -> T:
        """
        Run a function in a thread once its turn has come.

        Raises
        ------
        ApiError
            With 503, if too many wait already.
        """
        if self._limiter.statistics().tasks_waiting >= self._waiting:
            raise ApiError(
                503,
                f"{self._waiting} instances wait to be read already",
                retry_after=_PAUSE,
            )
        return await to_thread.run_sync(read, limiter=self._limiter)
