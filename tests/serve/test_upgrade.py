"""A data folder of an earlier version keeps its plans."""

from __future__ import annotations

import json
import sqlite3

import pytest
from pydantic import TypeAdapter

from fixedfleet.serve.schema import JobDocument
from fixedfleet.serve.store import PlanStore

INSTANCE = {
    "name": "three",
    "vehicles": 2,
    "capacity": 5,
    "depot": [0, 0],
    "customers": [[3, 4], [-3, 4], [0, -5]],
    "demands": [2, 2, 3],
}
VERDICT = {
    "status": "feasible",
    "vehicles": 2,
    "reason": "the demands fit",
    "lower_bound": 2,
    "upper_bound": 2,
    "smallest": 2,
    "smallest_is_proven": True,
}


def document(tours, unserved=(), fleet=2):
    """A finished plan as version 1 of the store has it."""
    stops = [
        {"stops": tour, "load": 1, "utilisation": 0.5, "length": 1.0} for tour in tours
    ]
    cost = None if unserved else 30.0
    return {
        "id": "a",
        "status": "done",
        "created": "now",
        "seconds": 1.0,
        "position": None,
        "error": None,
        "request": {
            "vehicles": 2,
            "capacity": 5,
            "objective": "length",
            "vehicle_cost": 0.0,
            "time_limit": 2.0,
            "seed": 0,
            "guarantee": False,
        },
        "instance": {"name": "three", "stops": [], "notes": ["a remark"]},
        "verdict": VERDICT,
        "result": {
            "feasible": not unserved,
            "objective": "length",
            "cost": cost,
            "length": cost,
            "cost_v": cost,
            "fleet": fleet,
            "vehicles": len(tours),
            "tours": stops,
            "unserved": list(unserved),
            "stages": [{"name": "fleet", "seconds": 0.1, "cost": None}],
            "trace": [[0.5, 31.0]],
        },
    }


def version_1(folder, text, status="done"):
    """Make a store of version 1 with one plan."""
    PlanStore(folder, keep=9).close()
    with sqlite3.connect(folder / "plans.sqlite") as database:
        database.execute("DROP INDEX finished")
        for column in ("unit", "listed"):
            database.execute(f"ALTER TABLE plans DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 1")
        values = ("a", "me", "three", status, "now", 3, 2, json.dumps(INSTANCE), text)
        database.execute(
            "INSERT INTO plans (id, client, name, status, created, customers, "
            "vehicles, instance, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
    database.close()


def opened(folder, text):
    """Return a plan of a store of version 1, as it is after opening the store."""
    version_1(folder, text)
    store = PlanStore(folder, keep=9)
    status, found = store.plan("a")
    store.close()
    assert status == "done"
    return found


def test_a_finished_plan_is_renewed(tmp_path):
    """The plan has the same tours, verdict and remarks in the current shape."""
    found = opened(tmp_path, json.dumps(document([[1, 2], [3]])))
    plan = TypeAdapter(JobDocument).validate_json(found)
    assert plan.result.feasible and plan.result.vehicles_planned_for == 2
    assert [tour.customers for tour in plan.result.tours] == [[1, 2], [3]]
    assert plan.result.length == pytest.approx(26)
    assert plan.notes == ["a remark"] and plan.verdict.reason == "the demands fit"
    assert plan.result.trace == [(0.5, 31.0)]


def test_a_plan_with_unserved_customers_is_renewed(tmp_path):
    """Its tours are those of a partial plan."""
    found = opened(tmp_path, json.dumps(document([[1, 2]], unserved=[3])))
    plan = TypeAdapter(JobDocument).validate_json(found)
    assert plan.result.tours is None and plan.result.unserved == [3]
    assert [tour.customers for tour in plan.result.partial.tours] == [[1, 2]]


@pytest.mark.slow
def test_an_unfinished_plan_keeps_its_remarks(make_client, wait_until, tmp_path):
    """The next server makes the plan, as it was asked for."""
    old = document([]) | {"status": "queued", "verdict": None, "result": None}
    version_1(tmp_path, json.dumps(old), "queued")
    with make_client(data=tmp_path) as client:
        plan = wait_until(client, "a", "done")
    assert plan["notes"] == ["a remark"] and plan["request"]["seed"] == 0
    assert old["request"].items() <= plan["request"].items()
    assert plan["created"] == "now" and plan["result"]["tours"]


def test_a_damaged_plan_stays_as_it_is(tmp_path):
    """A document that cannot be read does not keep the server from starting."""
    assert opened(tmp_path, "{") == "{"
