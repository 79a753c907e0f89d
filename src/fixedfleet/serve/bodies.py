"""Reads the bodies of requests. Nothing in a request is ever opened as a file."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.files.text import check_storable
from fixedfleet.search.locked_tours import LockedTours
from fixedfleet.serve.planner import Order
from fixedfleet.serve.refusals import ApiError, first_problem
from fixedfleet.serve.schema import InstanceRequest, RequestDocument

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from fixedfleet.serve.schema import InstanceOptions, PlanRequest

__all__ = [
    "CONTENT_TYPES",
    "EXCEL",
    "make_order",
    "parse_body",
    "parse_json",
    "read_body",
    "read_instance",
]

_log = logging.getLogger(__name__)

R = TypeVar("R", bound=InstanceRequest)
M = TypeVar("M", bound=BaseModel)

MAX_BODY = 8_000_000  # bytes
BODY_SECONDS = 30.0  # a client must send its body within this time

EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
CONTENT_TYPES = ("application/json", "text/csv", "text/plain", EXCEL)
_TIME_LIMIT = 2.0  # seconds to plan for by default


async def read_body(request: Request) -> bytes:
    """
    Return the body of a request.

    Raises
    ------
    ApiError
        With 413 or 408, if the body is too long or takes too long to arrive, with 400
        if the client disconnects meanwhile.
    """
    # The rest of a refused body would be taken for the next request.
    close = {"Connection": "close"}
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    sentence = (
                        f"the file has more than {_size(MAX_BODY)}, and this server "
                        "reads no more: remove rows and columns that are not needed, "
                        "or plan it with `fixedfleet solve`"
                    )
                    raise ApiError(413, sentence, headers=close)
    except TimeoutError:
        sentence = f"the body did not arrive within {BODY_SECONDS:g} s"
        raise ApiError(408, sentence, headers=close) from None
    except ClientDisconnect:
        _log.warning("%s: a client disconnected while it sent a body", request.url.path)
        raise ApiError(400, "the body is incomplete") from None
    return bytes(body)


def _size(length: int) -> str:
    return f"{length} bytes" if length < 10**6 else f"{length / 10**6:g} MB"


def parse_body(
    model: type[R], content_type: str, body: bytes, query: InstanceOptions
) -> tuple[R, bytes | None]:
    """
    Parse a body of any accepted content type into a request, and a file if it is one.

    Parameters of the query fill in what the body leaves out.

    Raises
    ------
    ApiError
        With 400, 415 or 422, if the body is wrong.
    """
    kind, charset = _content_type(content_type)
    if kind not in CONTENT_TYPES or charset not in ("utf-8", "utf8", "us-ascii"):
        raise ApiError(
            415,
            f"content type {content_type[:80]!r} is not supported: send "
            f"{', '.join(CONTENT_TYPES)}",
        )
    if not body.strip():
        raise ApiError(400, "the body is empty: send an instance")
    given = query.model_dump(exclude_none=True)
    if kind != "application/json":
        return model(**given), body
    request = parse_json(model, body)
    left_out = {k: v for k, v in given.items() if getattr(request, k) is None}
    return request.model_copy(update=left_out), None


def parse_json(model: type[M], body: bytes) -> M:
    """
    Parse a JSON document into a request.

    Raises
    ------
    ApiError
        With 400 or 422, if the document is wrong.
    """
    try:
        return model.model_validate_json(body, strict=True)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        sentence, where = first_problem(problems)
        status = 400 if problems[0]["type"] == "json_invalid" else 422
        raise ApiError(status, sentence, where=where) from None


def _content_type(header: str) -> tuple[str, str]:
    """Return the media type and the character set of a body, in lower case."""
    kind, *parameters = (part.strip().lower() for part in header.split(";"))
    charset = "utf-8"
    for parameter in parameters:
        if parameter.startswith("charset="):
            charset = parameter.removeprefix("charset=").strip('"')
    return kind, charset


def read_instance(
    request: InstanceRequest,
    file: bytes | None,
    stored: Callable[[str], str | None],
    most: int,
) -> files.Reading:
    """
    Read the instance of a request, with at most so many customers and vehicles.

    It is the file, if the body is one. Otherwise the request gives it as JSON or text,
    or names an earlier plan, whose instance ``stored`` returns as JSON, if it exists.

    Raises
    ------
    ApiError
        With 422, if the instance is wrong or too large.
    """
    content = _content_of(request, stored) if file is None else file
    options = files.ReadOptions(
        vehicles=request.vehicles,
        capacity=request.capacity,
        rounding=request.rounding,
        depot=request.depot,
        unit=request.unit,
        length_unit=request.length_unit,
        max_customers=most,
        allow_missing=True,
    )
    try:
        read = files.parse(content, options)
        if request.leave_out:  # no note: the client knows
            read = replace(read.without(request.leave_out), notes=read.notes)
        if request.name and not read.instance.name:
            check_storable("the name", request.name)
            read = replace(read, instance=replace(read.instance, name=request.name))
    except InputError as error:
        raise ApiError(422, _in_request_terms(str(error)), where="instance") from None
    vehicles = read.instance.vehicles
    if vehicles > most:
        raise ApiError(
            422,
            f"{vehicles} vehicles, but this server plans for at most {most}",
            where="vehicles",
        )
    return read


def _content_of(request: InstanceRequest, stored: Callable[[str], str | None]) -> str:
    """Return the text of the instance that a request gives or names."""
    given = (request.instance, request.text, request.plan)
    if sum(value is not None for value in given) != 1:
        sentence = "give exactly one of 'instance', 'text' and 'plan'"
        raise ApiError(422, sentence, where="instance")
    if request.plan is not None:
        text = stored(request.plan)
        if text is None:
            sentence = f"there is no plan {request.plan[:40]!r}"
            raise ApiError(422, sentence, where="plan")
        return text
    if request.instance is not None:
        try:
            return json.dumps(request.instance)
        except ValueError:  # whole numbers of thousands of digits
            sentence = "a number has thousands of digits"
            raise ApiError(422, sentence, where="instance") from None
    text = request.text or ""
    if not text.strip():
        raise ApiError(422, "the text is empty", where="text")
    try:
        check_storable("the text", text)
    except InputError:
        sentence = "the text contains a control character, which no text file does"
        raise ApiError(422, sentence, where="text") from None
    return text


def _in_request_terms(sentence: str) -> str:
    """Name fields of a request where the readers name arguments of a function."""
    return re.sub(r"\b(vehicles|capacity|depot|rounding)=", r"'\1'", sentence)


def make_order(asked: PlanRequest, read: files.Reading, longest: float) -> Order:
    """
    Return the order for a worker, with all defaults filled in.

    ``longest`` is the longest time limit that is allowed, in seconds.

    Raises
    ------
    ApiError
        With 422, if something is missing or exceeds a limit.
    """
    if read.missing:
        raise ApiError(
            422,
            f"{' and '.join(read.missing)} must be given, in the instance or the "
            "request",
            where=read.missing[0],
        )
    if asked.objective == "cost-v" and asked.vehicle_cost is None:
        raise ApiError(
            422,
            "the objective cost-v needs vehicle_cost, a number of at least 0",
            where="vehicle_cost",
        )
    time_limit = _TIME_LIMIT if asked.time_limit is None else asked.time_limit
    if time_limit > longest:
        raise ApiError(
            422,
            f"the time limit is {time_limit:g} s, but this server allows at most "
            f"{longest:g} s",
            where="time_limit",
        )
    request = RequestDocument(
        vehicles=read.instance.vehicles,
        capacity=read.instance.capacity,
        objective=asked.objective or "length",
        vehicle_cost=asked.vehicle_cost or 0.0,
        time_limit=time_limit,
        seed=asked.seed or 0,
        guarantee=bool(asked.guarantee),
        locked=asked.locked or [],
        vehicle_names=asked.vehicle_names or [],
    )
    if request.locked:  # refused here, so that no plan fails in a worker because of it
        try:
            LockedTours(request.locked, read.instance)
        except InputError as error:
            raise ApiError(422, str(error), where="locked") from None
    return Order(read.instance, request, read.notes, asked.listed is not False)
