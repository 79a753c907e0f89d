"""From a request's body to an instance; no path of a client's is ever opened."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from fixedfleet.errors import InputError
from fixedfleet.files import csv_format, json_format, vrplib_format
from fixedfleet.files.text import Caller, check_storable
from fixedfleet.serve.errors import ApiError, describe_invalid
from fixedfleet.serve.schema import InstanceRequest
from fixedfleet.serve.size import excess

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.serve.schema import ReadingOptions, TextFormat
    from fixedfleet.serve.settings import Settings

__all__ = ["BODIES", "Parsed", "parse_body", "read_instance"]

R = TypeVar("R", bound=InstanceRequest)

# The types of body understood, and the format of text each stands for.
BODIES: dict[str, TextFormat] = {
    "application/json": "json",
    "text/csv": "csv",
    "text/plain": "auto",
}
_READERS: dict[str, Callable[[str, Caller], tuple[Instance, list[str]]]] = {
    "csv": csv_format.parse_instance,
    "vrplib": vrplib_format.parse,
    "json": json_format.parse_instance,
}
# A header or a section of VRPLIB at the begin of a line; no table begins so. Blanks
# are those within a line: with line ends among them, empty lines would take the square
# of their number.
_VRPLIB = re.compile(
    r"^[ \t]*(NAME|COMMENT|TYPE|DIMENSION|CAPACITY|VEHICLES|EDGE_WEIGHT_TYPE)[ \t]*:"
    r"|^[ \t]*(NODE_COORD|DEMAND|EDGE_WEIGHT)_SECTION\b",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Parsed:
    """
    An instance as a request gave it.

    Attributes
    ----------
    instance
        The instance. What is missing has the value 1 in it.
    notes
        What is to be said about how it was read.
    missing
        Of ``vehicles`` and ``capacity``, those that neither file nor request says.
    """

    instance: Instance
    notes: list[str]
    missing: list[str]


@dataclass(frozen=True)
class _Lenient(Caller):
    """A caller that notes what is missing instead of refusing it."""

    missing: list[str] = field(default_factory=list)

    def fleet(
        self, found: int | None, source: str, remedy: str, notes: list[str]
    ) -> int:
        """Settle the fleet, with 1 for one that nobody says."""
        if self.vehicles is None and found is None:
            self.missing.append("vehicles")
            return 1
        return super().fleet(found, source, remedy, notes)

    def load(self, found: float | None, remedy: str, notes: list[str]) -> float:
        """Settle the capacity, with 1 for one that nobody says."""
        if self.capacity is None and found is None:
            self.missing.append("capacity")
            return 1.0
        return super().load(found, remedy, notes)


def parse_body(
    model: type[R], content_type: str, body: bytes, query: ReadingOptions
) -> R:
    """
    Read a body of any type understood into a request.

    Parameters
    ----------
    model
        The kind of request.
    content_type
        The header of that name.
    body
        The body.
    query
        Parameters of the query, which say what the body leaves out.
    """
    kind, charset = _content_type(content_type)
    if kind not in BODIES or charset not in ("utf-8", "utf8", "us-ascii"):
        raise ApiError(
            415,
            f"content type {content_type[:60]!r}, not {', '.join(BODIES)} in UTF-8",
        )
    if not body.strip():
        raise ApiError(400, "the body is empty: send an instance")
    given = query.model_dump(exclude_none=True)
    if kind != "application/json":
        return model(text=_decode(body), format=BODIES[kind], **given)
    try:
        request = model.model_validate_json(body, strict=True)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        sentence, where = describe_invalid(problems)
        status = 400 if problems[0]["type"] == "json_invalid" else 422
        raise ApiError(status, sentence, where=where) from None
    left_out = {k: v for k, v in given.items() if getattr(request, k) is None}
    return request.model_copy(update=left_out)


def _content_type(header: str) -> tuple[str, str]:
    """The type of a body and its character set, in lower case."""
    kind, *parameters = (part.strip().lower() for part in header.split(";"))
    charset = "utf-8"
    for parameter in parameters:
        if parameter.startswith("charset="):
            charset = parameter.removeprefix("charset=").strip('"')
    return kind, charset


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ApiError(
            400,
            f"byte {error.start} of the body is {body[error.start]:#04x}, which is not "
            "UTF-8: save the file as UTF-8 text",
        ) from None


def read_instance(request: InstanceRequest, settings: Settings) -> Parsed:
    """
    Read the instance of a request and hold it against the limits.

    Raises
    ------
    ApiError
        With 422, if it is wrong or beyond a limit.
    """
    text, chosen = _text_of(request)
    most = settings.max_customers
    if (too_much := excess(text, chosen, most)) is not None:
        raise _too_large(too_much, most)
    caller = _Lenient(
        request.vehicles, request.capacity, request.rounding, request.depot
    )
    try:
        instance, notes = _READERS[chosen](text, caller)
    except InputError as error:
        raise ApiError(422, _in_request_terms(str(error)), where="instance") from None
    if instance.num_customers > most:
        raise _too_large(f"{instance.num_customers} customers", most)
    if instance.vehicles > most:
        raise ApiError(
            422,
            f"{instance.vehicles} vehicles, but this server plans for at most {most}",
            where="vehicles",
        )
    return Parsed(instance, notes, caller.missing)


def _too_large(what: str, most: int) -> ApiError:
    sentence = f"{what}, but this server plans for at most {most} customers"
    return ApiError(422, sentence, where="instance")


def _text_of(request: InstanceRequest) -> tuple[str, str]:
    """The text to read, and the format to read it in."""
    if (request.instance is None) == (request.text is None):
        both = "both" if request.text is not None else "neither"
        raise ApiError(
            422, f"{both} of 'instance' and 'text' given: give one", where="instance"
        )
    if request.instance is not None:
        try:
            return json.dumps(request.instance), "json"
        except ValueError:  # whole numbers of thousands of digits
            raise ApiError(
                422, "a number of thousands of digits", where="instance"
            ) from None
    text = request.text or ""
    if not text.strip():
        raise ApiError(422, "the text is empty", where="text")
    try:
        check_storable("the text", text)
    except InputError:
        raise ApiError(
            422,
            "the text holds a control character, as no text file does",
            where="text",
        ) from None
    return text, _guess(text) if request.format == "auto" else request.format


def _guess(text: str) -> str:
    """Tell JSON and VRPLIB by their beginnings; all else is a table."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return "json"
    return "vrplib" if _VRPLIB.search(text) else "csv"


def _in_request_terms(sentence: str) -> str:
    """Name fields of a request where the readers name arguments of a function."""
    return re.sub(r"\b(vehicles|capacity|depot|rounding)=", r"'\1'", sentence)
