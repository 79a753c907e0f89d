"""The operations of the API, with workers that do not search."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import sqlite3
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from pydantic import TypeAdapter
from starlette.requests import Request

from fixedfleet.documents import describe_verdict
from fixedfleet.files import plan_tables, sol_files
from fixedfleet.fleet import assess_fleet
from fixedfleet.serve import pool, routes, schema
from fixedfleet.serve.jobs import PlanJob
from fixedfleet.serve.planner import Order
from fixedfleet.serve.schema import (
    JobDocument,
    LinesDocument,
    ProgressDocument,
    SearchingDocument,
)
from fixedfleet.serve.store import PlanStore

# ------------------------------------------------------------------------------- plans


def test_a_plan_is_returned_whole(client, order):
    """A plan that is finished in time is the answer, with all its fields."""
    answer = client.post("/plans", json=order())
    assert answer.status_code == 200
    plan = TypeAdapter(JobDocument).validate_python(answer.json())
    assert plan.status == "done" and plan.result.feasible
    served = sorted(
        customer for tour in plan.result.tours for customer in tour.customers
    )
    assert served == [1, 2, 3]
    assert plan.verdict.status == "feasible"
    assert plan.request.time_limit == 2.0
    assert client.get(f"/plans/{plan.id}").json() == answer.json()


def test_without_waiting_the_answer_says_where_to_ask(client, order):
    """With wait=0 the answer is 202 and the place where the plan will be."""
    answer = client.post("/plans", json=order(wait=0))
    assert answer.status_code == 202
    place = answer.headers["location"]
    assert place == f"/plans/{answer.json()['id']}"
    with client.stream("GET", f"{place}/events") as events:
        assert "event: done" in "".join(events.iter_text())
    assert client.get(place).json()["status"] == "done"


def test_a_client_that_says_nothing_waits_for_the_plan():
    """By default the answer is the plan, also on a busy machine: up to 30 s."""
    assert [routes._patience(wait) for wait in (None, 0, 2.5, 99)] == [30, 0, 2.5, 30]


def test_a_file_and_a_query_suffice(client, order):
    """A CSV file can be sent as it is, with the fleet in the query."""
    answer = client.post(
        "/plans?vehicles=2&capacity=5&seed=7&wait=30",
        content=order()["text"],
        headers={"content-type": "text/csv"},
    )
    assert answer.status_code == 200
    assert answer.json()["request"]["vehicles"] == 2
    assert answer.json()["request"]["seed"] == 7


def test_the_body_wins_over_the_query(client, order):
    """The query does not change what a JSON body says."""
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
    """If nobody gives the fleet, a 422 names what is missing."""
    answer = client.post("/plans", json=order(**left_out))
    assert answer.status_code == 422
    assert answer.json()["where"] == missing[0]
    assert all(name in answer.json()["error"] for name in missing)


def test_a_negative_vehicle_cost_is_refused(client, order):
    """The error names the field."""
    answer = client.post("/plans", json=order(vehicle_cost=-1))
    assert answer.status_code == 422
    assert answer.json()["where"] == "vehicle_cost"


def test_locked_tours_and_names_are_noted(client, order):
    """A plan keeps what was asked for; tours that cannot be locked are refused."""
    wishes = {"locked": [[3]], "vehicle_names": ["Anna", "Berta"]}
    plan = client.post("/plans", json=order(**wishes)).json()
    assert wishes.items() <= plan["request"].items()
    answer = client.post("/plans", json=order(locked=[[1, 2, 3]]))
    assert answer.status_code == 422
    assert answer.json() == {
        "error": "the tours cannot be locked: tour 1 carries 7 of 5",
        "where": "locked",
    }


def test_customers_can_be_left_out(client, order):
    """Doubtful rows are left out, and units are named, in body and query."""
    kind = {"content-type": "text/csv"}
    query = "leave_out=3&leave_out=5&unit=kg&vehicle_names=Anna&vehicle_names=Ben"
    by_query = client.post(
        f"/plans?vehicles=3&capacity=5&wait=30&{query}",
        content=order()["text"],
        headers=kind,
    ).json()
    wishes = {"leave_out": [4, 6], "unit": "kg", "vehicle_names": ["Anna", "Ben"]}
    # The name is in a row above the headings.
    by_body = client.post("/plans", json=order(**wishes, name="Monday")).json()
    assert client.get("/plans?limit=1").json()[0]["name"] == "Monday"
    for plan in (by_query, by_body):
        assert plan["instance"]["names"] == ["Shop"]
        assert plan["instance"]["unit"] == "kg"
        assert plan["request"]["vehicle_names"] == ["Anna", "Ben"]


def test_a_plan_can_stay_out_of_the_list(client, order):
    """A plan that only serves a comparison is kept, but not listed."""
    plan = client.post("/plans", json=order(listed=False)).json()
    assert client.get(f"/plans/{plan['id']}").json()["status"] == "done"
    assert plan["id"] not in [listed["id"] for listed in client.get("/plans").json()]


def test_changed_tours_are_kept(client, order):
    """A dispatcher's tours are measured, kept with the plan, listed and downloaded."""
    plan = client.post("/plans", json=order()).json()
    place = f"/plans/{plan['id']}"
    change = {"tours": [[2, 3, 1]], "locked": [1], "vehicle_names": ["Anna"]}
    edited = client.put(f"{place}/tours", json=change).json()
    (tour,) = edited["tours"]
    assert (tour["customers"], tour["load"]) == ([2, 3, 1], 7)
    assert edited["cost"] == pytest.approx(tour["length"]) == edited["length"]
    assert edited["faults"] == ["tour 1 carries 7 of 5"]
    assert (edited["locked"], edited["vehicle_names"]) == ([1], ["Anna"])
    assert client.get(place).json() == {**plan, "edited": edited}
    assert client.get("/plans").json()[0]["cost"] == edited["cost"]
    stops = sol_files.parse_plan(client.get(f"{place}/plan.sol").text)
    assert stops.tours == ((2, 3, 1),)
    table = client.get(f"{place}/plan.csv").text.splitlines()
    assert table[0].endswith(",vehicle") and table[1].endswith(",Anna")


