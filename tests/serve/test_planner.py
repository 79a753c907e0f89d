"""Plans as the workers of a real server search for them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import pytest
from pydantic import TypeAdapter

from fixedfleet.documents import VerdictDocument
from fixedfleet.plan import Plan
from fixedfleet.serve import planner
from fixedfleet.serve.schema import (
    ImprovedDocument,
    JobDocument,
    RequestDocument,
    SearchingDocument,
)

# `fixedfleet.solving.solve` is also the name of a function.
solving = import_module("fixedfleet.solving.solve")

pytestmark = pytest.mark.slow


def test_a_day_is_planned_within_the_fleet(server, example):
    """The example is planned within its fleet, and the best cost only falls."""
    with server.client() as client:
        plan = client.post("/plans", json=example(client, "leipzig_parcels")).json()
    result = plan["result"]
    assert plan["status"] == "done" and result["feasible"] and not result["unserved"]
    assert result["vehicles_used"] <= result["vehicles_planned_for"] == 7
    assert result["vehicles"] == 7
    assert all(tour["load"] <= 850 for tour in result["tours"])
    assert sum(tour["length"] for tour in result["tours"]) == pytest.approx(
        result["length"]
    )
    costs = [cost for _, cost in result["trace"]]
    assert costs == sorted(costs, reverse=True)
    assert result["stages"][0]["name"] == "fleet"


def test_the_request_is_part_of_the_plan(server, example):
    """Vehicle cost and seed are followed, and returned with the plan."""
    with server.client() as client:
        asked = {"vehicle_cost": 50, "seed": 3}
        body = example(client, "leipzig_parcels", **asked)
        plan = client.post("/plans", json=body).json()
    assert {key: plan["request"][key] for key in asked} == asked
    result = plan["result"]
    assert result["cost"] == result["cost_v"]
    assert result["cost_v"] == pytest.approx(
        result["length"] + 50 * result["vehicles_used"]
    )


def test_a_fleet_that_is_too_small_leaves_customers_unserved(server, example):
    """The plan names the unserved customers, and the fleet that would suffice."""
    with server.client() as client:
        body = example(client, "bakery_round")
        plan = client.post("/plans", json=body).json()
        sure = client.post("/plans", json={**body, "guarantee": True}).json()
    result = plan["result"]
    assert plan["status"] == "done" and plan["verdict"]["status"] == "impossible"
    assert plan["verdict"]["smallest"] == 4
    assert not result["feasible"] and result["cost"] is None
    assert result["tours"] is None and len(result["partial"]["tours"]) <= 3
    served = [c for tour in result["partial"]["tours"] for c in tour["customers"]]
    assert sorted(served + result["unserved"]) == list(range(1, 10))
    # The guarantee serves all customers, but not with the fleet that was asked for.
    larger = sure["result"]
    assert not larger["feasible"] and larger["vehicles"] == 3
    assert larger["vehicles_planned_for"] == larger["vehicles_used"] == 4
    served = [c for tour in larger["tours"] for c in tour["customers"]]
    assert sorted(served) == list(range(1, 10)) and larger["cost"] > 0


def test_customers_who_are_taken_out_stay_out(server):
    """Planning again serves all customers but those that the dispatcher took out."""
    rows = "".join(f"{i},{i % 3},2\n" for i in range(1, 8))
    fleet = {"vehicles": 4, "capacity": 4, "time_limit": 0.2, "wait": 30}
    table = {"text": f"x,y,demand\n0,0,\n{rows}", **fleet}
    with server.client() as client:
        found = client.post("/plans", json=table).json()
        again = {"plan": found["id"], **fleet, "locked": [[7, 6]], "taken_out": [2, 4]}
        plan = client.post("/plans", json=again).json()
        small = client.post("/plans", json={**again, "vehicles": 2}).json()
        place = f"/plans/{plan['id']}/plan.csv"
        unserved = client.get(place).text.count("\nunserved,")
        both = {**again, "locked": [[7, 4]]}
        refusals = [
            client.post("/plans", json={**again, **wrong})
            for wrong in (both, {"taken_out": [8]}, {"taken_out": [*range(1, 8)]})
        ]
    result = plan["result"]
    assert result["tours"][0]["customers"] == [7, 6]
    served = sorted(c for tour in result["tours"] for c in tour["customers"])
    assert served == [1, 3, 5, 6, 7]
    assert (result["unserved"], result["feasible"]) == ([2, 4], True)
    assert result["length"] == pytest.approx(sum(t["length"] for t in result["tours"]))
    assert plan["request"]["taken_out"] == [2, 4] and unserved == 2
    partial = small["result"]["partial"]
    assert {2, 4} < {*partial["unserved"]} == {*small["result"]["unserved"]}
    assert small["verdict"]["status"] == "impossible"
    assert [refusal.status_code for refusal in refusals] == [422] * 3
    assert [refusal.json()["where"] for refusal in refusals] == [
        "locked",
        "taken_out",
        "taken_out",
    ]


def test_a_plan_is_proven_if_asked_for(server, example):
    """The result has the bound and the proof, and the request says it was asked for."""
    with server.client() as client:
        body = example(client, "bakery_round", vehicles=4, time_limit=60, wait=30)
        plan = client.post("/plans", json={**body, "prove": True}).json()
        plain = client.post("/plans", json={**body, "time_limit": 0.1}).json()
    assert plan["request"]["prove"] is True
    result = plan["result"]
    assert result["is_optimal"] is True
    assert result["proof"] == "proven: no plan is shorter"
    assert result["lower_bound"] == pytest.approx(result["cost"])
    assert plain["request"]["prove"] is False
    assert plain["result"]["lower_bound"] is plain["result"]["gap"] is None
    assert plain["result"]["proof"] == ""


def bare_request() -> RequestDocument:
    """What was asked for, with a proof."""
    return RequestDocument(
        vehicles=2,
        capacity=2,
        vehicle_cost=0,
        time_limit=1,
        seed=0,
        guarantee=False,
        prove=True,
    )


def test_a_better_bound_is_reported_with_the_best_plan(square, monkeypatch):
    """Bounds are reported as plans are: the newest, and not too often."""
    now = [100.0]
    monkeypatch.setattr(planner.time, "monotonic", lambda: now[0])
    request = bare_request()
    sent = []
    call = SimpleNamespace(send=sent.append, ending=lambda: False)
    reports = planner._Reports(planner.Order(square, request, []), call)
    plan = Plan([[1, 2], [3, 4]])
    reports.improved(0.0, 9.7, plan)
    assert sent.pop(0) == SearchingDocument()
    reports.bounded(0.0, 8.0)  # too soon
    assert [(one.cost, one.lower_bound) for one in sent] == [(9.7, None)]
    reports.bounded(0.0, 9.0)
    now[0] += 1
    reports.stop()
    reports.stop()
    assert [(one.cost, one.lower_bound) for one in sent[1:]] == [(9.7, 9.0)]
    assert sent[1].tours == [[1, 2], [3, 4]]


@pytest.mark.parametrize("demands", [[1, 1, 1, 1], [2, 2, 2, 2]])
def test_the_search_is_reported_once_it_is_loaded(square, monkeypatch, demands):
    """The search and its clock begin when all is compiled, and the verdict is first."""
    now = [100.0]
    monkeypatch.setattr(planner.time, "monotonic", lambda: now[0])
    sent, compile_all = [], solving._load

    def slow(*arguments):
        now[0] += 60
        sent.append("compiled")
        return compile_all(*arguments)

    monkeypatch.setattr(solving, "_load", slow)
    request = replace(bare_request(), time_limit=0.1, prove=False)
    order = planner.Order(replace(square, demands=demands), request, [])
    call = SimpleNamespace(send=sent.append, ending=lambda: False)
    planner.plan_order(order, call)
    verdict, *then = sent[:3]
    assert isinstance(verdict, VerdictDocument)
    assert then == ["compiled", SearchingDocument()]
    assert sent.count(SearchingDocument()) == 1
    improved = [one for one in sent if isinstance(one, ImprovedDocument)]
    assert bool(improved) == (sum(demands) <= 4)
    assert all(one.seconds == 0 for one in improved)


def test_a_stop_waits_for_a_good_plan(square, monkeypatch):
    """The packing that a search starts from is not kept: the search has a second."""
    now = [100.0]
    monkeypatch.setattr(planner.time, "monotonic", lambda: now[0])
    request = bare_request()
    call = SimpleNamespace(send=lambda _: None, ending=lambda: True)
    reports = planner._Reports(planner.Order(square, request, []), call)
    assert not reports.stop()  # there is no plan
    reports.improved(0.0, 9.7, Plan([[1, 2], [3, 4]]))
    now[0] += 0.9
    assert not reports.stop()
    now[0] += 0.2
    assert reports.stop()


def test_a_search_that_reports_no_plan_can_be_stopped(square, monkeypatch):
    """With a fleet that is too small, Stop keeps the partial plan after 3 seconds."""
    now = [100.0]
    monkeypatch.setattr(planner.time, "monotonic", lambda: now[0])
    call = SimpleNamespace(send=lambda _: None, ending=lambda: True)
    reports = planner._Reports(planner.Order(square, bare_request(), []), call)
    now[0] += 60  # code is compiled
    assert not reports.stop()
    now[0] += 2.9
    assert not reports.stop()
    now[0] += 0.2
    assert reports.stop()


def test_a_search_can_be_followed_and_cancelled(server, example):
    """Improvements arrive while the search runs; cancelling keeps the best plan."""
    with server.client() as client:
        body = example(client, "leipzig_parcels", time_limit=60, wait=0)
        id = client.post("/plans", json=body).json()["id"]
        with client.stream("GET", f"/plans/{id}/events") as events:
            name = None
            for line in events.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                if name == "improved" and line.startswith("data: "):
                    improved = json.loads(line.removeprefix("data: "))
                    break
        plan = client.delete(f"/plans/{id}").json()
    assert plan["status"] == "cancelled" and plan["result"]["feasible"]
    assert plan["result"]["cost"] <= improved["cost"]
    TypeAdapter(ImprovedDocument).validate_python(improved)
    served = [stop for tour in improved["tours"] for stop in tour]
    assert sorted(served) == list(range(1, 64))
    assert len(improved["lengths"]) == len(improved["tours"])
    assert sum(improved["lengths"]) == pytest.approx(improved["cost"])


@pytest.mark.parametrize(
    "changes",
    [
        {"customers": [[1e300, 0], [-1e300, 0], [0, 1e300]]},
        {"customers": [[0, 0], [0, 0], [0, 0]]},
        {"demands": [0, 0, 0]},
        {"demands": [1e-9, 1e15, 7]},
        {"demands": [9, 1, 1]},
        {"vehicles": 2000},
        {"rounding": "round", "metric": "geo"},
        {"metric": "great_circle"},
        {"names": ["", "\u0000", "𝔘"]},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_odd_instances_are_planned_or_refused(server, changes):
    """An instance with extreme numbers gets a plan or a sentence, never a failure."""
    instance = {
        "depot": [0, 0],
        "customers": [[1, 0], [0, 1], [2, 2]],
        "demands": [1, 2, 3],
        "vehicles": 2,
        "capacity": 4,
    }
    body = {"instance": instance | changes, "time_limit": 0.05, "wait": 30}
    with server.client() as client:
        answer = client.post("/plans", json=body)
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 200:
        plan = TypeAdapter(JobDocument).validate_python(answer.json())
        assert plan.status == "done", plan.error


WARM = """
import sys

