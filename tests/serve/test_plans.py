"""Plans over HTTP, made by a worker that does as it is told."""

from __future__ import annotations

import pytest

from fixedfleet.serve.schema import PlanDoc


def test_a_plan_comes_back_whole(client, order):
    """A plan that is ready in time is the answer, and every field is there."""
    answer = client.post("/plans", json=order())
    assert answer.status_code == 200
    plan = PlanDoc.model_validate(answer.json(), strict=False)
    assert plan.status == "done" and plan.result.feasible
    served = sorted(stop for tour in plan.result.tours for stop in tour.stops)
    assert served == [1, 2, 3]
    assert plan.verdict.status == "feasible"
    assert plan.request.time_limit == 2.0
    assert client.get(f"/plans/{plan.id}").json() == answer.json()


def test_who_does_not_wait_is_told_where_to_ask(client, order):
    """With wait=0 the answer is 202 and the place where the plan will be."""
    answer = client.post("/plans", json=order(wait=0))
    assert answer.status_code == 202
    place = answer.headers["location"]
    assert place == f"/plans/{answer.json()['id']}"
    with client.stream("GET", f"{place}/events") as events:
        assert "event: done" in "".join(events.iter_text())
    assert client.get(place).json()["status"] == "done"


def test_a_raw_file_and_a_query_will_do(client, order):
    """A CSV file as it is, with the fleet in the query, is planned for."""
    answer = client.post(
        "/plans?vehicles=2&capacity=5&seed=7&wait=30",
        content=order()["text"],
        headers={"content-type": "text/csv"},
    )
    assert answer.status_code == 200
    assert answer.json()["request"]["vehicles"] == 2
    assert answer.json()["request"]["seed"] == 7


def test_the_body_wins_over_the_query(client, order):
    """What a JSON body says is not changed by the query."""
    answer = client.post("/plans?vehicles=1&seed=9", json=order(seed=4))
    assert answer.json()["request"]["vehicles"] == 3
    assert answer.json()["request"]["seed"] == 4


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [
        ({"vehicles": None}, ["vehicles"]),
        ({"capacity": None}, ["capacity"]),
        ({"vehicles": None, "capacity": None}, ["capacity", "vehicles"]),
    ],
)
def test_a_missing_fleet_is_named(client, order, left_out, missing):
    """Where nobody says the fleet, 422 names what is missing."""
    answer = client.post("/plans", json=order(**left_out))
    assert answer.status_code == 422
    assert sorted(answer.json()["missing"]) == missing
    assert all(name in answer.json()["error"] for name in missing)


def test_cost_v_needs_the_cost_of_a_vehicle(client, order):
    """The objective cost-v without a vehicle cost is refused."""
    answer = client.post("/plans", json=order(objective="cost-v"))
    assert answer.status_code == 422
    assert "vehicle_cost" in answer.json()["error"]


def test_a_plan_that_fails_says_why(client, order):
    """What a worker says of its failure is the plan's error."""
    plan = client.post("/plans", json=order("fail")).json()
    assert plan["status"] == "failed" and plan["error"] == "it did not want to"
    assert plan["result"] is None


def test_unknown_plans_are_not_found(client):
    """An id that is no plan's is a 404 for every operation on plans."""
    for method, path in (
        ("GET", "/plans/abc"),
        ("DELETE", "/plans/abc"),
        ("GET", "/plans/abc/events"),
        ("GET", "/plans/abc/plan.csv"),
        ("GET", "/plans?before=abc"),
    ):
        answer = client.request(method, path)
        assert answer.status_code == 404, path
        assert "abc" in answer.json()["error"]


def test_plans_are_listed_newest_first_and_by_pages(client, order):
    """The list is newest first, and its Link leads through all pages."""
    made = [
        client.post("/plans", json=order(f"number {i}")).json()["id"] for i in range(5)
    ]
    listed, page = [], "/plans?limit=2"
    while page:
        answer = client.get(page)
        assert len(answer.json()) <= 2
        listed += [plan["id"] for plan in answer.json()]
        page = answer.links.get("next", {}).get("url")
    assert listed[:5] == made[::-1]
    assert len(set(listed)) == len(listed)
    newest = client.get("/plans").json()[0]
    assert newest["name"] == "number 4" and newest["status"] == "done"
    assert newest["cost"] > 0
