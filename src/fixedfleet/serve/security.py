"""Who may ask, and the headers that browsers honour."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders

from fixedfleet.serve.errors import error_response
from fixedfleet.serve.settings import is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fixedfleet.serve.settings import Settings

__all__ = ["Guard", "SafeHeaders", "client_of"]

_HEADERS = {
    # No script or style but the page's own files, nothing from elsewhere.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
        "img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_CLIENT = "fixedfleet.client"  # where in the scope it stands whose request it is
# What may be had without a token: the page, which asks for it, and signs of life.
_OPEN = ("/", "/health", "/openapi.json", "/favicon.ico")


class SafeHeaders:
    """Adds to every answer the headers that browsers honour."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)


class Guard:
    """
    Lets through those who may ask.

    With tokens, who shows one. Without, programs of this machine and the page itself:
    other pages that the user's browser has open are told apart by the headers that
    browsers set and pages cannot.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._tokens = [token.encode() for token in settings.tokens]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if self._tokens:
                refusal = self._without_token(scope, headers)
            else:
                refusal = _from_elsewhere(scope["method"], headers)
            scope[_CLIENT] = self._identity(scope, headers)
            if refusal is not None:
                status, sentence = refusal
                asked = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
                answer = error_response(status, sentence, headers=asked)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _without_token(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        if scope["path"] in _OPEN or scope["path"].startswith("/static/"):
            return None
        shown = _bearer(headers)
        if shown is None:
            return 401, "no token: send the header 'Authorization: Bearer TOKEN'"
        # All are compared, each in constant time: how long it takes tells nothing.
        if not sum(hmac.compare_digest(shown, token) for token in self._tokens):
            return 401, "the token is not one of this server's"
        return None

    def _identity(self, scope: Scope, headers: Headers) -> str:
        """Whose request it is; never the token itself, as it is stored."""
        token = _bearer(headers)
        if self._tokens and token is not None:
            return f"token:{hashlib.sha256(token).hexdigest()[:16]}"
        return f"address:{scope['client'][0] if scope.get('client') else ''}"


def _bearer(headers: Headers) -> bytes | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip().encode() if scheme.lower() == "bearer" else None


def _from_elsewhere(method: str, headers: Headers) -> tuple[int, str] | None:
    """Tell a request that a page of another site made the browser send."""
    host = headers.get("host", "")
    if not is_loopback(_split(f"//{host}").hostname or ""):
        # A foreign name that was made to lead here would make its page ours.
        return 403, (
            f"host {host[:60]!r} is not this machine: ask for 127.0.0.1 or localhost, "
            "or start the server with --token"
        )
    origin = headers.get("origin")
    if origin is not None and _split(origin).netloc != host:
        return 403, f"a page of {origin[:60]!r} may not ask this server"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        if method == "GET" and headers.get("sec-fetch-mode") == "navigate":
            return None  # somebody followed a link
        return 403, "a page of another site may not ask this server"
    return None


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:  # half an IPv6 address
        return urlsplit("")


def client_of(scope: Scope) -> str:
    """Whose request it is: the holder of a token, else an address."""
    identity: str = scope[_CLIENT]
    return identity
