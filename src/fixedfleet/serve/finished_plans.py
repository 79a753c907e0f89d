"""Operations on a finished plan: change its tours, or download it."""

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
from fixedfleet.files.plan_words import translate
from fixedfleet.plan import Plan
from fixedfleet.roads import RoadsError, road_lines, with_kept_roads
from fixedfleet.serve import schema
from fixedfleet.serve.bodies import EXCEL
from fixedfleet.serve.refusals import ApiError
from fixedfleet.serve.tour_links import tour_links

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.serve.planner import RoadServer

__all__ = ["FileFormat", "change_plan", "links_of", "plan_file", "plan_lines"]

FileFormat = Literal["csv", "gpx", "json", "sol", "xlsx"]
_FILE_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "gpx": "application/gpx+xml",
    "json": "application/json",
    "sol": "text/plain; charset=utf-8",
    "xlsx": EXCEL,
}


def change_plan(
    document: dict[str, Any],
    instance_text: str,
    edit: schema.EditRequest,
    roads: RoadServer | None = None,
) -> schema.EditedDocument:
    """
    Return the changed tours of a plan as a document, with loads, lengths and faults.

    A fault is a reason why the changed plan is infeasible. ``document`` is the plan's
    :class:`schema.JobDocument`, and ``instance_text`` is its instance, as JSON.
    """
    instance = _planned_for(document, instance_text, roads)
    if edit.vehicle_types and len(edit.vehicle_types) != len(edit.tours):
        sentence = "vehicle_types has a number for each tour, or is left out"
        raise ApiError(422, sentence, where="vehicle_types")
    plan = Plan(edit.tours, edit.vehicle_types)
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
        **vars(describe_plan(plan, instance))
        | {"cost": finite(plan.cost_v(instance, vehicle_cost))},
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
    roads: RoadServer | None = None,
    language: files.Language = "en",
) -> Response:
    """
    Return a plan as a file to download.

    The name of the file consists of the plan's name and date, in ASCII characters.
    ``document`` is the plan's :class:`schema.JobDocument`, and ``instance_text`` is its
    instance, as JSON.
    """
    instance = _planned_for(document, instance_text, roads)
    plan = _plan_of(document)
    names = (document.get("edited") or document["request"]).get("vehicle_names", [])
    instance = _with_vehicle_names(instance, plan, names, language)
    try:
        if format == "gpx":
            lines = _lines_of(plan, instance, roads)
            text: str | bytes = gpx_files.format_plan(plan, instance, names, lines)
        else:
            text = files.format_plan(
                plan, instance, f".{format}", dialect, language=language
            )
    except InputError as error:
        raise ApiError(409, str(error)) from None
    name = re.sub(r"[^A-Za-z0-9]+", "-", instance.name)[:40].strip("-") or "plan"
    day = document["request"].get("date") or document["created"][:10]
    disposition = f'attachment; filename="{name}_plan_{day}.{format}"'
    headers = {"content-disposition": disposition}
    return Response(text, headers=headers, media_type=_FILE_TYPES[format])


def links_of(
    document: dict[str, Any], instance_text: str
) -> list[list[schema.LinkDocument]]:
    """
    Return links that open each tour of a plan in a maps app; see :func:`tour_links`.
    """
    instance = files.parse(instance_text, files.ReadOptions()).instance
    return tour_links(_plan_of(document), instance)


def _with_vehicle_names(
    instance: Instance, plan: Plan, names: list[str], language: files.Language
) -> Instance:
    """
    Return the instance with a column that names the vehicle of each customer.

    ``names`` are the names of the vehicles, one per tour of the plan. If all are empty,
    the instance is returned unchanged. ``language`` is that of the column's heading.
    """
    if not any(names):
        return instance
    texts = [""] * (instance.num_customers + 1)
    for tour, name in zip(plan, names, strict=False):
        for customer in tour:
            texts[customer] = name
    heading = translate("vehicle", language)
    return replace(instance, columns={heading: tuple(texts), **instance.columns})


def plan_lines(
    document: dict[str, Any], instance_text: str, roads: RoadServer | None
) -> schema.LinesDocument:
    """
    Return the lines of a plan's tours along roads.

    Raise ApiError, with the status 409, if the plan is by straight lines.
    """
    instance = _planned_for(document, instance_text, roads)
    if instance.metric != "road":
        raise ApiError(409, f"plan {document['id']} is by straight lines, not by road")
    lines = _lines_of(_plan_of(document), instance, roads)
    return schema.LinesDocument(
        tours=[[(lat, lon) for lat, lon in line.round(6).tolist()] for line in lines]
    )


def _plan_of(document: dict[str, Any]) -> Plan:
    """
    Return the plan as the dispatcher changed it.

    If it was not changed, return it as the search found it.
    """
    result = document["result"] or {}
    # ``partial`` is the plan that leaves customers unserved.
    for source in (document.get("edited"), result, result.get("partial")):
        if tours := source and source.get("tours"):
            types = [tour.get("vehicle_type") for tour in tours]
            known = None if None in types else types
            return Plan([tour["customers"] for tour in tours], known)
    raise ApiError(409, f"plan {document['id']} has no tours")


def _planned_for(
    document: dict[str, Any], instance_text: str, roads: RoadServer | None
) -> Instance:
    """
    Return the instance with the fleet and the road distances that a plan was made for.
    """
    result = document["result"]
    if result is None:
        raise ApiError(409, f"plan {document['id']} has no tours")
    instance = files.parse(instance_text, files.ReadOptions()).instance
    instance = instance.with_vehicles(result["vehicles_planned_for"])
    if not document["request"].get("roads"):
        return instance
    if roads is None:
        sentence = "the plan is by road: start the server with --roads URL"
        raise ApiError(409, sentence, where="roads")
    try:
        return with_kept_roads(instance, roads.url, folder=roads.folder)
    except RoadsError as error:
        raise ApiError(503, str(error), where="roads", retry_after=60) from None


def _lines_of(
    plan: Plan, instance: Instance, roads: RoadServer | None
) -> list[NDArray[np.float64]]:
    """
    Return the tours' lines along roads; an empty list if the plan is not by road.

    A line is an array of (latitude, longitude), shape (n, 2).
    """
    if roads is None or instance.metric != "road":
        return []
    try:
        return road_lines(plan, instance, roads.url)
    except RoadsError as error:
        raise ApiError(503, str(error), where="roads", retry_after=60) from None