def test_who_is_taken_out_is_kept_with_the_tours(client, order):
    """A plan remembers whom the dispatcher took out; nobody is out and in a tour."""
    place = f"/plans/{client.post('/plans', json=order()).json()['id']}/tours"
    edited = client.put(place, json={"tours": [[1], [3]], "taken_out": [2]}).json()
    assert edited["taken_out"] == edited["unserved"] == [2]
    both = {"tours": [[1], [2, 3]], "taken_out": [2], "revision": 1}
    answer = client.put(place, json=both)
    assert (answer.status_code, answer.json()["where"]) == (422, "taken_out")
    unknown = {"tours": [[1], [2, 3]], "taken_out": [9], "revision": 1}
    assert client.put(place, json=unknown).status_code == 422


def test_a_change_of_somebody_else_is_not_overwritten(client, order):
    """The second of two who change the same tours is refused, and can read them."""
    place = f"/plans/{client.post('/plans', json=order()).json()['id']}"
    first = client.put(f"{place}/tours", json={"tours": [[1, 2], [3]]})
    assert (first.status_code, first.json()["revision"]) == (200, 1)
    second = {"tours": [[1], [2], [3]]}
    refusal = client.put(f"{place}/tours", json=second)
    assert refusal.status_code == 409
    assert refusal.json()["where"] == "revision"
    assert "changed by somebody else" in refusal.json()["error"]
    assert client.get(place).json()["edited"] == first.json()
    again = client.put(f"{place}/tours", json={**second, "revision": 1})
    assert (again.status_code, again.json()["revision"]) == (200, 2)
    assert client.put("/plans/abc/tours", json=second).status_code == 404


