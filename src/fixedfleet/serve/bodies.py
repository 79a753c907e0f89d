"""Reads the bodies of requests. Nothing in a request is ever opened as a file."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.files.reading import parse_columns, parse_corrections
from fixedfleet.files.table import TableError
from fixedfleet.files.text import check_storable
from fixedfleet.serve.planner import Order
from fixedfleet.serve.refusals import ApiError
from fixedfleet.serve.schema import InstanceRequest, RequestDocument, TableDocument
from fixedfleet.solving.locked_tours import LockedTours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


async def read_body(request: Request) -> bytes:
    """Return the body of a request; refuse one that is too long, slow or incomplete."""
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

    Parameters of the query fill in what a JSON body leaves out.
    """
    kind, charset = _content_type(content_type)
    if kind not in CONTENT_TYPES or charset not in ("utf-8", "utf8", "us-ascii"):
        raise ApiError(
            415,
            f"content type {content_type[:80]!r} is not supported: send "
            f"{', '.join(CONTENT_TYPES)}",
        )
    if not body.strip():
        what = "body" if kind == "application/json" else "file"
        raise ApiError(400, f"the {what} is empty")
    given = query.model_dump(exclude_unset=True)
    if kind != "application/json":
        return model(**given), body
    return parse_json(model, body, given), None


def parse_json(model: type[M], body: bytes, given: Mapping[str, Any]) -> M:
    """Parse a JSON document into a request; ``given`` fills in what it leaves out."""
    try:
        document = from_json(body)
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None
    if isinstance(document, dict):  # null means that a field is left out
        said = {name: value for name, value in document.items() if value is not None}
        document = {**given, **said}
    try:
        return model.model_validate(document, strict=True)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


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
    Read the instance of a request; refuse one with too many customers or vehicles.

    It is the file, if the body is one. Otherwise the request gives it as JSON or text,
    or names an earlier plan, whose instance ``stored`` returns as JSON, if it exists.
    """
    content = _content_of(request, stored) if file is None else file
    try:
        columns = parse_columns(request.columns)
        corrections = parse_corrections(request.corrections)
    except InputError as error:
        where = "columns" if str(error).startswith("columns") else "corrections"
        raise ApiError(422, str(error), where=where) from None
    options = files.ReadOptions(
        vehicles=request.vehicles,
        capacity=request.capacity,
        rounding=request.rounding,
        depot=request.depot,
        columns=columns,
        sheet=request.sheet,
        corrections=corrections,
        unit=request.unit,
        length_unit=request.length_unit,
        max_customers=most,
        allow_missing=True,
        allow_unreadable=True,
    )
    try:
        read = files.parse(content, options)
        if request.leave_out:  # no note: the client knows
            read = replace(read.leave_out(request.leave_out), notes=read.notes)
        if request.name and not read.instance.name:
            check_storable("the name", request.name)
            read = replace(read, instance=replace(read.instance, name=request.name))
    except TableError as error:
        table = TableDocument(**vars(error))
        sentence = _in_request_terms(str(error))
        where = "columns" if error.headings else "depot" if error.depots else "sheet"
        raise ApiError(422, sentence, where=where, table=table) from None
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


def _content_of(request: InstanceRequest, stored: Callable[[str], str | None]) -> bytes:
    """Return the instance that a request gives or names, as the content of a file."""
    given = (request.instance, request.text, request.plan)
    if sum(value is not None for value in given) != 1:
        sentence = "give exactly one of 'instance', 'text' and 'plan'"
        raise ApiError(422, sentence, where="instance")
    if request.instance is not None:
        return json.dumps(request.instance).encode()
    if request.plan is not None:
        text = stored(request.plan)
        if text is None:
            sentence = f"there is no plan {request.plan[:40]!r}"
            raise ApiError(422, sentence, where="plan")
        return text.encode()
    text = request.text or ""
    if not text.strip():
        raise ApiError(422, "the text is empty", where="text")
    return text.encode()


def _in_request_terms(sentence: str) -> str:
    """Name fields of a request where the readers name arguments of a function."""
    return re.sub(
        r"\b(vehicles|capacity|depot|rounding|columns|sheet)=", r"'\1'", sentence
    )


def make_order(asked: PlanRequest, read: files.Reading, longest: float) -> Order:
    """Return the order for a worker; its time limit is at most ``longest`` seconds."""
    if read.missing:
        raise ApiError(
            422,
            f"{' and '.join(read.missing)} must be given, in the instance or the "
            "request",
            where=read.missing[0],
        )
    if asked.time_limit > longest:
        raise ApiError(
            422,
            f"the time limit is {asked.time_limit:g} s, but this server allows at most "
            f"{longest:g} s",
            where="time_limit",
        )
    request = RequestDocument(
        vehicles=read.instance.vehicles,
        capacity=read.instance.capacity,
        vehicle_cost=asked.vehicle_cost,
        time_limit=asked.time_limit,
        seed=asked.seed,
        guarantee=asked.guarantee,
        prove=asked.prove,
        locked=asked.locked,
        taken_out=asked.taken_out,
        vehicle_names=asked.vehicle_names,
        date=asked.date,
    )
    order = Order(read.instance, request, read.notes, asked.listed)
    # Refused here, so that no plan fails in a worker because of it.
    where = "taken_out"
    try:
        rest, where = order.rest, "locked"
        if request.locked:
            LockedTours(order.locked, rest)
    except InputError as error:
        raise ApiError(422, str(error), where=where) from None
    return order
