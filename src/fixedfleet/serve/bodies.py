"""Reads the bodies of requests. No text in a request is ever used as a file path."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from fixedfleet import files
from fixedfleet.documents import VehicleTypeDocument
from fixedfleet.errors import InputError
from fixedfleet.files.reading import parse_columns, parse_corrections
from fixedfleet.files.table import TableError
from fixedfleet.files.text import check_storable
from fixedfleet.instance import VehicleType
from fixedfleet.serve.planner import Order
from fixedfleet.serve.refusals import ApiError
from fixedfleet.serve.schema import InstanceRequest, RequestDocument, TableDocument
from fixedfleet.solving.locked_tours import LockedTours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from fixedfleet.files.address_columns import Geocode
    from fixedfleet.instance import Instance
    from fixedfleet.serve.planner import RoadServer
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
    """
    Return the body of a request; raise ApiError if it is too long, slow or incomplete.
    """
    # The connection to a refused client is closed. Otherwise, the rest of the body
    # would be read as the next request.
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
    Return the request in a body, and the content of the file if the body is a file.

    If the body is a file, the request is in the query of the URL. If the body is JSON,
    the query only fills in fields that the body leaves out, and the file is None.
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
    given |= _types_in(given)
    if kind != "application/json":
        return model(**given), body
    return parse_json(model, body, given), None


def _types_in(query: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return {"vehicle_types": types} from a URL's query, which states each type as JSON.

    The result is empty if the query states no types.
    """
    if not query.get("vehicle_types"):
        return {}
    try:
        return {"vehicle_types": [from_json(word) for word in query["vehicle_types"]]}
    except ValueError as error:
        sentence = f"vehicle_types is not JSON: {error}"
        raise ApiError(422, sentence, where="vehicle_types") from None


def parse_json(model: type[M], body: bytes, given: Mapping[str, Any]) -> M:
    """Parse a JSON document into a request; ``given`` fills in missing fields."""
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
    geocode: Geocode | None = None,
    by_road: bool = False,
) -> files.Reading:
    """
    Read the instance of a request; refuse one with too many customers or vehicles.

    If the body is a file, the instance is in it. Otherwise the request gives the
    instance as JSON or text, or names an earlier plan; ``stored`` then returns the
    instance of that plan as JSON, if it exists. ``most`` is the largest number of
    customers, and of vehicles. ``geocode`` finds places for the addresses of a table.
    ``by_road`` says whether travel times by road will be added later.
    """
    content = _content_of(request, stored) if file is None else file
    types = _vehicle_types(request)
    try:
        options = files.ReadOptions(
            **_shared_fields(request, files.ReadOptions)
            | {
                "columns": parse_columns(request.columns),
                "corrections": parse_corrections(request.corrections),
                "vehicle_types": types,
                "shift": None if request.shift is None else tuple(request.shift),
            },
            geocode=geocode,
            by_road=by_road,
            max_customers=most,
            allow_missing=True,
            allow_unreadable=True,
        )
        read = files.parse(content, options)
        if request.plan is not None and request.service_minutes is not None:
            read = _with_minutes(read, request.service_minutes)
        if request.leave_out:  # the client asked for it, so no note is needed
            read = replace(read.leave_out(request.leave_out), notes=read.notes)
        if request.name and not read.instance.name:
            check_storable("the name", request.name, field="name")
            read = replace(read, instance=replace(read.instance, name=request.name))
    except InputError as error:
        raise _refusal(error, request) from None
    vehicles = read.instance.vehicles
    if vehicles > most:
        raise ApiError(
            422,
            f"{vehicles} vehicles, but this server plans for at most {most}",
            where="vehicles",
        )
    return read


def _with_minutes(read: files.Reading, minutes: float) -> files.Reading:
    """
    Return the instance of an earlier plan with other minutes per stop, if possible.

    A plan does not record which service times came from the file. So the service times
    are replaced only if all customers have the same one. If they differ, they are kept,
    and a note says so.
    """
    times = read.instance.service_times
    if times is None:
        return read
    if len(set(times.tolist())) == 1:
        changed = np.full(len(times), minutes)
        instance = replace(read.instance, service_times=changed)
        return replace(read, instance=instance)
    stays = "minutes per stop differ and stay as they are: read the file again"
    others = [note for note in read.notes if "minutes per stop" not in note]
    return replace(read, notes=[*others, f"{stays} to change them"])


