"""How much a client may send, and for how long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from fixedfleet.serve.errors import error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fixedfleet.serve.settings import Settings

__all__ = ["BodyLimit"]


class _TooMuch(Exception):
    """A body is longer than it may be."""


class _TooSlow(Exception):
    """A body has been too long on its way."""


class BodyLimit:
    """Refuses bodies that are too long, or too long on their way, as they come in."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._most, self._seconds = settings.max_body, settings.body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        told = Headers(scope=scope).get("content-length", "0")
        if not told.isascii() or not told.isdigit() or len(told) > 18:
            await self._refuse(scope, receive, send, 400, "a content-length of none")
            return
        if int(told) > self._most:
            await self._too_much(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, self._counting(receive), watched)
        except _TooMuch:
            if started:
                raise
            await self._too_much(scope, receive, send)
        except _TooSlow:
            if started:
                raise
            sentence = f"the body did not arrive within {self._seconds:g} s"
            await self._refuse(scope, receive, send, 408, sentence)

    def _counting(self, receive: Receive) -> Receive:
        received, complete = 0, False
        deadline = asyncio.get_running_loop().time() + self._seconds

        async def counting() -> Message:
            nonlocal received, complete
            if complete:  # then this waits for the client to hang up
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise _TooSlow from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > self._most:
                raise _TooMuch
            return message

        return counting

    async def _too_much(self, scope: Scope, receive: Receive, send: Send) -> None:
        sentence = f"the body is longer than {self._most} bytes, as many as it may have"
        await self._refuse(scope, receive, send, 413, sentence)

    @staticmethod
    async def _refuse(
        scope: Scope, receive: Receive, send: Send, status: int, sentence: str
    ) -> None:
        # What is still to come of the body would be taken for the next request.
        answer = error_response(status, sentence, headers={"Connection": "close"})
        await answer(scope, receive, send)
