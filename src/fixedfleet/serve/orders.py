"""From a request for a plan to what a worker is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fixedfleet.files import json_files
from fixedfleet.serve.documents import instance_document
from fixedfleet.serve.errors import ApiError
from fixedfleet.serve.parsing import read_instance

if TYPE_CHECKING:
    from fixedfleet.serve.schema import PlanRequest
    from fixedfleet.serve.settings import Settings

__all__ = ["Order", "take_order"]

_TIME_LIMIT = 2.0
_WAIT_BEYOND = 1.0  # seconds to wait for a plan beyond its time limit


@dataclass(frozen=True)
class Order:
    """
    A plan to be made.

    Attributes
    ----------
    request
        What was asked for, as the plan's document says it.
    instance
        The instance, as JSON.
    document
        The instance as the plan's document says it.
    wait
        Seconds to wait for the plan before it is only said where to ask for it.
    """

    request: dict[str, Any]
    instance: str
    document: dict[str, Any]
    wait: float


def take_order(asked: PlanRequest, settings: Settings) -> Order:
    """
    Fill in what was left to default and hold it against the limits.

    Raises
    ------
    ApiError
        With 422, if something is missing, wrong or beyond a limit.
    """
    parsed = read_instance(asked, settings)
    if parsed.missing:
        raise ApiError(
            422,
            f"neither the instance nor the request says {' and '.join(parsed.missing)}",
            missing=parsed.missing,
        )
    time_limit = _TIME_LIMIT if asked.time_limit is None else asked.time_limit
    if time_limit > settings.max_seconds:
        raise ApiError(
            422,
            f"a time limit of {time_limit:g} s, but this server takes at most "
            f"{settings.max_seconds:g} s",
            where="time_limit",
        )
    if asked.objective == "cost-v" and asked.vehicle_cost is None:
        raise ApiError(
            422,
            "the objective cost-v needs vehicle_cost, a number from 0",
            missing=["vehicle_cost"],
        )
    instance = parsed.instance
    wait = time_limit + _WAIT_BEYOND if asked.wait is None else asked.wait
    return Order(
        request={
            "vehicles": instance.vehicles,
            "capacity": instance.capacity,
            "objective": asked.objective or "length",
            "vehicle_cost": asked.vehicle_cost or 0.0,
            "time_limit": time_limit,
            "seed": asked.seed or 0,
            "guarantee": bool(asked.guarantee),
        },
        instance=json_files.format_instance(instance),
        document=instance_document(instance, parsed.notes),
        wait=min(wait, settings.max_wait),
    )
