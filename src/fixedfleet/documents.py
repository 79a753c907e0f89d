"""
The JSON documents of instances, plans, verdicts and results.

Files, the command line and the service all write these documents, so that a word means
the same everywhere:

``vehicles``
    The size of the fleet that was asked for.
``vehicles_planned_for``
    The size of the fleet that the plan was made for. It is larger than ``vehicles``
    only if the user asked for the guarantee.
``vehicles_used``
    The number of tours.
``feasible``
    Whether the plan serves every customer once, within capacity, with at most
    ``vehicles`` vehicles.

JSON has no infinity: an infinite number becomes null. The documents are plain
dataclasses. FastAPI takes them as response models and shows the descriptions of their
fields. A :class:`fixedfleet.Result` makes its document itself.
"""

# Making these dataclasses takes some milliseconds, so the command line and the modules
# that `import fixedfleet` loads import this one in the functions that need it.
# Pydantic evaluates these annotations, so their types are imported at run time, and
# `about` returns a dataclass field.
# ruff: noqa: TC001, RUF009

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fixedfleet.distances import LengthUnit, Metric, Rounding
from fixedfleet.doubts import Doubt
from fixedfleet.fleet.verdict import Status
from fixedfleet.instance.instance import TimeUnit
from fixedfleet.plan import Plan
from fixedfleet.wording import length_unit

if TYPE_CHECKING:
    from collections.abc import Collection

    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance, VehicleType
    from fixedfleet.timetable import TourTimes

__all__ = [
    "InstanceDocument",
    "InstanceFacts",
    "PlanDocument",
    "ResultDocument",
    "StageDocument",
    "StopDocument",
    "TimesDocument",
    "TourDocument",
    "VehicleTypeDocument",
    "VerdictDocument",
    "about",
    "describe_fleet",
    "describe_instance",
    "describe_plan",
    "describe_tours",
    "describe_verdict",
    "facts_of",
    "finite",
    "to_json",
]


def about(description: str, **options: Any) -> Any:
    """Return a dataclass field with a description for the OpenAPI page."""
    return field(metadata={"description": description}, **options)


@dataclass(frozen=True, kw_only=True)
class VehicleTypeDocument:
    """A vehicle type: vehicles with the same capacity, costs and shift."""

    name: str = about("name of the type", default="")
    count: int = about("number of such vehicles", default=1)
    capacity: int | float = about("what one vehicle carries")
    fixed_cost: float = about("what it costs to use a vehicle", default=0.0)
    cost_per_distance: float = about("cost per unit of distance", default=1.0)
    shift: list[float] | None = about(
        "[from, to]: when a vehicle may leave, and when it must be back", default=None
    )


