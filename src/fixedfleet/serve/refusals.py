"""Answers to refused requests: an HTTP status, and one sentence that says why."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from fixedfleet.errors import InputError
from fixedfleet.serve.schema import ErrorDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI, Request

    from fixedfleet.serve.schema import ProgressDocument, TableDocument

__all__ = ["REFUSALS", "ApiError", "add_handlers"]

_log = logging.getLogger(__name__)

_STORE_PAUSE = 10  # seconds after which a client may ask again when the store failed
# How OpenAPI describes all refusals. docs/service.md lists the statuses.
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {
        "model": ErrorDocument,
        "description": description,
        # FastAPI would declare the content type of the operation's own answer.
        "content": {"application/json": {}},
        "headers": {
            "Retry-After": {
                "description": "With 429 and 503: seconds after which to ask again.",
                "schema": {"type": "integer"},
            }
        },
    }
    for status, description in (
        ("4XX", "The request is refused; the document says why."),
        ("5XX", "The server is full, is stopping or cannot read its plans."),
    )
}


class ApiError(HTTPException):
    """
    A request that is refused: an HTTP status, and one sentence that says what is wrong.

    ``where`` is the field that is wrong or missing. ``table`` describes a table whose
    sheet, columns or depot the client must choose. ``progress`` says how many addresses
    have been looked up. After ``retry_after`` seconds the client may try again.
    """

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        where: str | None = None,
        table: TableDocument | None = None,
        progress: ProgressDocument | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        pause = {} if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(status, sentence, {**(headers or {}), **pause})
        self.where, self.table, self.progress = where, table, progress

    def response(self) -> JSONResponse:
        """Return the HTTP response for this error."""
        sentence = " ".join(self.detail.split())
        document = ErrorDocument(
            error=sentence, where=self.where, table=self.table, progress=self.progress
        )
        said = {name: value for name, value in asdict(document).items() if value}
        return JSONResponse(said, self.status_code, headers=self.headers)


def add_handlers(app: FastAPI, headers: Mapping[str, str]) -> None:
    """
    Answer every exception in an application with a document of one sentence.

    The middleware ``Guard`` adds protective headers to every answer. Only the answer to
    an unexpected error does not pass through it, because Starlette sends this answer
    outside all middleware. So ``headers`` are added to it here.
    """

    @app.exception_handler(HTTPException)
    def _refused(request: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error, ApiError):
            return error.response()
        path, method = request.url.path[:80], request.method[:20]
        sentences = {
            404: f"there is nothing at {path}",
            405: f"{path} does not accept {method}",
        }
        sentence = sentences.get(error.status_code, str(error.detail))
        return ApiError(error.status_code, sentence, headers=error.headers).response()

    @app.exception_handler(InputError)
    def _wrong(_request: Request, error: InputError) -> JSONResponse:
        return ApiError(422, str(error)).response()

    @app.exception_handler(RequestValidationError)
    def _invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"] if part not in ("query", "path")]
        where = ".".join(place) or "body"
        message = first["msg"].removeprefix("Value error, ")
        sentence = f"{where}: {message[:1].lower()}{message[1:]}"
        return ApiError(422, sentence, where=where).response()

    @app.exception_handler(sqlite3.Error)
    def _unreadable(request: Request, error: sqlite3.Error) -> JSONResponse:
        _log.error("%s: the store failed", request.url.path[:80], exc_info=error)
        sentence = "the plans cannot be read at the moment"
        return ApiError(503, sentence, retry_after=_STORE_PAUSE).response()

    # Starlette logs the exception after this answer has been sent.
    @app.exception_handler(Exception)
    def _failed(_request: Request, _error: Exception) -> JSONResponse:
        sentence = "the server failed to answer this request; its log says why"
        return ApiError(500, sentence, headers=headers).response()
