"""Decides who may use the service, and sends the headers that protect browsers."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response

from fixedfleet.serve.refusals import ApiError
from fixedfleet.serve.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "safe_headers"]

_log = logging.getLogger(__name__)

_SAFE_HEADERS = {
    # Scripts and styles come from the page's own files, and nothing from elsewhere.
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
    "cache-control": "no-store",
}
# Paths that need no token, besides the files of the page.
_OPEN = ("/", "/health", "/openapi.json", "/favicon.ico")
# For the files of the page: the browser asks each time whether they have changed.
FILE_CACHE = "no-cache"
SEND_SECONDS = 30.0  # a client that reads nothing for this long is disconnected


def safe_headers(tiles: str | None = None) -> dict[str, str]:
    """
    Return the headers that protect browsers.

    If ``tiles``, the URL of map tiles, is given, a page may load images from its host.
    """
    if tiles is None:
        return _SAFE_HEADERS
    parts = urlsplit(tiles)
    host = f"{parts.scheme}://{parts.netloc}"
    policy = _SAFE_HEADERS["content-security-policy"]
    return _SAFE_HEADERS | {
        "content-security-policy": policy.replace("blob:", f"blob: {host}"),
        # Tile servers want to know which site sends the request.
        "referrer-policy": "strict-origin-when-cross-origin",
    }


class _Unread(Exception):
    """Raised when a client does not read what is sent to it."""


class Guard:
    """
    Middleware that checks every request and adds protective headers to every answer.

    With a token, a request must show it: as ``Authorization: Bearer TOKEN``, or by the
    cookie that ``/?token=TOKEN`` sets. Without a token, every program of this machine
    may send requests. Requests that a page of another site makes the user's browser
    send are always refused. They are recognised by headers that browsers set and pages
    cannot change.

    Each of the tickets may be used once in place of the token in ``/?token=``.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        tickets: set[str],
        headers: Mapping[str, str] = _SAFE_HEADERS,
    ) -> None:
        self.app, self._tickets, self._headers = app, tickets, headers
        self._token = None if token is None else token.encode()
        # The cookie holds a hash of the token, because a cookie cannot hold all
        # characters that a token may have.
        self._cookie = hashlib.sha256(self._token or b"").hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            answer: ASGIApp = self._check(scope) or self.app
        except ApiError as refusal:
            answer = refusal.response()
        try:
            await answer(scope, receive, _complete(send, self._headers))
        except* _Unread:
            _log.warning("a client of %s reads nothing: disconnected", scope["path"])

    def _check(self, scope: Scope) -> Response | None:
        """
        Check a request: return the answer to a login, or None if the request may pass.

        Raise an error if the request is refused.
        """
        headers = Headers(scope=scope)
        if self._token is None:
            _check_host(headers)
            _check_site(scope, headers)
            return None
        if scope["path"] == "/":
            shown = parse_qs(scope["query_string"].decode("latin-1")).get("token")
            return self._log_in(scope, shown[0]) if shown else None
        if scope["path"] in _OPEN or scope["path"].startswith("/static/"):
            return None
        bearer = _bearer(headers)
        if bearer is not None:
            self._check_token(bearer)
        elif self._has_cookie(scope, headers):
            _check_site(scope, headers)
        else:
            raise _unauthorized(
                "the token is missing: open the address that the server printed, or "
                "send the header 'Authorization: Bearer TOKEN'"
            )
        return None

    def _log_in(self, scope: Scope, shown: str) -> Response:
        """
        Return an answer that sets the cookie and redirects to the plain address.

        ``shown`` is the token or ticket in the address. Raise ApiError if it is wrong.
        """
        if shown in self._tickets:
            self._tickets.discard(shown)
        else:
            self._check_token(shown.encode())
        # A relative address, because a proxy may serve the page under a prefix.
        answer = RedirectResponse("./", 303)
        answer.set_cookie(
            _cookie_name(scope),
            self._cookie,
            httponly=True,
            samesite="strict",
            secure=scope["scheme"] == "https",
        )
        return answer

    def _check_token(self, shown: bytes) -> None:
        # A comparison in constant time does not reveal the token by its duration.
        if not hmac.compare_digest(shown, self._token or b""):
            raise _unauthorized("the token is not the token of this server")

    def _has_cookie(self, scope: Scope, headers: Headers) -> bool:
        shown = cookie_parser(headers.get("cookie", "")).get(_cookie_name(scope), "")
        return hmac.compare_digest(shown.encode(), self._cookie.encode())


def _cookie_name(scope: Scope) -> str:
    """
    Return the name of the cookie, which contains the port of the server.

    Browsers send a cookie to all ports of a host, so each port needs another name.
    """
    return f"fixedfleet-{scope['server'][1]}"


def _bearer(headers: Headers) -> bytes | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip().encode() if scheme.lower() == "bearer" else None


def _unauthorized(sentence: str) -> ApiError:
    return ApiError(401, sentence, headers={"WWW-Authenticate": "Bearer"})


def _check_host(headers: Headers) -> None:
    """Refuse a foreign host name that resolves to this machine (DNS rebinding)."""
    host = headers.get("host", "")
    if not is_loopback(_split(f"//{host}").hostname or ""):
        raise ApiError(
            403,
            f"host {host[:60]!r} is not this machine: use 127.0.0.1 or localhost, or "
            "start the server with a token",
        )


def _check_site(scope: Scope, headers: Headers) -> None:
    """Refuse a request that a page of another site made the browser send."""
    origin = headers.get("origin")
    if origin is not None and _split(origin).netloc != headers.get("host", ""):
        raise ApiError(403, f"a page of {origin[:60]!r} may not use this server")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        if scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate":
            return  # the user followed a link
        raise ApiError(403, "a page of another site may not use this server")


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:  # an incomplete IPv6 address
        return urlsplit("")


def _complete(send: Send, safe: Mapping[str, str]) -> Send:
    """
    Return a function that sends the messages of an answer by ``send``.

    It adds the headers ``safe``, and raises _Unread if the client does not read.
    """

    async def complete(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(safe)
            if "etag" in headers:  # a file of the page
                headers["cache-control"] = FILE_CACHE
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)
        except TimeoutError:
            raise _Unread from None

    return complete