@dataclass(frozen=True, kw_only=True)
class InstanceDocument:
    """An instance, as a JSON file holds it. Fields that are null may be left out."""

    name: str | None = about("name of the instance", default=None)
    vehicles: int | None = about("size of the fleet", default=None)
    capacity: int | float | None = about("what one vehicle carries", default=None)
    metric: Metric | None = about("how coordinates become distances", default=None)
    rounding: Rounding | None = about("rounding of each distance", default=None)
    detour: float | None = about(
        "what great-circle distances are multiplied by; null: 1", default=None
    )
    depot_name: str | None = about("name of the depot", default=None)
    depot: list[float] | None = about(
        "[x, y]; [latitude, longitude] if the metric is great_circle, geo or road",
        default=None,
    )
    customers: list[list[float]] | None = about(
        "coordinates of the customers, like depot", default=None
    )
    demands: list[int | float] = about("demand of each customer")
    names: list[str] | None = about("name of each customer", default=None)
    matrix: list[list[float]] | None = about(
        "distances between depot (first) and customers", default=None
    )
    unit: str | None = about("unit of demands and capacity", default=None)
    length_unit: LengthUnit | None = about(
        "unit of distances; null: km for latitudes and longitudes, else unknown",
        default=None,
    )
    columns: dict[str, list[str]] | None = about(
        "further columns of the table, such as phone numbers: the texts of depot "
        "(first) and customers, by heading",
        default=None,
    )
    vehicle_types: list[VehicleTypeDocument] | None = about(
        "the fleet, if its vehicles differ; then vehicles and capacity follow from it",
        default=None,
    )
    speed: float | None = about(
        "distance per unit of time, from which travel times follow", default=None
    )
    time_matrix: list[list[float]] | None = about(
        "travel times between depot (first) and customers, instead of a speed",
        default=None,
    )
    service_times: list[float] | None = about(
        "how long a vehicle stays at each customer", default=None
    )
    windows: list[list[float | None]] | None = about(
        "[from, to] of each customer: when its service may begin; null if it is open",
        default=None,
    )
    time_unit: TimeUnit | None = about(
        "min if times are minutes since midnight", default=None
    )
    priorities: list[float] | None = about(
        "customers with larger numbers are served first if vehicles are missing",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class StopDocument:
    """The times of a tour's vehicle at one of its customers."""

    arrival: float = about("arrival")
    begin: float = about("begin of the service, after waiting for the window")
    departure: float = about("departure")
    is_late: bool = about("whether the window has closed before the arrival")


@dataclass(frozen=True, kw_only=True)
class TimesDocument:
    """The times of one tour, in the unit of the instance's times."""

    departure: float = about("departure from the depot")
    stops: list[StopDocument] = about("the stops, in visiting order")
    end: float = about("return to the depot")
    is_late: bool = about("whether the shift is over before the return")


@dataclass(frozen=True, kw_only=True)
class TourDocument:
    """The tour of one vehicle, from the depot and back to it."""

    customers: list[int] = about("numbers of the customers, from 1, in visiting order")
    names: list[str] = about("names of the customers, in the same order")
    load: int | float = about("sum of the demands")
    length: float | None = about("length, with the ways from and to the depot")
    columns: dict[str, list[str]] = about(
        "further columns of the table: the texts of the customers, in the same order, "
        "by heading"
    )
    vehicle_type: int | None = about(
        "index of its vehicle type, from 0; null if all vehicles are alike",
        default=None,
    )
    cost: float | None = about(
        "cost of the tour: its length, unless vehicle types have costs", default=None
    )
    times: TimesDocument | None = about(
        "when the vehicle is where; null without travel times", default=None
    )


@dataclass(frozen=True, kw_only=True)
class InstanceFacts:
    """The fields about the instance, which plans and results have in common."""

    instance: str = about("name of the instance")
    vehicles: int = about("size of the fleet that was asked for")
    capacity: int | float = about("what one vehicle carries")
    unit: str = about("unit of demands and capacity")
    metric: Metric = about("how coordinates become distances")
    rounding: Rounding = about("rounding of each distance")
    detour: float = about("what straight lines are multiplied by")
    length_unit: str = about("unit of lengths: km or mi; empty if unknown")


@dataclass(frozen=True, kw_only=True)
class PlanDocument(InstanceFacts):
    """A plan, as a JSON file holds it."""

    vehicles_used: int = about("number of tours")
    length: float | None = about("sum of the lengths of the tours")
    cost: float | None = about(
        "cost of the tours: their length, unless vehicle types have costs"
    )
    faults: list[str] = about("why the plan is not feasible; empty if it is")
    unserved: list[int] = about("numbers of the customers that no tour serves")
    unserved_names: list[str] = about("names of these customers")
    tours: list[TourDocument] = about("the tours")


@dataclass(frozen=True, kw_only=True)
class VerdictDocument:
    """The verdict on the fleet: whether it suffices, and why."""

    status: Status = about("feasible, impossible, or undecided within the time limit")
    vehicles: int = about("size of the fleet that was asked about")
    reason: str = about("the proof, in one sentence")
    lower_bound: int = about("fewer vehicles than this are proven not to suffice")
    upper_bound: int | None = about(
        "this many vehicles are proven to suffice; null if no number is known to"
    )
    smallest: int | None = about("the smallest fleet that suffices; null if unknown")
    smallest_is_proven: bool = about("whether the smallest fleet is known")
    advice: str = about(
        "if vehicles differ or times are given: what would suffice, and what is not "
        "proven; empty otherwise",
        default="",
    )


@dataclass(frozen=True, kw_only=True)
class StageDocument:
    """One step of ``solve``: its time, and by how much it lowered the cost."""

    name: str = about("name of the step")
    seconds: float = about("wall time")
    cost: float | None = about("cost of the plan after this step; null if no plan")
    gain: float | None = about("by how much the step lowered the cost")


@dataclass(frozen=True, kw_only=True)
class ResultDocument(InstanceFacts):
    """A result of ``solve``: the plan, the verdict on the fleet, and the steps."""

    customers: int = about("number of customers")
    feasible: bool = about(
        "whether the plan serves every customer once, within capacity, with at most "
        "`vehicles` vehicles"
    )
    vehicles_planned_for: int = about(
        "size of the fleet that the plan was made for: larger than `vehicles` only "
        "with the guarantee"
    )
    vehicles_used: int | None = about("number of tours; null if there is no plan")
    vehicle_cost: float = about("fixed cost of each vehicle used")
    length: float | None = about("length of the plan; null if there is no plan")
    cost: float | None = about(
        "length plus the vehicle cost of each vehicle used, which was minimised"
    )
    cost_v: float | None = about("the same as `cost`, by the paper's name")
    lower_bound: float | None = about(
        "no plan costs less; null if it was not asked for, or if there is none"
    )
    gap: float | None = about(
        "share by which the plan can cost more than the best possible one: the cost "
        "divided by the lower bound, less 1"
    )
    is_optimal: bool = about("whether the plan is proven optimal")
    proof: str = about(
        "how far the plan is from the best possible one, or why that is not known, in "
        "one sentence; empty if it was not asked for"
    )
    tours: list[TourDocument] | None = about("the tours; null if there is no plan")
    partial: PlanDocument | None = about(
        "if no plan for the fleet asked for was found: the best plan that leaves "
        "customers unserved"
    )
    unserved: list[int] = about(
        "numbers of the customers that `partial` leaves out; without it, those that "
        "the plan was asked to leave out"
    )
    verdict: VerdictDocument = about("whether the fleet asked for suffices")
    stages: list[StageDocument] = about("the steps, in order")
    trace: list[tuple[float, float]] = about("improvements as (seconds, cost)")
    interrupted: bool = about("whether the user stopped the search early")
    notes: list[str] = about("remarks on how the instance was read")
    doubts: list[Doubt] = about("what is probably a mistake in the instance")


def describe_instance(
    instance: Instance, *, without: Collection[str] = ()
) -> InstanceDocument:
    """
    Return the document of an instance.

    The fields named in ``without`` become null: for example "vehicles" if the size of
    the fleet is not known yet, or "matrix" if the reader does not need it.
    """
    values: dict[str, Any] = {}
    for known in dataclasses.fields(InstanceDocument):
        value = getattr(instance, known.name)
        if known.name in without:
            value = None
        elif known.name == "vehicle_types":
            value = value and [_describe_type(one) for one in value]
        elif known.name == "windows":
            value = None if value is None else _describe_windows(value.tolist())
        elif known.name in ("vehicles", "capacity") and instance.vehicle_types:
            value = None
        elif isinstance(value, tuple):
            value = list(value)
        elif known.name == "columns":
            value = {heading: list(texts) for heading, texts in value.items()} or None
        elif known.name in ("unit", "length_unit", "time_unit"):
            value = value or None
        elif known.name == "detour":
            value = None if value == 1 else value
        elif hasattr(value, "tolist"):
            value = value.tolist()
        values[known.name] = value
    return InstanceDocument(**values)


def _describe_type(one: VehicleType) -> VehicleTypeDocument:
    shift = None if one.shift is None else list(one.shift)
    return VehicleTypeDocument(**{**vars(one), "shift": shift})


def _describe_windows(windows: list[list[float]]) -> list[list[float | None]]:
    """Return the windows with None for infinity, which JSON cannot write."""
    return [[begin, finite(end)] for begin, end in windows]


def _describe_times(times: TourTimes) -> TimesDocument:
    return TimesDocument(
        departure=times.departure,
        stops=[
            StopDocument(
                arrival=stop.arrival,
                begin=stop.begin,
                departure=stop.departure,
                is_late=stop.is_late,
            )
            for stop in times.stops
        ],
        end=times.end,
        is_late=times.is_late,
    )


def describe_tours(plan: Plan, instance: Instance) -> list[TourDocument]:
    """Return a document for each tour of a plan."""
    columns = zip(
        plan,
        plan.loads(instance),
        plan.tour_lengths(instance),
        plan.type_indices(instance),
        plan.timetable(instance) if instance.has_travel_times else [None] * len(plan),
        strict=True,
    )
    typed, mixed = instance.vehicle_types is not None, instance.has_mixed_fleet
    return [
        TourDocument(
            customers=list(tour),
            names=[instance.name_of(customer) for customer in tour],
            load=load,
            length=finite(length),
            columns={
                heading: [texts[customer] for customer in tour]
                for heading, texts in instance.columns.items()
            },
            vehicle_type=index if typed else None,
            cost=finite(Plan([tour], [index]).cost(instance) if mixed else length),
            times=None if times is None else _describe_times(times),
        )
        for tour, load, length, index, times in columns
    ]


def facts_of(instance: Instance) -> dict[str, Any]:
    """
    Return the fields of :class:`InstanceFacts` for an instance, as a dict by name.
    """
    return {
        "instance": instance.name,
        "vehicles": instance.vehicles,
        "capacity": instance.capacity,
        "unit": instance.unit,
        "metric": instance.metric,
        "rounding": instance.rounding,
        "detour": instance.detour,
        "length_unit": length_unit(instance),
    }


def describe_plan(plan: Plan, instance: Instance) -> PlanDocument:
    """Return the document of a plan, with its faults if it is not feasible."""
    unserved = plan.unserved(instance)
    return PlanDocument(
        **facts_of(instance),
        vehicles_used=plan.vehicles,
        length=finite(plan.length(instance)),
        cost=finite(plan.cost(instance)),
        faults=plan.check(instance),
        unserved=unserved,
        unserved_names=[instance.name_of(customer) for customer in unserved],
        tours=describe_tours(plan, instance),
    )


def describe_verdict(verdict: FleetVerdict) -> VerdictDocument:
    """Return the document of a verdict."""
    names = [known.name for known in dataclasses.fields(VerdictDocument)]
    return VerdictDocument(**{name: getattr(verdict, name) for name in names})


def describe_fleet(
    instance: Instance, verdict: FleetVerdict, notes: list[str], doubts: list[Doubt]
) -> dict[str, Any]:
    """Return the output of ``fixedfleet fleet --json``: a verdict and its packing."""
    packing = verdict.packing
    return {
        **vars(describe_verdict(verdict)),
        "instance": instance.name,
        "customers": instance.num_customers,
        "capacity": instance.capacity,
        "packing": None if packing is None else packing.tours,
        "notes": notes,
        "doubts": [vars(doubt) for doubt in doubts],
    }


def finite(number: float) -> float | None:
    """Return the number, or None if it is infinite or not a number."""
    return number if math.isfinite(number) else None


def to_json(document: Any, *, one_line: bool = False) -> str:
    """
    Return a document, or a dictionary, as JSON text.

    Each key is on its own line, and so is each row of a table. With ``one_line``,
    everything is on one line without blanks.
    """
    is_plain = isinstance(document, (dict, list))
    data = document if is_plain else dataclasses.asdict(document)
    if one_line:
        return _dump(data, separators=(",", ":"))
    return _lay_out(data) + "\n"


def _lay_out(data: dict[str, Any]) -> str:
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
            text = "[\n" + ",\n".join(f"    {_dump(row)}" for row in value) + "\n  ]"
        else:
            text = _dump(value)
        lines.append(f"  {_dump(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _dump(value: Any, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