@pytest.mark.parametrize(
    ("tours", "words"),
    [
        ([[1, 2], [2, 3]], "customer 2 is in the tours twice"),
        ([[1, 9]], "customer 9, but the instance has 3"),
        ([[1], []], "a tour is empty"),
        ([[0]], "greater than or equal to 1"),
    ],
)
def test_tours_that_are_none_are_refused(client, order, tours, words):
    """Tours with a customer twice, or with an unknown one, change nothing."""
    plan = client.post("/plans", json=order()).json()
    answer = client.put(f"/plans/{plan['id']}/tours", json={"tours": tours})
    assert answer.status_code == 422 and words in answer.json()["error"]
    assert client.get(f"/plans/{plan['id']}").json() == plan


def test_the_page_is_told_the_settings(client):
    """The page learns how long a body may be, and that there are no tiles."""
    settings = client.get("/settings").json()
    assert (settings["max_bytes"], settings["tiles"]) == (8_000_000, None)
    assert settings["attribution"] == ""


def test_unknown_plans_are_not_found(client):
    """An unknown id is a 404 for every operation on plans."""
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


def test_plans_are_listed_in_pages(client, order):
    """The list begins with the newest plan, and the header Link leads to all pages."""
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


def test_a_change_without_an_answer_can_be_sent_again(client, order):
    """It was stored before the connection broke, so nobody else has changed the plan.

    But it is refused after a further change, although it was stored once.
    """
    place = f"/plans/{client.post('/plans', json=order()).json()['id']}"
    change = {"tours": [[1, 2], [3]], "revision": 0}
    first, second = (client.put(f"{place}/tours", json=change) for _ in range(2))
    assert (second.status_code, second.json()) == (200, first.json())
    assert client.get(place).json()["edited"]["revision"] == 1
    further = {"tours": [[1], [2, 3]], "revision": 1}
    assert client.put(f"{place}/tours", json=further).status_code == 200
    assert client.put(f"{place}/tours", json=change).status_code == 409


def test_a_plan_is_renamed(client, order):
    """The list, the document, the downloads and plans made from it have the name."""
    plan = client.post("/plans", json=order("Monday")).json()
    place = f"/plans/{plan['id']}"
    assert client.patch(place, json={"name": "Dienstag"}).json() == {"name": "Dienstag"}
    assert client.get("/plans?limit=1").json()[0]["name"] == "Dienstag"
    assert client.get(place).json()["instance"]["name"] == "Dienstag"
    assert "Dienstag" in client.get(f"{place}/plan.csv").headers["content-disposition"]
    assert client.patch(place, json={"name": ""}).status_code == 422
    assert client.patch("/plans/abc", json={"name": "x"}).status_code == 404


def test_bodies_are_parsed_in_another_thread(client, order, monkeypatch):
    """While a long body is parsed, other clients get their answers."""
    place = f"/plans/{client.post('/plans', json=order()).json()['id']}"
    parse, in_loop = routes.bodies.parse_json, []

    def noting(model, body, given):
        in_loop.append(asyncio._get_running_loop() is not None)
        return parse(model, body, given)

    monkeypatch.setattr(routes.bodies, "parse_json", noting)
    client.patch(place, json={"name": "Tuesday"})
    client.put("/places", json={"address": "a", "latitude": 51, "longitude": 13})
    client.put(f"{place}/tours", json={"tours": [[1, 2, 3]]})
    assert in_loop == [False] * 3


