"""What passes between a running job and its parent: calls and events."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["STEP_SECONDS", "Call", "Done", "Event", "Lost", "Message", "Todo"]

# Longest wait for an event; then time limits and Ctrl-C are checked again.
STEP_SECONDS = 0.25


@dataclass(frozen=True)
class Message:
    """A running job has sent a value."""

    job: Any
    value: Any


@dataclass(frozen=True)
class Done:
    """A job has returned a value."""

    job: Any
    value: Any


@dataclass(frozen=True)
class Lost:
    """
    The worker of a job died, or was killed because the job's time was over.

    Attributes
    ----------
    job
        The job; None if the worker had none.
    reason
        What happened: "the worker process ended by signal 9", "stopped after 12.0 s".
    seconds
        Time since the job was given, or since it last set its own time limit.
    again
        Whether the job will be given to another worker.
    """

    job: Any
    reason: str
    seconds: float
    again: bool = False


Event = Message | Done | Lost


@dataclass(frozen=True)
class Call:
    """
    The connection of a running job to its parent.

    Attributes
    ----------
    tell
        Takes a value, and the new time limit in seconds or None.
    ending
        Returns whether the job should end soon with what it has.
    """

    tell: Callable[[Any, float | None], None]
    ending: Callable[[], bool]

    def send(self, value: Any, *, seconds: float | None = None) -> None:
        """Send a value to the parent; ``seconds`` from now is the new time limit."""
        self.tell(value, seconds)


class Todo:
    """The jobs that are still to be handed out, those of lost workers first."""

    def __init__(self, jobs: Iterator[Any], attempts: int) -> None:
        self._jobs, self._attempts = jobs, attempts
        self._again: deque[tuple[Any, int]] = deque()

    def take(self, most: int) -> list[tuple[Any, int]]:
        """Return at most so many jobs, each with the number of its attempt."""
        taken: list[tuple[Any, int]] = []
        while len(taken) < most:
            if self._again:
                taken.append(self._again.popleft())
                continue
            try:
                taken.append((next(self._jobs), 1))
            except StopIteration:
                break
        return taken

    def lose(self, lost: Lost, attempt: int) -> Lost:
        """Keep the job of a lost worker for later, if it has attempts left."""
        again = attempt < self._attempts
        if again:
            self._again.append((lost.job, attempt + 1))
        return Lost(lost.job, lost.reason, lost.seconds, again)
