"""The documents of the service: what requests may say, and what answers say.

Requests are checked, so they are pydantic models. Answers are dataclasses, like the
documents of instances, verdicts and results that they contain.
"""

# Pydantic evaluates these annotations, so their types are imported at run time, and
# `about` returns a dataclass field.
# ruff: noqa: TC001, RUF009

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, WithJsonSchema

from fixedfleet.distances import LengthUnit, Rounding
from fixedfleet.documents import (
    InstanceDocument,
    PlanDocument,
    ResultDocument,
    VehicleTypeDocument,
    VerdictDocument,
    about,
    to_json,
)
from fixedfleet.doubts import Doubt

__all__ = [
    "EditRequest",
    "EditedDocument",
    "ErrorDocument",
    "ExampleDocument",
    "HealthDocument",
    "ImprovedDocument",
    "InstanceOptions",
    "InstanceRequest",
    "JobDocument",
    "LinesDocument",
    "LinkDocument",
    "PlaceRequest",
    "PlanListing",
    "PlanOptions",
    "PlanRequest",
    "PlanStatus",
    "ProgressDocument",
    "ReadDocument",
    "RenameRequest",
    "RequestDocument",
    "SearchingDocument",
    "SettingsDocument",
    "TableDocument",
    "VehicleTypeRequest",
    "self_contained",
]

PlanStatus = Literal["queued", "running", "done", "cancelled", "failed"]