def test_long_answers_are_written_in_another_thread(client, order, monkeypatch):
    """While the text of a large plan is written, other clients get their answers."""
    plan = client.post("/plans", json=order()).json()
    failed = client.post("/plans", json=order("fail")).json()
    in_loop = []

    def note(place, name):
        made = getattr(place, name)

        def noting(document, *arguments, **options):
            in_loop.append((name, asyncio._get_running_loop() is not None))
            return made(document, *arguments, **options)

        monkeypatch.setattr(place, name, noting)

    def noted():
        now = in_loop[:]
        in_loop.clear()
        return now

    note(PlanJob, "document")
    id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    assert noted() == [("document", False)] * 2  # for the store, and as the answer
    assert client.get(f"/plans/{id}").json()["status"] in ("queued", "running")
    assert noted() == [("document", False)]
    monkeypatch.setattr(PlanStore, "finish", full_disk)
    client.delete(f"/plans/{id}")
    assert noted() == [("document", False)] * 2  # also without a place on the disk
    note(routes, "to_json")
    client.put(f"/plans/{plan['id']}/tours", json={"tours": [[1, 2, 3]]})
    monkeypatch.setattr(routes, "plan_lines", lambda *_: LinesDocument(tours=[]))
    assert client.get(f"/plans/{plan['id']}/lines").json() == {"tours": []}
    assert noted() == [("to_json", False)] * 2
    assert "event: failed" in client.get(f"/plans/{failed['id']}/events").text
    assert noted() == [("to_json", False)]


def full_disk(*_values):
    """Fail as SQLite does when the disk is full."""
    raise sqlite3.OperationalError("database or disk is full")


def test_a_plan_is_deleted_for_good(client, order):
    """A finished plan is deleted only if that is said; then nothing of it is left."""
    place = f"/plans/{client.post('/plans', json=order()).json()['id']}"
    assert client.delete(place).status_code == 409
    assert client.delete(f"{place}?forget=true").status_code == 200
    assert client.get(place).status_code == 404
    assert client.delete(f"{place}?forget=true").status_code == 404
    slow = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    assert client.delete(f"/plans/{slow}?forget=true").status_code == 409
    client.delete(f"/plans/{slow}")


def test_the_list_says_how_many_are_left_out(client, order):
    """A plan that leaves customers out is told from one without tours."""
    plan = client.post("/plans", json=order()).json()
    assert client.get("/plans?limit=1").json()[0]["unserved"] == 0
    client.put(f"/plans/{plan['id']}/tours", json={"tours": [[1]]})
    assert client.get("/plans?limit=1").json()[0]["unserved"] == 2


def test_health_tells_workers_and_queue(client, order):
    """/health tells that the service runs, its version, and how much it has to do."""
    client.post("/plans", json=order())
    health = client.get("/health").json()
    assert health["status"] == "ok" and health["workers"] == 1
    assert health["queue"] == 0 and health["running"] == 0
    assert re.match(r"\d+\.\d+", health["version"])


# ------------------------------------------------------------------------------ events


@pytest.fixture
def slow(client, order):
    """The id of a running plan, which is cancelled after the test."""
    id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    yield id
    client.delete(f"/plans/{id}")


def test_a_stream_tells_verdict_improvements_and_end(client, slow, read_events):
    """The stream tells the verdict, the best plan so far, and the finished plan."""
    first = read_events(client, slow, until=("improved",))
    names = [name for name, _ in first if name not in ("queued", "preparing")]
    assert names == ["verdict", "searching", "improved"]
    improved = first[-1][1]
    assert improved["cost"] == 99.0 and improved["tours"] == [[1], [2], [3]]
    last = []
    follower = threading.Thread(target=lambda: last.extend(read_events(client, slow)))
    follower.start()
    client.delete(f"/plans/{slow}")
    follower.join(30)
    assert last[-1][0] == "done" and last[-1][1]["status"] == "cancelled"
    assert last[-1][1] == client.get(f"/plans/{slow}").json()


def test_a_late_client_is_told_the_current_state(client, slow, read_events):
    """A client that connects again is told what the first one was told."""
    before = read_events(client, slow, until=("improved",))
    again = read_events(client, slow, until=("improved",))
    # Between the two, the plan may have got its lower bound.
    newer = {name: again[-1][1][name] for name in ("seconds", "lower_bound")}
    assert again[-1] == ("improved", before[-1][1] | newer)
    assert ("verdict", before[-3][1]) in again