def _vehicle_types(request: InstanceRequest) -> list[VehicleType] | None:
    """Return the vehicle types that a request asks for; None if it names none."""
    kinds = []
    for place, asked in enumerate(request.vehicle_types):
        values = asked.model_dump()
        values["shift"] = None if asked.shift is None else tuple(asked.shift)
        try:
            kinds.append(VehicleType(**values))
        except InputError as error:
            sentence = f"vehicle_types[{place}]: {error}"
            raise ApiError(422, sentence, where="vehicle_types") from None
    return kinds or None


def _content_of(request: InstanceRequest, stored: Callable[[str], str | None]) -> bytes:
    """
    Return the instance that a request gives or names, as the content of a file.

    If the request names an earlier plan, ``stored`` returns the instance of that plan
    as JSON, or None if the plan does not exist.
    """
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


def _shared_fields(request: InstanceRequest, kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a request that a dataclass has under the same names."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {
        name: getattr(request, name) for name in names & {*type(request).model_fields}
    }


def _refusal(error: InputError, request: InstanceRequest) -> ApiError:
    """
    Return the answer to a request with a wrong instance.

    It names the wrong field of the request, or the one that the error asks for. A value
    within the instance may have the name of a field, such as the depot. Then the wrong
    field is the instance.
    """
    field, table = error.field, None
    is_meant = field in request.model_fields_set or "{field}" in error.args[0]
    if isinstance(error, TableError):
        table = TableDocument(
            headings=error.headings,
            columns=error.columns,
            sheets=error.sheets,
            depots=error.depots,
        )
    if field == "geocoder":  # an option of the server; a client can choose columns only
        field = "columns"
    is_known = field in InstanceRequest.model_fields
    where = field if is_known and is_meant else "instance"
    return ApiError(422, error.naming_fields(_in_request), where=where, table=table)


def _in_request(field: str) -> str:
    """Return the name of an argument as a client knows it."""
    return "the server's option --geocoder" if field == "geocoder" else f"'{field}'"


def make_order(
    asked: PlanRequest,
    read: files.Reading,
    longest: float,
    roads: RoadServer | None = None,
) -> Order:
    """
    Return the order for a worker; refuse a time limit above ``longest`` seconds.

    The plan is by road if the server has roads and the instance has latitudes and
    longitudes, unless the request says otherwise.
    """
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
        **_shared_fields(asked, RequestDocument)
        | {
            "vehicles": read.instance.vehicles,
            "capacity": read.instance.capacity,
            "vehicle_types": [
                VehicleTypeDocument(**kind.model_dump()) for kind in asked.vehicle_types
            ],
            "roads": _is_by_road(asked, read.instance, roads),
        }
    )
    order = Order(
        read.instance,
        request,
        read.notes,
        asked.listed,
        roads=roads if request.roads else None,
    )
    # Locked tours and customers taken out are checked here, so that the plan does not
    # fail later in a worker.
    where = "taken_out"
    try:
        rest, where = order.rest, "locked"
        if request.locked:
            LockedTours(order.locked, rest)
    except InputError as error:
        raise ApiError(422, str(error), where=where) from None
    return order


def _is_by_road(
    asked: PlanRequest, instance: Instance, roads: RoadServer | None
) -> bool:
    """
    Return whether to plan by road.

    Refuse a request for roads if the server has none, or if the instance has no
    latitudes and longitudes.
    """
    if not asked.roads:
        possible = roads is not None and instance.metric == "great_circle"
        return possible and asked.roads is None
    if roads is None:
        sentence = "this server has no roads: start it with --roads URL"
        raise ApiError(422, sentence, where="roads")
    if instance.metric != "great_circle":
        sentence = "roads need latitudes and longitudes, which the instance has not"
        raise ApiError(422, sentence, where="roads")
    return True
