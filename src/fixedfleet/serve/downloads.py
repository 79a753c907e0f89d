"""Finished plans as files: what ``fixedfleet.files`` writes, without a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from fixedfleet.errors import InputError
from fixedfleet.files import csv_format, json_format, solution
from fixedfleet.files.text import Caller
from fixedfleet.plan import Plan
from fixedfleet.serve.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance

__all__ = ["FileFormat", "plan_file"]

FileFormat = Literal["csv", "json", "sol"]
_WRITERS: dict[str, tuple[Callable[[Plan, Instance], str], str]] = {
    # Cells that a spreadsheet would compute are defused by the writer.
    "csv": (csv_format.format_plan, "text/csv; charset=utf-8"),
    "json": (json_format.format_plan, "application/json"),
    "sol": (solution.format_plan, "text/plain; charset=utf-8"),
}


def plan_file(
    document: dict[str, Any], instance_text: str, format: FileFormat
) -> tuple[str, dict[str, str]]:
    """
    Write a plan.

    Parameters
    ----------
    document
        The plan's document.
    instance_text
        The instance, as JSON.
    format
        The format to write.

    Returns
    -------
    tuple
        The text and the headers that go with it.
    """
    result = document["result"]
    if result is None or not result["tours"]:
        raise ApiError(409, f"plan {document['id']} has no tours to be downloaded")
    caller = Caller(vehicles=result["fleet"])
    instance, _ = json_format.parse_instance(instance_text, caller)
    write, content_type = _WRITERS[format]
    try:
        text = write(Plan(tour["stops"] for tour in result["tours"]), instance)
    except InputError as error:
        raise ApiError(409, str(error)) from None
    # Of the name only what no header and no file system can mistake.
    name = re.sub(r"[^A-Za-z0-9]+", "-", instance.name)[:40].strip("-") or "plan"
    disposition = f'attachment; filename="{name}.{format}"'
    return text, {"content-type": content_type, "content-disposition": disposition}
