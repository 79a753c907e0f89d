"""The documents that go in and out, as OpenAPI describes them."""

# Annotations are read at run time here, so they are not postponed.
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from fixedfleet.distances import Metric, Rounding
from fixedfleet.fleet.verdict import Status as VerdictStatus
from fixedfleet.solve import Objective

__all__ = [
    "ErrorDoc",
    "ExampleDoc",
    "ExampleListing",
    "HealthDoc",
    "ImprovedDoc",
    "InstanceDoc",
    "InstanceFile",
    "InstanceRequest",
    "PlanDoc",
    "PlanListing",
    "PlanOptions",
    "PlanRequest",
    "ReadingOptions",
    "Status",
    "TextFormat",
    "VerdictDoc",
]

Status = Literal["queued", "running", "done", "cancelled", "failed"]
TextFormat = Literal["auto", "csv", "vrplib", "json"]

Vehicles = Annotated[int, Field(ge=1, lt=2**53)]
Capacity = Annotated[float, Field(gt=0, allow_inf_nan=False)]
VehicleCost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
TimeLimit = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Wait = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**53)]
Point = Annotated[list[float], Field(min_length=2, max_length=2)]
Amount = Annotated[float, Field(ge=0)]


class InstanceFile(BaseModel):
    """An instance as the JSON format of fixedfleet has it: see docs/formats.md."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    vehicles: Vehicles | None = None
    capacity: Capacity | None = None
    metric: Metric | None = None
    rounding: Rounding | None = None
    depot_name: str | None = None
    depot: Point | None = None
    customers: list[Point] | None = None
    demands: Annotated[list[Amount], Field(min_length=1)]
    names: list[str] | None = None
    matrix: list[list[Amount]] | None = None


class ReadingOptions(BaseModel):
    """What the instance does not say, or what is to hold in the place of it."""

    model_config = ConfigDict(extra="forbid")

    vehicles: Vehicles | None = Field(None, description="vehicles there are")
    capacity: Capacity | None = Field(None, description="what one of them carries")
    depot: str | None = Field(
        None, description="the depot's name in a table, its node's number in VRPLIB"
    )
    rounding: Rounding | None = Field(None, description="of each distance")


class PlanOptions(ReadingOptions):
    """What to plan for."""

    objective: Objective | None = Field(None, description="default: length")
    vehicle_cost: VehicleCost | None = Field(None, description="of each vehicle used")
    time_limit: TimeLimit | None = Field(None, description="seconds; default: 2")
    seed: Seed | None = Field(None, description="of the search; default: 0")
    guarantee: bool | None = Field(
        None,
        description="where the fleet is too small, plan for the smallest that suffices",
    )
    wait: Wait | None = Field(
        None,
        description="seconds to wait for the plan before the answer is 202; default: "
        "a second more than the time limit; 0 never waits",
    )


class InstanceRequest(ReadingOptions):
    """An instance: either ``instance`` or ``text``, and the fleet if need be."""

    # The reader of files checks it: one place for what is right, and for the words.
    instance: (
        Annotated[
            dict[str, Any],
            WithJsonSchema({"$ref": "#/components/schemas/InstanceFile"}),
        ]
        | None
    ) = None
    text: str | None = Field(None, description="a CSV, VRPLIB or JSON file's text")
    format: TextFormat = Field("auto", description="what the text is")


class PlanRequest(InstanceRequest, PlanOptions):
    """An instance, and what to plan for."""


class ErrorDoc(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="one sentence: what is wrong, what would be right")
    where: str | None = Field(None, description="the field it is about")
    missing: list[str] = Field([], description="fields that must be given")


class VerdictDoc(BaseModel):
    """Whether the fleet suffices, and why."""

    status: VerdictStatus
    vehicles: int
    reason: str
    lower_bound: int
    upper_bound: int | None
    smallest: int | None
    smallest_is_proven: bool


class PlaceDoc(BaseModel):
    """The depot; for geographic instances x is the longitude, y the latitude."""

    name: str
    x: float | None
    y: float | None


class StopDoc(PlaceDoc):
    """A customer."""

    index: int
    demand: float


class InstanceDoc(BaseModel):
    """An instance as it was understood."""

    name: str
    customers: int
    vehicles: int | None
    capacity: float | None
    total_demand: float
    metric: Metric
    rounding: Rounding
    unit: Literal["km", ""]
    geographic: bool
    depot: PlaceDoc
    stops: list[StopDoc]
    notes: list[str]
    verdict: VerdictDoc | None


class RequestDoc(BaseModel):
    """What was asked for."""

    vehicles: int
    capacity: float
    objective: Objective
    vehicle_cost: float
    time_limit: float
    seed: int
    guarantee: bool


class TourDoc(BaseModel):
    """One vehicle's tour, from the depot and back to it."""

    stops: list[int]
    load: float
    utilisation: float
    length: float | None


class StageDoc(BaseModel):
    """What one step cost, and the cost it left behind."""

    name: str
    seconds: float
    cost: float | None


class ResultDoc(BaseModel):
    """
    What came of it; what is infinite is null.

    Where ``feasible`` is false, the tours are the best found that leave customers out.
    """

    feasible: bool
    objective: Objective
    cost: float | None
    length: float | None
    cost_v: float | None
    vehicles: int
    fleet: int
    tours: list[TourDoc]
    unserved: list[int]
    stages: list[StageDoc]
    trace: list[tuple[float, float]]


class PlanDoc(BaseModel):
    """A plan, or how far it is."""

    id: str
    status: Status
    created: str
    seconds: float
    position: int | None = Field(description="plans before it in the queue")
    error: str | None
    request: RequestDoc
    instance: InstanceDoc
    verdict: VerdictDoc | None
    result: ResultDoc | None


class ImprovedDoc(BaseModel):
    """The data of the event ``improved``: the best plan so far."""

    seconds: float = Field(description="since a worker began with it")
    cost: float | None = Field(description="null where not everybody is served")
    vehicles: int = Field(description="that have a tour")
    fleet: int = Field(description="vehicles planned for")
    tours: list[list[int]] = Field(description="the stops of each")
    lengths: list[float | None] = Field(description="of each tour")


class PlanListing(BaseModel):
    """A plan in the list of plans."""

    id: str
    name: str
    status: Status
    created: str
    customers: int
    vehicles: int
    cost: float | None


class ExampleListing(BaseModel):
    """A shipped example."""

    name: str
    title: str
    customers: int
    vehicles: int
    capacity: float


class ExampleDoc(BaseModel):
    """A shipped example with its text, for ``POST /plans``."""

    name: str
    title: str
    text: str
    vehicles: int
    capacity: float


class HealthDoc(BaseModel):
    """How the service is."""

    status: Literal["ok", "starting", "stopping"]
    version: str
    workers: int = Field(description="worker processes that are ready")
    queue: int = Field(description="plans that wait for a worker")
    running: int = Field(description="plans in the making")
