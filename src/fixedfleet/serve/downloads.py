"""Finished plans as files: what ``fixedfleet.files`` writes, without a file."""

from __future__ import annotations

import re
from typing import Any, Literal

from fixedfleet import files
from fixedfleet.errors import InputError
from fixedfleet.plan import Plan
from fixedfleet.serve.errors import ApiError

__all__ = ["FileFormat", "plan_file"]

FileFormat = Literal["csv", "json", "sol"]
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "sol": "text/plain; charset=utf-8",
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
    context = files.ReadContext(vehicles=result["fleet"])
    instance = files.parse(instance_text, context, "json")
    plan = Plan(tour["stops"] for tour in result["tours"])
    try:
        text = files.format_plan(plan, instance, f".{format}")
    except InputError as error:
        raise ApiError(409, str(error)) from None
    # Of the name only what no header and no file system can mistake.
    name = re.sub(r"[^A-Za-z0-9]+", "-", instance.name)[:40].strip("-") or "plan"
    disposition = f'attachment; filename="{name}.{format}"'
    return text, {"content-type": _TYPES[format], "content-disposition": disposition}
