"""JSON: instances with the fields of ``Instance``, plans with what one asks of them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from fixedfleet.documents import describe_instance, describe_plan, to_json
from fixedfleet.errors import InputError
from fixedfleet.files.text import Caller, describe_rounding, shorten
from fixedfleet.instance import Instance
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["format_instance", "format_plan", "parse_instance", "parse_plan"]


def parse_instance(text: str, caller: Caller) -> tuple[Instance, list[str]]:
    """Read an instance and what is to be said about how it was read."""
    data = _object(_load(text), "the file")
    if caller.depot is not None:
        raise InputError("JSON says itself where the depot is: leave depot= out")
    for key in data:
        if key not in _FIELDS:
            raise InputError(
                f"unknown key {shorten(key)}, not one of {', '.join(_FIELDS)}"
            )
    # null means the same as leaving the key out.
    values = {
        key: _FIELDS[key](value, key)
        for key, value in data.items()
        if value is not None
    }
    notes: list[str] = []
    values["vehicles"] = caller.fleet(
        values.get("vehicles"), "the key 'vehicles'", "add the key 'vehicles'", notes
    )
    values["capacity"] = caller.load(
        values.get("capacity"), "add the key 'capacity'", notes
    )
    if "demands" not in values:
        raise InputError("no key 'demands'")
    why = "given by the caller" if caller.rounding else ""
    values["rounding"] = caller.rounding or values.get("rounding", "none")
    instance = Instance(**values)
    _check_metric(values.get("metric"), instance)
    notes.append(describe_rounding(instance.rounding, why))
    return instance, notes


def _check_metric(stated: str | None, instance: Instance) -> None:
    if stated is not None and stated != instance.metric:
        raise InputError(
            f"'metric' is {shorten(stated)}, but a 'matrix' makes it explicit: leave "
            "one of them out"
        )


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
        raise InputError("not JSON that anyone would write: nested too deep") from None
    except InputError:
        raise
    except ValueError as error:  # whole numbers of thousands of digits
        raise InputError(f"not JSON that anyone would write: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in pairs:
        if key in data:
            raise InputError(f"key {shorten(key)} twice in one object")
        data[key] = value
    return data


def _refuse_constant(constant: str) -> NoReturn:
    raise InputError(f"{constant} in the file, not a finite number")


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{what} is {shorten(value)}, not an object {{…}}")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} is {shorten(value)}, not a text")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError(f"{what} is {shorten(value)}, with half a character in it")
    return value


def _number(value: Any, what: str) -> float:
    try:
        if not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except (TypeError, OverflowError):
        pass
    raise InputError(f"{what} is {shorten(value)}, not a finite number")


def _whole(value: Any, what: str) -> int:
    number = _number(value, what)
    if number % 1:
        raise InputError(f"{what} is {shorten(value)}, not a whole number")
    return int(number)


def _amount(value: Any, what: str) -> float:
    number = _number(value, what)
    if number < 0:
        raise InputError(f"{what} is {number:g}, not a number of at least 0")
    return number


def _array(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{what} is {shorten(value)}, not an array […]")
    return value


def _list_of(item: Callable[[Any, str], Any]) -> Callable[[Any, str], list[Any]]:
    def read(value: Any, what: str) -> list[Any]:
        return [item(v, f"{what}[{i}]") for i, v in enumerate(_array(value, what))]

    return read


def _point(value: Any, what: str) -> list[float]:
    if len(_array(value, what)) != 2:
        raise InputError(f"{what} has {len(value)} numbers, not 2 coordinates")
    return _list_of(_number)(value, what)


def _matrix(value: Any, what: str) -> list[list[float]]:
    rows = _array(value, what)
    for i, row in enumerate(rows):
        if len(_array(row, f"{what}[{i}]")) != len(rows):
            raise InputError(
                f"{what}[{i}] has {len(row)} distances, not {len(rows)}, as there are "
                "rows"
            )
    return _list_of(_list_of(_amount))(value, what)


_FIELDS: dict[str, Callable[[Any, str], Any]] = {
    "name": _text,
    "vehicles": _whole,
    "capacity": _number,
    "metric": _text,
    "rounding": _text,
    "depot_name": _text,
    "depot": _point,
    "customers": _list_of(_point),
    "demands": _list_of(_amount),
    "names": _list_of(_text),
    "matrix": _matrix,
}


def format_instance(instance: Instance) -> str:
    """Write an instance; JSON holds all of it."""
    fields = vars(describe_instance(instance)).items()
    return to_json({name: value for name, value in fields if value is not None})


def format_plan(plan: Plan, instance: Instance) -> str:
    """Write a plan with names, loads, lengths and its faults, if any."""
    return to_json(describe_plan(plan, instance))


def parse_plan(text: str) -> Plan:
    """Read the tours of a plan; the rest follows from them and the instance."""
    data = _object(_load(text), "the file")
    if "tours" not in data:
        raise InputError("no key 'tours'")
    tours = []
    for i, tour in enumerate(_array(data["tours"], "tours")):
        what = f"tours[{i}]"
        if isinstance(tour, dict):
            if "customers" not in tour:
                raise InputError(f"{what} has no key 'customers'")
            tour, what = tour["customers"], f"{what}.customers"
        tours.append(_list_of(_customer)(tour, what))
    return Plan(tours)


def _customer(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{what} is {shorten(value)}, not a customer's number from 1")
    return value
