"""HEAD: answered as GET is, without the body."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["HeadAsGet", "is_head"]

_HEAD = "fixedfleet.head"  # where in the scope it stands that the head is wanted alone


class HeadAsGet:
    """Lets every route that takes GET take HEAD."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            # The server holds back the body: its own scope says HEAD as before.
            scope = {**scope, "method": "GET", _HEAD: True}
        await self.app(scope, receive, send)


def is_head(scope: Scope) -> bool:
    """Whether the head of an answer is wanted alone."""
    return _HEAD in scope