def test_a_plan_prepares_until_its_search_begins(square):
    """Roads and a verdict do not mean that the search runs: it may be compiled yet."""
    request = SimpleNamespace(time_limit=1)
    job = PlanJob(id="a", client="b", created="", order=Order(square, request, []))

    def told():
        return [name for name, news in routes._news(job, True).items() if news]

    def prepares():
        return routes._news(job, True)["preparing"] is not None

    assert not prepares() and routes._news(job, False)["preparing"] is not None
    job.status = "running"
    assert prepares()
    pool._note(job, ProgressDocument(done=16, total=16))
    pool._note(job, describe_verdict(assess_fleet(square, time_limit=0)))
    assert told() == ["roads", "verdict"] and prepares()
    pool._note(job, SearchingDocument())
    assert told() == ["roads", "verdict", "searching"] and not prepares()


def test_several_clients_follow_one_plan(client, slow, read_events):
    """Clients in several tabs all get the last event."""
    seen = []
    readers = [
        threading.Thread(target=lambda: seen.append(read_events(client, slow)))
        for _ in range(4)
    ]
    for reader in readers:
        reader.start()
    client.delete(f"/plans/{slow}")
    for reader in readers:
        reader.join(30)
    assert [events[-1][0] for events in seen] == ["done"] * 4


def test_a_better_plan_is_written_once_for_all_followers(
    client, order, read_events, monkeypatch
):
    """The text of a large plan is not made again for each tab that follows it."""
    written, write = [], schema.to_json

    def noting(document, **options):
        written.append(document)
        return write(document, **options)

    monkeypatch.setattr(schema, "to_json", noting)
    id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    for _ in range(3):
        read_events(client, id, until=("improved",))
    # The worker sends two plans; the first follower may see only the second.
    assert 1 <= len(written) <= 2
    client.delete(f"/plans/{id}")


def test_a_waiting_plan_tells_its_position(client, slow, order, read_events):
    """The stream of a waiting plan tells how many plans are before it."""
    read_events(client, slow, until=("improved",))
    id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    assert read_events(client, id, until=("queued",)) == [("queued", {"position": 0})]
    client.delete(f"/plans/{id}")


def test_a_finished_plan_has_one_event(client, order, read_events):
    """The stream of a finished or failed plan has one event."""
    plan = client.post("/plans", json=order()).json()
    assert read_events(client, plan["id"]) == [("done", plan)]
    failed = client.post("/plans", json=order("fail")).json()
    events = read_events(client, failed["id"])
    assert events == [("failed", {"error": failed["error"]})]


@pytest.mark.parametrize(
    ("limit", "status"), [("MAX_STREAMS", 503), ("STREAMS_PER_CLIENT", 429)]
)
def test_streams_are_limited(client, slow, monkeypatch, limit, status):
    """One stream too many is refused; a stream that ends makes room."""
    monkeypatch.setattr(routes, limit, 1)
    path = f"/plans/{slow}/events"
    with client.stream("GET", path) as answer:
        lines = answer.iter_lines()
        next(lines)
        refused = client.get(path)
        assert refused.status_code == status and refused.headers["retry-after"]
        client.delete(f"/plans/{slow}")
        assert "event: done" in list(lines)
    assert client.get("/plans/none/events").status_code == 404
    assert client.get(path).status_code == 200


def test_a_client_that_disconnects_makes_room(client, slow, monkeypatch):
    """A stream that its client closes early does not count any more."""
    monkeypatch.setattr(routes, "STREAMS_PER_CLIENT", 1)
    path = f"/plans/{slow}/events"
    with httpx.stream("GET", f"{client.base_url}{path[1:]}") as answer:
        next(answer.iter_lines())
    deadline = time.monotonic() + 30
    while True:
        with client.stream("GET", path) as answer:
            if answer.status_code == 200:
                return
        assert time.monotonic() < deadline


