"""The queue of plans: its limits, cancelling, and what the next server finds."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time

import httpx
import pytest

from fixedfleet.serve import jobs
from fixedfleet.serve.store import PlanStore


@pytest.fixture
def submit(order):
    """Return how to ask for a plan without waiting for it."""

    def ask(client, name="slow"):
        return client.post("/plans", json=order(name, wait=0))

    return ask


@pytest.mark.slow
def test_a_full_queue_answers_503(make_client, submit, wait_until, monkeypatch):
    """If the queue is full the answer is 503 with Retry-After, until there is room."""
    monkeypatch.setattr(jobs, "MAX_QUEUED", 2)
    with make_client() as client:
        first = submit(client).json()["id"]
        wait_until(client, first, "running")
        waiting = [submit(client).json() for _ in range(2)]
        assert [plan["position"] for plan in waiting] == [0, 1]
        refused = submit(client)
        assert refused.status_code == 503
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "queue is full" in refused.json()["error"]
        client.delete(f"/plans/{first}")
        wait_until(client, waiting[0]["id"], "running")
        assert submit(client).status_code == 202


def test_large_documents_are_written_in_another_thread(client, order, monkeypatch):
    """While a large matrix becomes text, other clients get their answers."""
    threads: dict[str, set[int]] = {"text": set(), "loop": set()}

    def noting(name, function):
        def note(*arguments):
            threads[name].add(threading.get_ident())
            return function(*arguments)

        return note

    written = noting("text", jobs.json_files.format_instance)
    monkeypatch.setattr(jobs.json_files, "format_instance", written)
    document = noting("text", jobs.PlanJob.document)
    monkeypatch.setattr(jobs.PlanJob, "document", document)
    arrived = noting("loop", jobs.PlanQueue._enqueue)
    monkeypatch.setattr(jobs.PlanQueue, "_enqueue", arrived)
    assert client.post("/plans", json=order()).status_code == 200
    assert threads["loop"]
    assert threads["text"]
    assert not threads["loop"] & threads["text"]


def test_a_client_may_have_a_limited_number_of_plans(
    client, submit, order, monkeypatch
):
    """Beyond its limit a client gets 429; a finished plan makes room again."""
    monkeypatch.setattr(jobs, "JOBS_PER_CLIENT", 1)
    first = submit(client).json()["id"]
    refused = submit(client)
    assert refused.status_code == 429
    assert "1 of your plans" in refused.json()["error"]
    assert int(refused.headers["retry-after"]) >= 1
    # Anybody can send this header; only a known proxy is believed.
    claim = {"x-forwarded-for": "203.0.113.7"}
    assert client.post("/plans", json={}, headers=claim).status_code == 429
    client.delete(f"/plans/{first}")
    assert client.post("/plans", json=order()).status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="needs a second loopback address")
def test_each_address_is_a_client(client, submit, monkeypatch):
    """The plans of one client do not count for another."""
    monkeypatch.setattr(jobs, "JOBS_PER_CLIENT", 1)
    other = httpx.HTTPTransport(local_address="127.0.0.2")
    first = submit(client)
    with httpx.Client(base_url=client.base_url, transport=other) as another:
        second = submit(another)
        assert [first.status_code, second.status_code] == [202, 202]
        assert [submit(one).status_code for one in (client, another)] == [429, 429]
    for answer in (first, second):
        client.delete(f"/plans/{answer.json()['id']}")


def test_cancelling_keeps_the_best_plan(client, submit, wait_until):
    """A running plan that is cancelled ends with what its worker has found."""
    id = submit(client).json()["id"]
    wait_until(client, id, "running")
    answer = client.delete(f"/plans/{id}")
    assert answer.status_code == 200
    plan = answer.json()
    assert plan["status"] == "cancelled" and plan["result"]["feasible"]
    assert client.get(f"/plans/{id}").json() == plan


def test_a_waiting_plan_can_be_cancelled(client, submit, wait_until):
    """A plan that is cancelled while it waits has no result, and leaves the queue."""
    first = submit(client).json()["id"]
    wait_until(client, first, "running")
    second, third = (submit(client).json()["id"] for _ in range(2))
    answer = client.delete(f"/plans/{second}")
    assert answer.status_code == 200
    assert answer.json()["status"] == "cancelled" and answer.json()["result"] is None
    assert client.get(f"/plans/{third}").json()["position"] == 0
    client.delete(f"/plans/{third}")
    client.delete(f"/plans/{first}")


def test_a_finished_plan_cannot_be_cancelled(client, order):
    """Cancelling a finished plan is a conflict, and does not change it."""
    plan = client.post("/plans", json=order()).json()
    answer = client.delete(f"/plans/{plan['id']}")
    assert answer.status_code == 409 and "done" in answer.json()["error"]
    assert client.get(f"/plans/{plan['id']}").json() == plan


def full_disk(*_values):
    """Fail as SQLite does when the disk is full."""
    raise sqlite3.OperationalError("database or disk is full")


def test_a_plan_that_cannot_be_stored_is_refused(client, order, monkeypatch):
    """With a full disk a request is a 503 with a sentence; later it is accepted."""
    with monkeypatch.context() as broken:
        broken.setattr(PlanStore, "add", full_disk)
        answer = client.post("/plans", json=order())
        assert answer.status_code == 503 and "disk is full" in answer.json()["error"]
    assert client.post("/plans", json=order()).status_code == 200


def test_a_result_that_cannot_be_stored_has_failed(client, order, monkeypatch):
    """No client is told that a plan is done which a restart would lose."""
    with monkeypatch.context() as broken:
        broken.setattr(PlanStore, "finish", full_disk)
        plan = client.post("/plans", json=order()).json()
        assert plan["status"] == "failed" and "disk is full" in plan["error"]
    assert client.get(f"/plans/{plan['id']}").json() == plan
    assert client.delete(f"/plans/{plan['id']}").status_code == 409


@pytest.mark.slow
def test_the_next_server_continues(make_client, order, tmp_path):
    """After a restart finished plans are there, and unfinished ones are made."""
    with make_client(data=tmp_path) as client:
        done = client.post("/plans", json=order()).json()
        slow = client.post("/plans", json=order("slow", wait=0)).json()["id"]
        waits = client.post("/plans", json=order(wait=0)).json()["id"]
    with make_client(data=tmp_path) as client:
        assert client.get(f"/plans/{done['id']}").json() == done
        assert client.get(f"/plans/{slow}").json()["status"] in ("queued", "running")
        client.delete(f"/plans/{slow}")
        with client.stream("GET", f"/plans/{waits}/events") as events:
            assert "event: done" in "".join(events.iter_text())
        plan = client.get(f"/plans/{waits}").json()
        assert plan["result"]["feasible"] and plan["notes"] == done["notes"]


@pytest.mark.slow
def test_a_plan_that_kills_servers_is_given_up(make_client, order, tmp_path):
    """A plan that was running when two servers died fails with a sentence."""
    with make_client(data=tmp_path) as client:
        slow = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    store = PlanStore(tmp_path, keep=10)
    store.begin(slow)
    store.begin(slow)
    store.close()
    with make_client(data=tmp_path) as client:
        plan = client.get(f"/plans/{slow}").json()
        assert plan["status"] == "failed" and "died 2 times" in plan["error"]


@pytest.mark.slow
def test_damaged_records_are_given_up(make_client, order, tmp_path):
    """Plans whose records are damaged fail with a sentence, and the server starts."""
    damages = (
        ("document", b"\xff{"),
        ("document", b'{"created":"now","request":{}}'),
        ("instance", b"\xff{"),
    )
    with make_client(data=tmp_path) as client:
        slow = [client.post("/plans", json=order("slow", wait=0)) for _ in damages]
        waits = client.post("/plans", json=order(wait=0)).json()["id"]
    damaged = [answer.json()["id"] for answer in slow]
    with sqlite3.connect(tmp_path / "plans.sqlite") as database:
        for id, (column, junk) in zip(damaged, damages, strict=True):
            change = f"UPDATE plans SET {column} = CAST(? AS TEXT) WHERE id = ?"
            database.execute(change, (junk, id))
    database.close()
    with make_client(data=tmp_path) as client:
        for id in damaged:
            plan = client.get(f"/plans/{id}").json()
            assert plan["status"] == "failed" and "could not be read" in plan["error"]
        client.get(f"/plans/{waits}/events")
        assert client.get(f"/plans/{waits}").json()["status"] == "done"
        listed = {plan["id"] for plan in client.get("/plans").json()}
        assert listed == {*damaged, waits}


@pytest.mark.slow
def test_a_waiting_request_is_answered_when_the_server_stops(make_client, order):
    """A request that waits for a plan gets 202 before the server ends."""
    answers = []
    with make_client() as client:
        address = f"{client.base_url}plans"

        def ask():
            answers.append(httpx.post(address, json=order("slow"), timeout=60))

        waiter = threading.Thread(target=ask)
        waiter.start()
        deadline = time.monotonic() + 30
        while client.get("/health").json()["running"] == 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    waiter.join(30)
    assert answers[0].status_code == 202
