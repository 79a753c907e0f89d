"""Server-sent events: the latest state of a job first, then every change."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from fixedfleet.serve.documents import dump

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from fixedfleet.serve.job import Job
    from fixedfleet.serve.jobs import Jobs

__all__ = ["finished_events", "job_events", "no_events"]

_HEARTBEAT_SECONDS = 15.0
_RETRY = "retry: 2000\n\n"  # milliseconds after which a browser comes back


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {data if isinstance(data, str) else dump(data)}\n\n"


def _last_event(status: str, document: str) -> str:
    if status == "failed":
        return _event("failed", {"error": json.loads(document)["error"]})
    return _event("done", document)


async def finished_events(status: str, document: str) -> AsyncGenerator[str, None]:
    """The events of a plan that is finished: the last one."""
    yield _RETRY + _last_event(status, document)


async def no_events() -> AsyncGenerator[str, None]:
    """The events for whoever asks for the head alone."""
    yield _RETRY


async def job_events(jobs: Jobs, job: Job) -> AsyncGenerator[str, None]:
    """
    The events of a job until it is finished, or the server stops.

    Whoever reads slowly misses improvements that better ones have overtaken, and
    nothing else: there is no queue of events to grow.
    """
    told = _Told()
    with job.listener() as changed:
        yield _RETRY
        while True:
            changed.clear()
            for event in told.news(job):
                yield event
            if job.outcome is not None and job.final is not None:
                yield _last_event(job.outcome.status, job.final)
                return
            if jobs.stopping:
                yield ": the server is being stopped\n\n"
                return
            try:
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
                    await changed.wait()
            except TimeoutError:
                yield ": still here\n\n"


class _Told:
    """What one reader has been told of a job."""

    def __init__(self) -> None:
        self._position: int | None = None
        self._verdict: dict[str, Any] | None = None
        self._improved: dict[str, Any] | None = None

    def news(self, job: Job) -> list[str]:
        """Events for what has changed since the last time."""
        events = []
        if job.position is not None and job.position != self._position:
            events.append(_event("queued", {"position": job.position}))
        if job.verdict is not None and job.verdict is not self._verdict:
            events.append(_event("verdict", job.verdict))
        if job.improved is not None and job.improved is not self._improved:
            events.append(_event("improved", job.improved))
        self._position = job.position
        self._verdict, self._improved = job.verdict, job.improved
        return events