def self_contained(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON schema in which each reference is replaced by its definition."""
    definitions = schema.get("$defs", {})

    def filled(part: Any) -> Any:
        if isinstance(part, list):
            return [filled(one) for one in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            kind = part["$ref"].removeprefix("#/$defs/")
            return {
                **filled(definitions[kind]),
                **{k: part[k] for k in part if k != "$ref"},
            }
        return {key: filled(value) for key, value in part.items() if key != "$defs"}

    result: dict[str, Any] = filled(schema)
    return result


# This schema only describes an instance on the OpenAPI page. The reader of JSON files
# checks the instance, so that requests and files have the same error messages.
_INSTANCE = {
    **self_contained(TypeAdapter(InstanceDocument).json_schema()),
    "additionalProperties": False,
}


Customers = list[Annotated[int, Field(ge=1, lt=2**53)]]
Tours = list[Customers]
VehicleNames = list[Annotated[str, Field(max_length=80)]]
TypeIndices = list[Annotated[int, Field(ge=0, lt=2**53)]]  # of vehicle types, from 0
Shift = Annotated[list[float], Field(min_length=2, max_length=2)]


class VehicleTypeRequest(BaseModel):
    """Vehicles that are alike."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str = Field("", max_length=80, description="name of these vehicles")
    count: int = Field(1, ge=1, lt=2**53, description="number of such vehicles")
    capacity: float = Field(gt=0, description="what one vehicle carries")
    fixed_cost: float = Field(0.0, ge=0, description="cost of using a vehicle")
    cost_per_distance: float = Field(1.0, ge=0, description="cost of a km or mile")
    shift: Shift | None = Field(
        None,
        description="from, to, in minutes since midnight; default: the shift of all",
    )


class InstanceOptions(BaseModel):
    """Values that complete an instance, or replace what it says."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str | None = Field(
        None, max_length=200, description="name of an instance that has none"
    )
    vehicles: int | None = Field(None, ge=1, lt=2**53, description="size of the fleet")
    capacity: float | None = Field(None, gt=0, description="what one vehicle carries")
    depot: str | None = Field(
        None, description="the depot's name in a table, its node number in VRPLIB"
    )
    columns: list[str] = Field(
        [],
        description="headings of a table's columns that are not recognised, each as "
        "COLUMN=HEADING: demand=Paletten",
    )
    sheet: str | None = Field(None, description="sheet of an Excel file to read")
    corrections: list[str] = Field(
        [],
        description="what cells of a table should say instead, each as "
        "ROW:COLUMN=VALUE: 14:demand=12",
    )
    rounding: Rounding | None = Field(None, description="rounding of each distance")
    unit: str | None = Field(
        None, max_length=20, description="unit of demands and capacity, such as kg"
    )
    length_unit: LengthUnit | None = Field(
        None, description="unit of lengths between latitudes and longitudes"
    )
    detour: float | None = Field(
        None,
        ge=1,
        le=10,
        description="what straight lines between latitudes and longitudes are "
        "multiplied by, as roads are longer",
    )
    leave_out: list[int] = Field(
        [],
        description="rows of a table to leave out; else customers, by number from 1",
    )
    vehicle_types: list[str] = Field(
        [],
        description="kinds of vehicles, instead of vehicles and capacity; in a query, "
        'each is written in JSON: {"name": "Van", "count": 2, "capacity": 850}',
    )
    speed: float | None = Field(
        None, gt=0, description="distance per hour; without it, nothing is timed"
    )
    service_minutes: float | None = Field(
        None, ge=0, description="minutes at customers for whom the table has none"
    )
    shift: Shift | None = Field(
        None,
        description="shift of vehicles that have none: from, to, in minutes since "
        "midnight; from 0, it is a length only",
    )


class PlanOptions(InstanceOptions):
    """What to plan for."""

    vehicle_cost: float = Field(
        0.0,
        ge=0,
        description="fixed cost of each vehicle used; the length plus this cost is "
        "minimised",
    )
    time_limit: float = Field(2.0, gt=0, description="seconds")
    seed: int = Field(0, ge=0, lt=2**32, description="seed of the search")
    guarantee: bool = Field(
        False,
        description="if the fleet is too small, plan for the smallest that suffices",
    )
    prove: bool = Field(
        False,
        description="compute how far the plan is from the best possible one; the "
        "search has a tenth of the time at most, the lower bound the rest",
    )
    wait: float | None = Field(
        None,
        ge=0,
        description="seconds to wait for the plan before the answer is 202; at most, "
        "and by default, 30; 0 does not wait",
    )
    vehicle_names: VehicleNames = Field(
        [], description="names of the vehicles; tour 1 has the first"
    )
    date: str | None = Field(
        None, pattern=r"^\d{4}-\d\d-\d\d$", description="day of the tours, 2026-03-12"
    )
    listed: bool = Field(True, description="whether the list of plans has it")
    roads: bool | None = Field(
        None,
        description="whether to plan by road instead of by straight lines; by default "
        "if the server has roads and the instance has latitudes and longitudes",
    )


class InstanceRequest(InstanceOptions):
    """An instance, given by exactly one of ``instance``, ``text`` and ``plan``."""

    instance: Annotated[dict[str, Any], WithJsonSchema(_INSTANCE)] | None = Field(
        None, description="an instance in the JSON format of fixedfleet"
    )
    text: str | None = Field(None, description="the text of a CSV, VRPLIB or JSON file")
    vehicle_types: list[VehicleTypeRequest] = Field(  # type: ignore[assignment]
        [], description="kinds of vehicles, instead of vehicles and capacity"
    )
    plan: str | None = Field(None, description="id of a plan whose customers to take")


class PlanRequest(InstanceRequest, PlanOptions):
    """An instance, and what to plan for."""

    locked: Tours = Field(
        [], description="tours that the plan must keep: numbers of customers, from 1"
    )
    locked_types: TypeIndices = Field(
        [], description="the vehicle type of each locked tour, by its place from 0"
    )
    taken_out: Customers = Field(
        [], description="customers, from 1, that no tour of the plan may serve"
    )


class EditRequest(BaseModel):
    """The tours of a plan as the dispatcher wants them."""

    model_config = ConfigDict(extra="forbid")

    tours: Tours = Field(description="numbers of customers, from 1, in visiting order")
    locked: list[int] = Field([], description="numbers of the tours that are locked")
    taken_out: Customers = Field(
        [], description="customers that the dispatcher took out of all tours"
    )
    vehicle_names: VehicleNames = Field([], description="names, in the order of tours")
    vehicle_types: TypeIndices | None = Field(
        None, description="the vehicle type of each tour, by its place from 0"
    )
    revision: int = Field(
        0,
        ge=0,
        lt=2**53,
        description="`revision` of the tours that were changed; 0 for the plan as it "
        "was found",
    )


class RenameRequest(BaseModel):
    """Another name of a plan."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200, description="the new name")


@dataclass(frozen=True, kw_only=True)
class ReadDocument:
    """An instance as it was read. A fleet that is not given is null."""

    instance: InstanceDocument = about("the instance, without its matrix")
    notes: list[str] = about("remarks on how the instance was read")
    doubts: list[Doubt] = about("what is probably a mistake in the instance")
    rows: list[int] | None = about(
        "the row of the depot (first) and each customer, if it is a table"
    )
    columns: dict[str, str] = about("headings of the table's known columns, by column")
    verdict: VerdictDocument | None = about(
        "whether the fleet suffices, by bounds and quick packings only; null without "
        "a fleet"
    )


@dataclass(frozen=True, kw_only=True)
class RequestDocument:
    """What was asked for, with all defaults filled in."""

    vehicles: int = about("size of the fleet")
    capacity: int | float = about("what one vehicle carries")
    vehicle_cost: float = about("fixed cost of each vehicle used")
    time_limit: float = about("seconds")
    seed: int = about("seed of the search")
    guarantee: bool = about("whether to plan for a larger fleet if necessary")
    prove: bool = about("whether to compute a lower bound on the cost", default=False)
    locked: list[list[int]] = about(
        "tours that the plan must keep", default_factory=list
    )
    taken_out: list[int] = about(
        "customers that no tour may serve", default_factory=list
    )
    vehicle_names: list[str] = about(
        "names of the vehicles; tour 1 has the first", default_factory=list
    )
    date: str | None = about("day of the tours", default=None)
    locked_types: list[int] = about(
        "the vehicle type of each locked tour", default_factory=list
    )
    vehicle_types: list[VehicleTypeDocument] = about(
        "kinds of vehicles that were asked for", default_factory=list
    )
    speed: float | None = about("distance per hour", default=None)
    service_minutes: float | None = about("minutes per stop", default=None)
    shift: list[float] | None = about("shift of all vehicles", default=None)
    roads: bool = about("whether distances and times are by road", default=False)


@dataclass(frozen=True, kw_only=True)
class EditedDocument(PlanDocument):
    """The tours of a plan as the dispatcher changed them. They may have faults."""

    cost: float | None = about("length plus the vehicle cost of each vehicle used")
    locked: list[int] = about("numbers of the tours that are locked")
    taken_out: list[int] = about(
        "customers that the dispatcher took out; a new plan leaves them out, too"
    )
    vehicle_names: list[str] = about("names of the vehicles, in the order of tours")
    revision: int = about("how often the tours have been changed")


@dataclass(frozen=True, kw_only=True)
class JobDocument:
    """A plan that was asked for: its state, and its result when it is finished."""

    id: str = about("id of the plan")
    status: PlanStatus = about("queued, running, done, cancelled or failed")
    created: str = about("when it was asked for, in ISO 8601")
    seconds: float = about("time since a worker began to make it")
    position: int | None = about("number of plans before it in the queue")
    error: str | None = about("why it failed, in one sentence")
    request: RequestDocument | None = about("what was asked for")
    instance: InstanceDocument | None = about("the instance, without its matrix")
    notes: list[str] = about("remarks on how the instance was read")
    verdict: VerdictDocument | None = about("whether the fleet suffices, once known")
    result: ResultDocument | None = about("the result, if there is one")
    edited: EditedDocument | None = about(
        "the tours as the dispatcher changed them; null if they are those of the "
        "result",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class SearchingDocument:
    """The data of the event ``searching``: nothing."""


@dataclass(frozen=True, kw_only=True)
class ImprovedDocument:
    """The data of the event ``improved``: the best plan so far."""

    seconds: float = about("time since the search began")
    cost: float | None = about("null if customers are unserved")
    lower_bound: float | None = about(
        "no plan costs less; null if it is not known yet", default=None
    )
    vehicles_planned_for: int = about("size of the fleet of this plan")
    vehicles_used: int = about("number of tours")
    tours: list[list[int]] = about("the customers of each tour")
    lengths: list[float | None] = about("the length of each tour")
    vehicle_types: list[int] | None = about(
        "the vehicle type of each tour; null if all are alike", default=None
    )

    @cached_property
    def text(self) -> str:
        """This document as JSON, which is written once for all followers of a plan."""
        return to_json(self, one_line=True)


@dataclass(frozen=True, kw_only=True)
class ProgressDocument:
    """The progress of a request to another server, such as a geocoder."""

    done: int = about("number of pairs of places, or of addresses, that are known")
    total: int = about("number of all of them")


@dataclass(frozen=True, kw_only=True)
class LinesDocument:
    """The lines of a plan's tours along roads."""

    tours: list[list[tuple[float, float]]] = about(
        "for each tour, points as [latitude, longitude], from the depot and back"
    )


class PlaceRequest(BaseModel):
    """The place of an address, as a person gives it."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    address: str = Field(
        min_length=1, max_length=500, description="the address, as a doubt states it"
    )
    latitude: float = Field(ge=-90, le=90, description="degrees")
    longitude: float = Field(ge=-180, le=180, description="degrees")


@dataclass(frozen=True, kw_only=True)
class PlanListing:
    """A plan in the list of plans."""

    id: str
    name: str
    status: PlanStatus
    created: str
    customers: int
    vehicles: int
    cost: float | None
    unit: str = about("unit of the cost; empty if it is unknown")
    unserved: int = about("number of customers that no tour serves", default=0)


@dataclass(frozen=True, kw_only=True)
class LinkDocument:
    """A link that opens some stops of a tour in the maps app of a phone."""

    first: int = about("its first stop, from 1; the tour begins at the depot")
    last: int = about("its last stop; the last link also leads back, if it has room")
    address: str = about("the address to open")
    code: list[str] = about("its QR code: rows of 1 (dark) and 0, without a margin")


@dataclass(frozen=True, kw_only=True)
class ExampleDocument:
    """An example with its text, for ``POST /plans``."""

    name: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class HealthDocument:
    """The state of the service."""

    status: Literal["ok", "starting", "stopping"]
    version: str
    workers: int = about("worker processes that are ready")
    queue: int = about("plans that wait for a worker")
    running: int = about("plans that a worker is making")


@dataclass(frozen=True, kw_only=True)
class SettingsDocument:
    """What the page must know about the server."""

    max_bytes: int = about("size of a request")
    tiles: str | None = about("address of street tiles with {z}, {x} and {y}")
    attribution: str = about("copyright notice to show beside the tiles")
    roads: bool = about("whether plans can be by road")
    geocoder: bool = about("whether tables may have addresses instead of coordinates")


@dataclass(frozen=True, kw_only=True)
class TableDocument:
    """
    A table that needs more information: which sheet to read, what each column means.
    """

    sheets: list[str] = about("the visible sheets, if there are several")
    headings: list[str] = about("all headings; empty if the sheet is not known")
    columns: dict[str, str] = about("headings of the columns that are known, by column")
    depots: list[str] = about("names of rows, if it must be said which is the depot")


@dataclass(frozen=True, kw_only=True)
class ErrorDocument:
    """Why a request was refused."""

    error: str = about("one sentence: what is wrong and what to do")
    where: str | None = about("the field that is wrong or missing", default=None)
    table: TableDocument | None = about(
        "the table, if it must be said which sheet, or which column holds what",
        default=None,
    )
    progress: ProgressDocument | None = about(
        "if addresses are being looked up: how many are known; ask again soon",
        default=None,
    )