@pytest.mark.skipif(sys.platform != "linux", reason="needs a second loopback address")
def test_a_client_leaves_streams_to_others(client, slow, monkeypatch):
    """The streams of one client do not count for another."""
    monkeypatch.setattr(routes, "STREAMS_PER_CLIENT", 1)
    path = f"/plans/{slow}/events"
    other = httpx.HTTPTransport(local_address="127.0.0.2")
    with client.stream("GET", path) as answer:
        next(answer.iter_lines())
        with (
            httpx.Client(base_url=client.base_url, transport=other) as another,
            another.stream("GET", path) as second,
        ):
            assert second.status_code == 200


def test_clients_are_told_apart_by_address():
    """A client is the address that a request comes from."""

    def client_at(address):
        request = Request({"type": "http", "client": address})
        return asyncio.run(routes._client(request))

    assert client_at(("10.0.0.7", 1234)) == "10.0.0.7" and client_at(None) == ""


@pytest.mark.slow
def test_streams_end_with_the_server(make_client, order, read_events):
    """A server that stops ends its streams without a last event."""
    lines = []

    def follow(address):
        with httpx.stream("GET", address, timeout=60) as answer:
            lines.extend(answer.iter_lines())

    with make_client() as client:
        id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
        read_events(client, id, until=("improved",))
        reader = threading.Thread(
            target=follow, args=(f"{client.base_url}plans/{id}/events",)
        )
        reader.start()
        deadline = time.monotonic() + 30
        while "event: improved" not in lines:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    reader.join(30)
    assert ": the server is stopping" in lines
    assert "event: done" not in lines


# --------------------------------------------------------------------------- downloads

NASTY = [
    '=HYPERLINK("http://evil.example","x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a,b;c\td",
    'quoted "name"',
    "\u202egnirts",
]


