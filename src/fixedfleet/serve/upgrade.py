"""Turns the documents of a store of version 1 into documents of version 2.

Delete this module when stores of version 1 need not be opened any more.
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fixedfleet import files
from fixedfleet.documents import describe_instance, to_json
from fixedfleet.fleet import assess_fleet
from fixedfleet.plan import Plan
from fixedfleet.result import Result, Stage, with_gains
from fixedfleet.serve.schema import JobDocument

if TYPE_CHECKING:
    from fixedfleet.documents import ResultDocument
    from fixedfleet.instance import Instance

__all__ = ["renew_documents"]

_log = logging.getLogger(__name__)


def renew_documents(writer: sqlite3.Connection) -> None:
    """Renew the documents of all plans, within a transaction of the caller."""
    for (id,) in writer.execute("SELECT id FROM plans").fetchall():
        try:
            (texts,) = writer.execute(
                "SELECT document, instance FROM plans WHERE id = ?", (id,)
            )
            document = _renew(*texts)
        except (ValueError, TypeError, KeyError, sqlite3.OperationalError):
            _log.exception("plan %s cannot be read, and stays as it is", id)
            continue
        writer.execute("UPDATE plans SET document = ? WHERE id = ?", (document, id))


def _renew(document: str, instance_text: str) -> str:
    """Return the document of a plan as a document of version 2."""
    old = json.loads(document)
    instance = files.parse(instance_text, format="json").instance
    notes = old["instance"]["notes"]
    result = None
    if old["result"] is not None:
        result = _renew_result(old, instance, notes)
    described = describe_instance(instance, without=["matrix"])
    changed = {"instance": described, "notes": notes, "result": result}
    return to_json(JobDocument(**{**old, **changed}), one_line=True)


def _renew_result(
    old: dict[str, Any], instance: Instance, notes: list[str]
) -> ResultDocument:
    found, request = old["result"], old["request"]
    plan = Plan(tour["stops"] for tour in found["tours"])
    served = not found["unserved"]
    stages = [
        Stage(s["name"], s["seconds"], math.inf if s["cost"] is None else s["cost"])
        for s in found["stages"]
    ]
    result = Result(
        instance.with_vehicles(found["fleet"]),
        plan if served else None,
        assess_fleet(instance, time_limit=0),
        stages=with_gains(stages),
        trace=tuple((seconds, cost) for seconds, cost in found["trace"]),
        objective=request["objective"],
        vehicle_cost=request["vehicle_cost"],
        partial=None if served else plan,
    )
    return replace(result.document(notes), verdict=old["verdict"])
