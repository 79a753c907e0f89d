"""What the service counts, in the text format of Prometheus."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CONTENT_TYPE", "Counted", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_EVENTS = {
    "accepted": "plans taken in",
    "refused": "plans refused because the queue was full",
    "done": "plans finished",
    "cancelled": "plans cancelled",
    "failed": "plans that failed",
    "worker_deaths": "worker processes that died",
}


class Metrics:
    """Counts requests and what becomes of plans."""

    def __init__(self) -> None:
        self._events: Counter[str] = Counter(dict.fromkeys(_EVENTS, 0))
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._slower = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0

    def count(self, event: str) -> None:
        """Count something that happened."""
        if event not in _EVENTS:
            raise KeyError(event)
        self._events[event] += 1

    def request(
        self, method: str, route: str, status: int, seconds: float | None
    ) -> None:
        """
        Count a request.

        Parameters
        ----------
        method, route
            What was asked; the route as it is declared, so that there are few.
        status
            The answer.
        seconds
            How long it took; None for a stream, which lasts as long as it is read.
        """
        self._requests[method, route, status] += 1
        if seconds is not None:
            self._slower[bisect_left(_BUCKETS, seconds)] += 1
            self._seconds += seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """
        Write everything down.

        Parameters
        ----------
        gauges
            What stands at a number now: its name, what it is and the number.
        """
        lines: list[str] = []
        for event, what in _EVENTS.items():
            name = event if event == "worker_deaths" else f"plans_{event}"
            lines += _family(f"{name}_total", "counter", what)
            lines.append(f"fixedfleet_{name}_total {self._events[event]}")
        lines += _family("requests_total", "counter", "requests answered")
        lines += [
            f'fixedfleet_requests_total{{method="{method}",route="{route}",'
            f'status="{status}"}} {number}'
            for (method, route, status), number in sorted(self._requests.items())
        ]
        lines += _family("request_seconds", "histogram", "time to answer a request")
        lines += self._histogram()
        for name, (what, value) in gauges.items():
            lines += _family(name, "gauge", what)
            lines.append(f"fixedfleet_{name} {value:g}")
        memory = _resident_bytes()
        if memory is not None:
            lines.append("# TYPE process_resident_memory_bytes gauge")
            lines.append(f"process_resident_memory_bytes {memory}")
        return "\n".join(lines) + "\n"

    def _histogram(self) -> Iterable[str]:
        total = 0
        for bound, number in zip((*_BUCKETS, "+Inf"), self._slower, strict=True):
            total += number
            yield f'fixedfleet_request_seconds_bucket{{le="{bound}"}} {total}'
        yield f"fixedfleet_request_seconds_sum {self._seconds:.6f}"
        yield f"fixedfleet_request_seconds_count {total}"


def _family(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP fixedfleet_{name} {what}", f"# TYPE fixedfleet_{name} {kind}"]


def _resident_bytes() -> int | None:
    """Memory of this process, where the system tells it in a file."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return None


class Counted:
    """Counts requests by route and answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status, streamed = time.perf_counter(), 500, False

        async def watched(message: Message) -> None:
            nonlocal status, streamed
            if message["type"] == "http.response.start":
                status = message["status"]
                kind = Headers(scope=message).get("content-type", "")
                streamed = kind.startswith("text/event-stream")
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            seconds = None if streamed else time.perf_counter() - begin
            # Paths and methods of a client's making would be labels without end.
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.request(method, route, status, seconds)
