"""One plan from the moment it is asked for until it is finished."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fixedfleet import files
from fixedfleet.describe import finite
from fixedfleet.plan import Plan
from fixedfleet.serve.documents import tour_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Job", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """
    How a job ended.

    Attributes
    ----------
    status
        How it ended.
    verdict, result
        What came of it, as documents, if anything did.
    error
        Why it failed, in one sentence.
    """

    status: Literal["done", "cancelled", "failed"]
    verdict: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: str | None = None


@dataclass(eq=False)
class Job:
    """
    A plan that waits to be made or is in the making.

    It lives in the event loop's thread. Whoever wants to know of its progress takes a
    ``listener``: an event that is set whenever anything has changed.

    Parameters
    ----------
    id
        The plan's id.
    client
        Whose it is.
    created
        When it was asked for, as ISO 8601 has it.
    request
        What was asked for, as the plan's document says it.
    instance
        The instance, as JSON.
    instance_document
        The same as the plan's document says it.
    """

    id: str
    client: str
    created: str
    request: dict[str, Any]
    instance: str
    instance_document: dict[str, Any]

    status: Literal["queued", "running"] = "queued"
    position: int | None = None
    verdict: dict[str, Any] | None = None
    improved: dict[str, Any] | None = None
    trace: list[list[float]] = field(default_factory=list)
    begun: float | None = None
    cancelled: bool = False
    hurry: Callable[[], None] | None = None  # tells the worker to come to an end
    final: str | None = None  # the finished document
    outcome: Outcome | None = None
    _listeners: set[asyncio.Event] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        """Seconds since a worker took it."""
        return 0.0 if self.begun is None else time.monotonic() - self.begun

    def document(self, outcome: Outcome | None = None) -> dict[str, Any]:
        """The plan's document as it stands, or as an outcome leaves it."""
        verdict = self.verdict
        if outcome is not None and outcome.verdict is not None:
            verdict = outcome.verdict
        return {
            "id": self.id,
            "status": self.status if outcome is None else outcome.status,
            "created": self.created,
            "seconds": round(self.seconds, 3),
            "position": self.position if outcome is None else None,
            "error": None if outcome is None else outcome.error,
            "request": self.request,
            "instance": self.instance_document,
            "verdict": verdict,
            "result": None if outcome is None else outcome.result,
        }

    def best_so_far(self) -> dict[str, Any] | None:
        """A result out of the last improvement told; None if there was none."""
        if self.improved is None:
            return None
        context = files.ReadContext(vehicles=self.improved["fleet"])
        instance = files.parse(self.instance, context, "json")
        plan = Plan(self.improved["tours"])
        length = plan.length(instance)
        cost_v = plan.cost_v(instance, self.request["vehicle_cost"])
        by_length = self.request["objective"] == "length"
        return {
            "feasible": plan.is_feasible(instance),
            "objective": self.request["objective"],
            "cost": finite(length if by_length else cost_v),
            "length": finite(length),
            "cost_v": finite(cost_v),
            "fleet": instance.vehicles,
            **tour_documents(plan, instance),
            "stages": [],
            "trace": self.trace,
        }

    def changed(self) -> None:
        """Tell all listeners."""
        for listener in self._listeners:
            listener.set()

    @contextmanager
    def listener(self) -> Iterator[asyncio.Event]:
        """An event that is set on every change; whoever waits for it clears it."""
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            yield event
        finally:
            self._listeners.discard(event)
