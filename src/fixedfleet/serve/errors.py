"""What a request can be answered with instead of what it asked for."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from fixedfleet.errors import InputError
from fixedfleet.serve.head import is_head

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = [
    "ApiError",
    "Mistakes",
    "add_handlers",
    "describe_invalid",
    "error_response",
]

_log = logging.getLogger(__name__)

_STORE_PAUSE = 10  # seconds after which to ask again for what could not be read
_METHODS = ("DELETE", "GET", "POST")


class ApiError(Exception):
    """
    A request that is refused.

    Parameters
    ----------
    status
        The HTTP status.
    sentence
        What is wrong and what would be right, in one sentence.
    where
        The field it is about, if it is about one.
    missing
        Fields that must be given and are not.
    retry_after
        Seconds after which it may be tried again.
    """

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        where: str | None = None,
        missing: Sequence[str] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.where, self.missing = where, list(missing)
        self.retry_after = retry_after

    def response(self) -> JSONResponse:
        """Return the answer to send."""
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        return error_response(
            self.status,
            self.sentence,
            where=self.where,
            missing=self.missing,
            headers=headers,
        )


def error_response(
    status: int,
    sentence: str,
    *,
    where: str | None = None,
    missing: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an error document with a status."""
    document: dict[str, Any] = {"error": " ".join(sentence.split())}
    if where is not None:
        document["where"] = where
    if missing:
        document["missing"] = list(missing)
    return JSONResponse(document, status, headers=dict(headers or {}))


def describe_invalid(errors: Sequence[Any]) -> tuple[str, str]:
    """Say in one sentence what pydantic found first, and where."""
    first = errors[0]
    place = [str(part) for part in first["loc"] if part not in ("query", "path")]
    where = ".".join(place) or "body"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message[:1].lower()}{message[1:]}", where


def add_handlers(app: FastAPI) -> None:
    """Let every refusal of an application be a document of one sentence."""

    @app.exception_handler(ApiError)
    def _refused(_request: Request, error: ApiError) -> JSONResponse:
        return error.response()

    @app.exception_handler(InputError)
    def _wrong(_request: Request, error: InputError) -> JSONResponse:
        return error_response(422, str(error))

    @app.exception_handler(RequestValidationError)
    def _invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        sentence, where = describe_invalid(error.errors())
        return error_response(422, sentence, where=where)

    @app.exception_handler(sqlite3.Error)
    def _unreadable(request: Request, error: sqlite3.Error) -> JSONResponse:
        _log.error("%s: the store failed", request.url.path[:80], exc_info=error)
        sentence = "the plans cannot be read at the moment"
        return ApiError(503, sentence, retry_after=_STORE_PAUSE).response()

    @app.exception_handler(HTTPException)
    def _http(request: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers or {})
        method = "HEAD" if is_head(request.scope) else request.method
        if error.status_code == 405:
            headers["Allow"] = ", ".join(_methods_at(request))
        said = {
            404: f"there is nothing at {request.url.path[:80]}",
            405: f"{request.url.path[:80]} does not take {method[:20]}",
        }
        sentence = said.get(error.status_code, str(error.detail))
        return error_response(error.status_code, sentence, headers=headers)


def _methods_at(request: Request) -> list[str]:
    """All methods that a path takes: each route by itself knows only its own."""
    methods: set[str] = set()
    for route in request.app.routes:
        for method in _METHODS:
            match, _ = route.matches({**request.scope, "method": method})
            if match == Match.FULL:
                methods.add(method)
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


class Mistakes:
    """Answers 500 where the server itself went wrong, and tells the client no more."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception:
            if started or scope["type"] != "http":
                raise
            _log.exception("%s %s failed", scope["method"], scope["path"])
            sentence = "the server has made a mistake, and noted it"
            await error_response(500, sentence)(scope, receive, send)