from fixedfleet.instance import Instance
from fixedfleet.serve import planner
from fixedfleet.solving.solve import solve

def loaded():
    modules = [one for name, one in sys.modules.items() if "fixedfleet." in name]
    found = [value for module in modules for value in vars(module).values()]
    return {
        (one.__name__, str(variant))
        for one in found
        if hasattr(one, "signatures")
        for variant in one.signatures
    }

def make_instance(n, **changes):
    places = [(51 + i % 30 / 100, 13 + i // 30 / 100) for i in range(n)]
    fleet = {"capacity": n / 6, "vehicles": 6, "metric": "great_circle"} | changes
    return Instance(depot=(51, 13), customers=places, demands=[1] * n, **fleet)

begin()
before = loaded()
follow()
assert before
print(sorted(loaded() - before))
"""
LARGE = """
begin = planner._warm_up
follow = lambda: solve(make_instance(600), 0.3)
"""
FURTHER = """
def begin():
    planner._warm_up()
    planner.compile_ahead(None, None)

def follow():
    solve(make_instance(30, speed=40, windows=[(480, 600)] * 30), 0.1)
    assert solve(make_instance(30), 60, prove=True).is_optimal
"""


@pytest.mark.parametrize("steps", [LARGE, FURTHER])
def test_code_is_compiled_before_it_is_needed(steps):
    """Neither 600 places on the globe nor the first day or proof need a compiler."""
    code = WARM.replace("begin()\nbefore", f"{steps}\nbegin()\nbefore")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
