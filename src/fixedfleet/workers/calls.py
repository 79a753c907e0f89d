"""Calls, which a running job uses, and events, which its parent receives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["STEP_SECONDS", "Call", "Done", "Event", "Lost", "Message", "Todo"]

# Longest wait for an event, after which time limits and Ctrl-C are checked again.
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


class Send(Protocol):
    """
    Function that sends a value to the parent.

    If ``seconds`` is given, the job's new time limit is this many seconds from now.
    """

    def __call__(self, value: Any, *, seconds: float | None = None) -> None: ...


@dataclass(frozen=True)
class Call:
    """The connection of a running job to its parent."""

    send: Send
    ending: Callable[[], bool]  # whether the job should soon return its result so far


class Todo:
    """The jobs that are still to be given to workers; those of lost workers first."""

    def __init__(self, jobs: Iterator[Any], attempts: int) -> None:
        self._jobs, self._attempts = jobs, attempts
        self._again: list[Any] = []
        self._lost: list[Any] = []  # the job of each lost worker

    def take(self, most: int) -> list[Any]:
        """Return the next jobs, at most ``most`` of them."""
        most = max(0, most)  # negative if a cluster has lost a node and is too full
        again, self._again = self._again[:most], self._again[most:]
        return [*again, *islice(self._jobs, most - len(again))]

    def lose(self, lost: Lost) -> Lost:
        """
        Keep the job of a lost worker for another attempt, if it has attempts left.

        Return the event, in which ``again`` now says whether there is another attempt.
        """
        self._lost.append(lost.job)
        again = sum(job is lost.job for job in self._lost) < self._attempts
        if again:
            self._again.append(lost.job)
        return replace(lost, again=again)