@pytest.fixture(scope="module")
def plan(client):
    """A finished plan whose customers have dangerous names."""
    instance = {
        "name": '<b>"nasty"</b>\r\nSet-Cookie: x=1',
        "depot_name": "<i>depot</i>",
        "depot": [0, 0],
        "customers": [[i, -i] for i in range(len(NASTY))],
        "demands": [1] * len(NASTY),
        "names": NASTY,
        "vehicles": 3,
        "capacity": 3,
    }
    answer = client.post("/plans", json={"instance": instance})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_names_with_markup_are_text(client, plan):
    """Names are returned as they were given, in a document that is not a page."""
    answer = client.get(f"/plans/{plan['id']}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["instance"]["names"] == NASTY


def test_the_csv_file_has_no_formula(client, plan):
    """No name begins like a formula, and all names can be restored."""
    answer = client.get(f"/plans/{plan['id']}/plan.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == len(NASTY)
    for row in rows:
        assert not row["name"].startswith(("=", "+", "-", "@", "\t"))
        assert row["name"].lstrip("'") == NASTY[int(row["customer"]) - 1]
    tours = [tour["customers"] for tour in plan["result"]["tours"]]
    assert [list(tour) for tour in plan_tables.parse_plan(answer.text)] == tours


def test_all_files_hold_the_same_tours(client, plan):
    """The .sol and .json files have the tours and the length of the plan."""
    tours = [tour["customers"] for tour in plan["result"]["tours"]]
    document = json.loads(client.get(f"/plans/{plan['id']}/plan.json").text)
    assert [tour["customers"] for tour in document["tours"]] == tours
    assert document["length"] == pytest.approx(plan["result"]["length"])
    text = client.get(f"/plans/{plan['id']}/plan.sol").text
    assert [list(tour) for tour in sol_files.parse_plan(text)] == tours
    assert sol_files.parse_cost(text) == pytest.approx(plan["result"]["length"])


def test_a_file_has_a_harmless_name(client, plan):
    """The name of the file is ASCII: the plan's name and the day of the tours."""
    headers = client.get(f"/plans/{plan['id']}/plan.csv").headers
    day = plan["created"][:10]
    expected = f'attachment; filename="b-nasty-b-Set-Cookie-x-1_plan_{day}.csv"'
    assert headers["content-disposition"] == expected
    assert "set-cookie" not in headers


def test_a_plan_is_downloaded_for_navigation(client):
    """GPX has a route per tour, named by vehicle, and the day of the tours."""
    table = "name,lat,lon,demand\ndepot,51,13,\nA & B,51.1,13.1,2\n"
    wishes = {"vehicle_names": ["Anna"], "date": "2026-11-17", "wait": 30}
    asked = {"text": table, "vehicles": 1, "capacity": 2, **wishes}
    plan = client.post("/plans", json=asked).json()
    answer = client.get(f"/plans/{plan['id']}/plan.gpx")
    assert answer.headers["content-type"] == "application/gpx+xml"
    assert "plan_2026-11-17.gpx" in answer.headers["content-disposition"]
    assert "<name>Anna</name>" in answer.text
    assert '<rtept lat="51.1" lon="13.1"><name>A &amp; B</name></rtept>' in answer.text
    assert client.post("/plans", json={**asked, "date": "heute"}).status_code == 422


def test_a_plan_is_downloaded_in_german(client):
    """A German plan has German headings only, and no column twice."""
    table = "name;lat;lon;Menge\nLager;51;13;\nAda;51,1;13,1;2\n"
    asked = {"text": table, "vehicles": 1, "capacity": 2, "vehicle_names": ["Anna"]}
    plan = client.post("/plans", json={**asked, "wait": 30}).json()
    query = "decimal=,&language=de"
    text = client.get(f"/plans/{plan['id']}/plan.csv?{query}").text
    head, ada = text.removeprefix("\ufeff").splitlines()
    assert head == "Tour;Stopp;lfd. Nr.;Name;Menge;Breite;Länge;Fahrzeug"
    assert ada == "1;1;1;Ada;2;51,1;13,1;Anna"
    wrong = client.get(f"/plans/{plan['id']}/plan.csv?language=fr")
    assert wrong.status_code == 422


def test_only_finished_plans_can_be_downloaded(client, order):
    """A plan that failed or is not finished has no file."""
    failed = client.post("/plans", json=order("fail")).json()["id"]
    assert client.get(f"/plans/{failed}/plan.csv").status_code == 409
    slow = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    answer = client.get(f"/plans/{slow}/plan.sol")
    assert answer.status_code == 409 and "not finished" in answer.json()["error"]
    client.delete(f"/plans/{slow}")
    assert client.get(f"/plans/{slow}/plan.pkl").status_code == 422


def test_a_plan_that_a_format_cannot_hold_is_a_conflict(client):
    """A name with a control character can be written as JSON, but not as CSV."""
    instance = {
        "depot": [0, 0],
        "customers": [[1, 1]],
        "demands": [1],
        "names": ["bell\u0007"],
        "vehicles": 1,
        "capacity": 1,
    }
    plan = client.post("/plans", json={"instance": instance}).json()
    answer = client.get(f"/plans/{plan['id']}/plan.csv")
    assert answer.status_code == 409 and "control character" in answer.json()["error"]
    assert client.get(f"/plans/{plan['id']}/plan.json").status_code == 200


# ---------------------------------------------------------------------------- examples


def test_the_examples_can_be_planned(client):
    """Each example is listed and can be sent as it is; one has too small a fleet."""
    verdicts = {}
    for example in client.get("/examples").json():
        assert example["title"]
        read = client.post("/instances", json={"text": example["text"]}).json()
        assert read["instance"]["vehicles"] and read["instance"]["capacity"]
        verdicts[example["name"]] = read["verdict"]
    assert verdicts["leipzig_parcels"]["status"] == "feasible"
    assert verdicts["bakery_round"]["status"] == "impossible"
    assert verdicts["bakery_round"]["smallest"] == 4


def test_the_shipped_example_is_the_documented_one():
    """The example in the package is the one in the folder of examples."""
    path = Path(__file__).parents[2] / "examples" / "leipzig_parcels.csv"
    shipped = {example.name: example.text for example in routes.examples()}
    assert shipped["leipzig_parcels"] == path.read_text(encoding="utf-8")
