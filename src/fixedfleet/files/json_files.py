"""Read and write instances and plans as JSON (see ``fixedfleet.documents``)."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from fixedfleet.errors import InputError
from fixedfleet.files.reading import build_reading
from fixedfleet.files.stops import Stop, plan_of
from fixedfleet.files.text import decode, shorten
from fixedfleet.files.times import parse_time
from fixedfleet.instance import Instance, VehicleType
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from fixedfleet.files.reading import Reading, ReadOptions

__all__ = ["format_instance", "format_plan", "parse_instance", "parse_plan"]

_KEYS = [field.name for field in dataclasses.fields(Instance)]
_LARGEST = sys.float_info.max
_MATRICES = ("matrix", "time_matrix")
_ARRAYS = (
    *("depot", "customers", "demands", *_MATRICES),
    *("service_times", "priorities"),
)
_TEXTS = (
    "name",
    "metric",
    "rounding",
    "depot_name",
    "unit",
    "length_unit",
    "time_unit",
)
_TYPE_KEYS = [field.name for field in dataclasses.fields(VehicleType)]


def parse_instance(content: str | bytes, options: ReadOptions) -> Reading:
    """Read an instance. A key with the value null is treated like a missing key."""
    options.refuse_table_options()
    options.refuse("a JSON instance states its depot", "depot")
    data = _object(_load(decode(content)))
    values = {key: value for key, value in data.items() if value is not None}
    for key in values:
        if key not in _KEYS:
            raise InputError(
                f"unknown key {shorten(key)}, not one of {', '.join(_KEYS)}"
            )
    for key in _ARRAYS:
        size = len(values[key]) if isinstance(values.get(key), list) else 0
        options.check_size(size - (key in _MATRICES))
    _check_values(values)
    if "vehicle_types" in values:
        types = _list(values["vehicle_types"], "vehicle_types")
        values["vehicle_types"] = [
            _vehicle_type(one, f"vehicle_types[{place}]")
            for place, one in enumerate(types)
        ]
    if "windows" in values:
        windows = enumerate(_list(values["windows"], "windows"))
        values["windows"] = [_ends(one, f"windows[{i}]") for i, one in windows]
    sources = {key: f"the key {key!r}" for key in ("capacity", "vehicles")}
    return build_reading(values, sources, options)


def _check_values(values: dict[str, Any]) -> None:
    """
    Raise InputError if a value of an instance in JSON has a wrong type.

    An example is a number instead of a text. The message names the key of the wrong
    value. :class:`Instance` checks everything else.
    """
    for key in _TEXTS:
        _check_text(values.get(key, ""), key)
    _check_texts(values.get("names", []), "names")
    for heading, texts in _object(values.get("columns", {}), "columns").items():
        _check_text(heading, "a key of columns")
        _check_texts(texts, f"columns[{shorten(heading)}]")
    for key in _ARRAYS:
        _check_numbers(values.get(key, []), key)
    metric = values.get("metric", "explicit")
    if "matrix" in values and metric not in ("explicit", "road"):
        raise InputError(
            f"'metric' is {shorten(metric)}, but a 'matrix' makes it explicit: leave "
            "one of them out"
        )
    if "demands" not in values:
        raise InputError("no key 'demands'")


def _vehicle_type(value: Any, what: str) -> VehicleType:
    """
    Return the vehicle type that a JSON object describes.

    A key with the value null is treated like a missing key. ``what`` is the place of
    the object in the document, for error messages.
    """
    said = {key: own for key, own in _object(value, what).items() if own is not None}
    for key in said:
        if key not in _TYPE_KEYS:
            raise InputError(
                f"{what}: unknown key {shorten(key)}, not one of "
                f"{', '.join(_TYPE_KEYS)}"
            )
    _check_text(said.get("name", ""), f"{what}.name")
    if "capacity" not in said:
        raise InputError(f"{what}: no key 'capacity'")
    if "shift" in said:
        shift = _ends(said["shift"], f"{what}.shift")
        if shift is None or None in shift:
            raise InputError(
                f"{what}.shift is {shorten(said['shift'])}, not [from, to]"
            )
        said["shift"] = shift
    try:
        return VehicleType(**said)
    except InputError as error:
        raise error.within(what) from None


def _ends(value: Any, what: str) -> tuple[float | None, float | None] | None:
    """
    Return the two ends of a time window or shift [from, to]; None for null.

    A text such as "08:30" is read as minutes since midnight. An open end is None.
    ``what`` is the place of the value in the document, for error messages.
    """
    if value is None:
        return None
    ends = _list(value, what)
    if len(ends) != 2:
        raise InputError(f"{what} is {shorten(value)}, not [from, to]")
    times = [
        parse_time(end, f"{what}[{place}]") if isinstance(end, str) else end
        for place, end in enumerate(ends)
    ]
    _check_numbers([time for time in times if time is not None], what)
    return times[0], times[1]


def _check_texts(value: Any, what: str) -> None:
    for i, text in enumerate(_list(value, what)):
        _check_text(text, f"{what}[{i}]")


def _check_text(value: Any, what: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"{what} is {shorten(value)}, not a text")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError(f"{what} is {shorten(value)}, with half a character in it")


def _check_numbers(value: Any, what: str) -> None:
    """
    Raise InputError unless nested lists hold numbers, in rows of equal length.

    ``what`` is the place of the list in the document, for error messages.
    """
    for i, item in enumerate(_list(value, what)):
        if isinstance(item, list):
            _check_numbers(item, f"{what}[{i}]")
            if len(item) != len(value[0]):
                raise InputError(
                    f"{what}[{i}] has {len(item)} numbers, {what}[0] has "
                    f"{len(value[0])}"
                )
        elif type(item) not in (int, float) or not abs(item) <= _LARGEST:
            raise InputError(f"{what}[{i}] is {shorten(item)}, not a finite number")


def format_instance(instance: Instance) -> str:
    """Return an instance as JSON, which can hold all of its fields."""
    from fixedfleet.documents import describe_instance, to_json

    fields = dataclasses.asdict(describe_instance(instance)).items()
    return to_json({name: value for name, value in fields if value is not None})


def format_plan(plan: Plan, instance: Instance) -> str:
    """
    Return a plan as JSON, with names, loads and lengths.

    If the plan is infeasible, the JSON also says why, under the key ``faults``.
    """
    from fixedfleet.documents import describe_plan, to_json

    return to_json(describe_plan(plan, instance))


def parse_plan(content: str | bytes, instance: Instance | None = None) -> Plan:
    """
    Read a plan from JSON: its tours, and their vehicle types if the file states them.

    Other keys, such as lengths, are ignored: they can be computed from the instance.
    With an instance, the name and the further columns of each stop identify its
    customer (:func:`fixedfleet.files.stops.plan_of`).
    """
    data = _object(_load(decode(content)))
    if "tours" not in data:
        raise InputError("no key 'tours'")
    tours = _list(data["tours"], "tours")
    stops = [_stops(tour, f"tours[{i}]") for i, tour in enumerate(tours)]
    plan = plan_of(stops, instance)
    said: list[Any]
    said = [tour.get("vehicle_type") for tour in tours if isinstance(tour, dict)]
    if len(said) < len(tours) or None in said:
        return plan
    return Plan(plan.tours, said)


def _stops(tour: Any, what: str) -> list[Stop]:
    """
    Return the stops of a tour.

    The tour is a list of customers, or an object with such a list under the key
    ``customers``. ``what`` is the place of the tour in the document, for error
    messages.
    """
    said: dict[str, list[Any]] = {}
    if isinstance(tour, dict):
        if "customers" not in tour:
            raise InputError(f"{what} has no key 'customers'")
        said = dict(_object(tour.get("columns", {}), f"{what}.columns"))
        if "names" in tour:
            said["name"] = tour["names"]
        tour, what = tour["customers"], f"{what}.customers"
    customers = _list(tour, what)
    for heading, texts in said.items():
        if len(_list(texts, heading)) != len(customers):
            raise InputError(
                f"{what}: {len(customers)} customers, but {len(texts)} texts of "
                f"{shorten(heading)}"
            )
    stops = []
    for place, customer in enumerate(customers):
        where = f"{what}[{place}]"
        if type(customer) is not int or customer < 1:
            raise InputError(
                f"{where} is {shorten(customer)}, not a customer's number from 1"
            )
        cells = {heading: str(said[heading][place]) for heading in said}
        stops.append(Stop(where, customer, cells))
    return stops


def _load(text: str) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise InputError("not valid JSON: nested too deep") from None
    except InputError:
        raise
    except ValueError as error:  # Python refuses numbers of thousands of digits
        raise InputError(f"not valid JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in pairs:
        if key in data:
            raise InputError(f"key {shorten(key)} twice in one object")
        data[key] = value
    return data


def _refuse_constant(constant: str) -> NoReturn:
    raise InputError(f"{constant} in the file, not a finite number")


def _object(value: Any, what: str = "the file") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{what} is {shorten(value)}, not an object {{…}}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{what} is {shorten(value)}, not an array […]")
    return value
