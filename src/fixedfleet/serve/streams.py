"""Streams of events: how many there may be, and readers that do not read."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from fixedfleet.serve.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import Message, Receive, Scope, Send

    from fixedfleet.serve.settings import Settings

__all__ = ["EventStream", "Streams"]

_log = logging.getLogger(__name__)

_PAUSE = 5  # seconds after which to ask again
_SEND_SECONDS = 30.0  # for a reader to take in one event


class Streams:
    """
    The streams that are open, each client's counted.

    Parameters
    ----------
    settings
        How many there may be.
    """

    def __init__(self, settings: Settings) -> None:
        self._most, self._most_each = settings.max_streams, settings.streams_per_client
        self._of_client: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """The number of streams that are open."""
        return self._of_client.total()

    def reserve(self, client: str) -> None:
        """
        Take a place for a stream, which :meth:`release` gives back.

        Raises
        ------
        ApiError
            With 429 where the client has as many as it may, with 503 where all have.
        """
        if self._of_client[client] >= self._most_each:
            raise ApiError(
                429,
                f"{self._most_each} streams of events of yours are open, as many as a "
                "client may have: close one",
                retry_after=_PAUSE,
            )
        if self.open >= self._most:
            raise ApiError(
                503, f"{self.open} streams of events are open", retry_after=_PAUSE
            )
        self._of_client[client] += 1

    def release(self, client: str) -> None:
        """Give a place back."""
        self._of_client[client] -= 1
        if self._of_client[client] <= 0:
            del self._of_client[client]


class EventStream(StreamingResponse):
    """
    A stream whose place is given back however it ends.

    Parameters
    ----------
    events
        What to send.
    streams, client
        Where a place is reserved for it, and whose it is.
    """

    def __init__(
        self, events: AsyncGenerator[str, None], streams: Streams, client: str
    ) -> None:
        super().__init__(
            events,
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},  # a proxy must not hold events back
        )
        self._events, self._streams, self._client = events, streams, client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until they end, or the reader goes or does not read."""

        async def timed(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        try:
            await super().__call__(scope, receive, timed)
        except TimeoutError:
            _log.warning("a reader of %s does not read, and is left", scope["path"])
        finally:
            self._streams.release(self._client)
            await self._events.aclose()
