"""From a request's body to an instance; no path of a client's is ever opened."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.files.text import check_storable
from fixedfleet.serve.errors import ApiError, describe_invalid
from fixedfleet.serve.schema import InstanceRequest

if TYPE_CHECKING:
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
    context = files.ReadContext(
        vehicles=request.vehicles,
        capacity=request.capacity,
        rounding=request.rounding,
        depot=request.depot,
        max_customers=most,
        allow_missing=True,
    )
    try:
        instance = files.parse(text, context, chosen)
    except InputError as error:
        raise ApiError(422, _in_request_terms(str(error)), where="instance") from None
    if instance.vehicles > most:
        raise ApiError(
            422,
            f"{instance.vehicles} vehicles, but this server plans for at most {most}",
            where="vehicles",
        )
    return Parsed(instance, context.notes, context.missing)


def _text_of(request: InstanceRequest) -> tuple[str, TextFormat]:
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
    return text, request.format


def _in_request_terms(sentence: str) -> str:
    """Name fields of a request where the readers name arguments of a function."""
    return re.sub(r"\b(vehicles|capacity|depot|rounding)=", r"'\1'", sentence)
