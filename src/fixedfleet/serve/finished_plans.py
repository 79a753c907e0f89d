"""What can be done with a finished plan: change its tours, or download it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from starlette.responses import Response

from fixedfleet import files
from fixedfleet.documents import describe_plan, finite
from fixedfleet.errors import InputError
from fixedfleet.files import gpx_files
from fixedfleet.plan import Plan
from fixedfleet.serve import schema
from fixedfleet.serve.bodies import EXCEL
from fixedfleet.serve.refusals import ApiError

if TYPE_CHECKING:
    from fixedfleet.instance import Instance

__all__ = ["FileFormat", "change_plan", "plan_file"]

FileFormat = Literal["csv", "gpx", "json", "sol", "xlsx"]
_FILE_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "gpx": "application/gpx+xml",
    "json": "application/json",
    "sol": "text/plain; charset=utf-8",
    "xlsx": EXCEL,
}


def change_plan(
    document: dict[str, Any], instance_text: str, edit: schema.EditRequest
) -> schema.EditedDocument:
    """Return the document of changed tours, with their loads, lengths and faults."""
    instance = _planned_for(document, instance_text)
    plan = Plan(edit.tours)
    plan.require_known(instance)
    Plan([edit.taken_out]).require_known(instance)
    twice = [c for c, n in Counter(chain.from_iterable(edit.tours)).items() if n > 1]
    if twice:
        sentence = f"customer {twice[0]} is in the tours twice: remove it once"
        raise ApiError(422, sentence, where="tours")
    if {*edit.taken_out} - {*plan.unserved(instance)}:
        sentence = "a customer is in a tour and taken out: remove it from one of both"
        raise ApiError(422, sentence, where="taken_out")
    if plan.vehicles != len(edit.tours):
        raise ApiError(422, "a tour is empty: leave it out", where="tours")
    vehicle_cost = document["request"]["vehicle_cost"]
    return schema.EditedDocument(
        **vars(describe_plan(plan, instance)),
        cost=finite(plan.cost_v(instance, vehicle_cost)),
        locked=edit.locked,
        taken_out=edit.taken_out,
        vehicle_names=edit.vehicle_names,
        revision=edit.revision + 1,
    )


def plan_file(
    document: dict[str, Any],
    instance_text: str,
    format: FileFormat,
    dialect: files.Dialect,
) -> Response:
    """Return the file of a plan; its name has the plan's name and day, and is ASCII."""
    instance = _planned_for(document, instance_text)
    result = document["result"]
    # The first of these that there is: the tours as the dispatcher changed them, the
    # plan, the plan that leaves customers unserved.
    for source in (document.get("edited"), result, result["partial"]):
        tours = source and source["tours"]
        if tours:
            break
    else:
        raise ApiError(409, f"plan {document['id']} has no tours to download")
    plan = Plan(tour["customers"] for tour in tours)
    names = (document.get("edited") or document["request"]).get("vehicle_names", [])
    instance = _with_vehicle_names(instance, plan, names)
    try:
        if format == "gpx":
            text: str | bytes = gpx_files.format_plan(plan, instance, names)
        else:
            text = files.format_plan(plan, instance, f".{format}", dialect)
    except InputError as error:
        raise ApiError(409, str(error)) from None
    name = re.sub(r"[^A-Za-z0-9]+", "-", instance.name)[:40].strip("-") or "plan"
    day = document["request"].get("date") or document["created"][:10]
    disposition = f'attachment; filename="{name}_plan_{day}.{format}"'
    headers = {"content-disposition": disposition}
    return Response(text, headers=headers, media_type=_FILE_TYPES[format])


def _with_vehicle_names(instance: Instance, plan: Plan, names: list[str]) -> Instance:
    """Return the instance with a column that says who serves each customer."""
    if not any(names):
        return instance
    texts = [""] * (instance.num_customers + 1)
    for tour, name in zip(plan, names, strict=False):
        for customer in tour:
            texts[customer] = name
    return replace(instance, columns={"vehicle": tuple(texts), **instance.columns})


def _planned_for(document: dict[str, Any], instance_text: str) -> Instance:
    """Return the instance with the fleet that a plan was made for."""
    result = document["result"]
    if result is None:
        raise ApiError(409, f"plan {document['id']} has no tours")
    options = files.ReadOptions(vehicles=result["vehicles_planned_for"])
    return files.parse(instance_text, options).instance
