"""The queue, its bounds, cancelling, and workers that die."""

from __future__ import annotations

import sqlite3
import sys
import time

import pytest

from fixedfleet.serve import supervisor
from fixedfleet.serve.store import Store


@pytest.fixture
def submit(order):
    """Return how to ask for a plan without waiting for it."""

    def ask(client, name="slow"):
        return client.post("/plans", json=order(name, wait=0))

    return ask


def wait_until(client, id, status):
    """Ask for a plan until it has a status."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        plan = client.get(f"/plans/{id}").json()
        if plan["status"] == status:
            return plan
        time.sleep(0.02)
    raise TimeoutError(plan)


def test_a_full_queue_answers_503(make_client, submit):
    """Beyond the queue the answer is 503 with Retry-After, and room is made by time."""
    with make_client(queue=2) as client:
        first = submit(client).json()["id"]
        wait_until(client, first, "running")
        waiting = [submit(client).json() for _ in range(2)]
        assert [plan["position"] for plan in waiting] == [0, 1]
        refused = submit(client)
        assert refused.status_code == 503
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "queue is full" in refused.json()["error"]
        assert "fixedfleet_plans_refused_total 1" in client.get("/metrics").text
        client.delete(f"/plans/{first}")
        wait_until(client, waiting[0]["id"], "running")
        assert submit(client).status_code == 202


def test_a_client_has_so_many_jobs_and_no_more(make_client, submit):
    """Beyond its share a client is answered 429; a finished plan gives room again."""
    with make_client(jobs_per_client=1) as client:
        first = submit(client).json()["id"]
        refused = submit(client)
        assert refused.status_code == 429
        assert "1 plans of yours" in refused.json()["error"]
        assert int(refused.headers["retry-after"]) >= 1
        client.headers["x-forwarded-for"] = "203.0.113.7"  # says who is no proxy
        assert submit(client).status_code == 429
        client.delete(f"/plans/{first}")
        assert submit(client, "quick").status_code == 202


def test_each_token_is_a_client(make_client, submit):
    """The share of one token's holder is not used up by another's."""
    tokens = ("first-token", "second-token")
    with make_client(tokens=tokens, jobs_per_client=1) as client:
        for token in tokens:
            client.headers["authorization"] = f"Bearer {token}"
            assert submit(client).status_code == 202
            assert submit(client).status_code == 429


def test_cancelling_keeps_the_best_so_far(client, submit):
    """A plan cancelled in the making ends with what its worker has."""
    id = submit(client).json()["id"]
    wait_until(client, id, "running")
    answer = client.delete(f"/plans/{id}")
    assert answer.status_code == 200
    plan = answer.json()
    assert plan["status"] == "cancelled" and plan["result"]["feasible"]
    assert client.get(f"/plans/{id}").json() == plan


def test_a_stubborn_worker_is_killed_and_the_best_told_is_kept(
    client, submit, order, monkeypatch
):
    """A worker that does not end when asked costs nobody the plan it told of."""
    monkeypatch.setattr(supervisor, "_CANCEL_SECONDS", 0.2)
    id = submit(client, "stubborn").json()["id"]
    wait_until(client, id, "running")
    time.sleep(0.5)  # the improvement is on its way
    client.delete(f"/plans/{id}")
    plan = wait_until(client, id, "cancelled")
    assert plan["result"]["feasible"] and len(plan["result"]["tours"]) == 3
    assert plan["result"]["length"] == pytest.approx(30)
    assert plan["result"]["trace"] == [[0.5, 99.0]]
    assert client.post("/plans", json=order()).json()["status"] == "done"


def test_cancelling_what_waits_takes_it_out_of_the_queue(client, submit):
    """A plan cancelled before it began has no result, and its place is free."""
    first = submit(client).json()["id"]
    wait_until(client, first, "running")
    second, third = (submit(client).json()["id"] for _ in range(2))
    answer = client.delete(f"/plans/{second}")
    assert answer.status_code == 200
    assert answer.json()["status"] == "cancelled" and answer.json()["result"] is None
    assert client.get(f"/plans/{third}").json()["position"] == 0
    client.delete(f"/plans/{third}")
    client.delete(f"/plans/{first}")


def test_what_has_ended_cannot_be_cancelled(client, order):
    """Cancelling a finished plan is a conflict and leaves it as it is."""
    plan = client.post("/plans", json=order()).json()
    answer = client.delete(f"/plans/{plan['id']}")
    assert answer.status_code == 409 and "done" in answer.json()["error"]
    assert client.get(f"/plans/{plan['id']}").json() == plan


@pytest.mark.parametrize("how", ["die", "garble"])
def test_a_dead_worker_costs_its_job_and_nobody_else(client, submit, how):
    """The job of a worker that dies fails with a sentence; the next ones are made."""
    doomed = submit(client, how).json()["id"]
    others = [submit(client, "quick").json()["id"] for _ in range(3)]
    plan = wait_until(client, doomed, "failed")
    assert "worker process" in plan["error"]
    assert ("signal 9" in plan["error"]) == (how == "die")
    for id in others:
        assert wait_until(client, id, "done")["result"]["feasible"]


def test_what_a_dead_worker_told_of_is_kept(client, submit):
    """The plan of a worker that dies fails with the best that it had told of."""
    plan = wait_until(client, submit(client, "tell-and-die").json()["id"], "failed")
    assert "signal 9" in plan["error"]
    assert plan["result"]["feasible"] and plan["result"]["length"] == pytest.approx(30)


@pytest.mark.parametrize("name", ["quick", "misspeak"])
def test_a_mistake_of_the_server_ends_the_plan(client, submit, monkeypatch, name):
    """A plan with which the server itself goes wrong fails; the next ones are made."""

    def mistaken(*_values):
        raise RuntimeError("a mistake")

    with monkeypatch.context() as broken:
        if name == "quick":
            broken.setattr(supervisor, "_follow", mistaken)
        plan = wait_until(client, submit(client, name).json()["id"], "failed")
    assert plan["error"] == "the server made a mistake with this plan"
    again = submit(client, "quick").json()["id"]
    assert wait_until(client, again, "done")["result"]["feasible"]


def test_deaths_are_counted(make_client, order):
    """/metrics counts plans by how they ended, and the workers that died."""
    with make_client() as client:
        client.post("/plans", json=order("die"))
        client.post("/plans", json=order())
        text = client.get("/metrics").text
    for line in (
        "fixedfleet_worker_deaths_total 1",
        "fixedfleet_plans_failed_total 1",
        "fixedfleet_plans_done_total 1",
        "fixedfleet_plans_accepted_total 2",
    ):
        assert line in text.splitlines()


def test_without_workers_plans_wait(make_client, order):
    """Where no worker comes up, plans are taken in, and /health tells the reason."""
    with make_client(command=(sys.executable, "-c", "raise SystemExit(3)")) as client:
        assert client.post("/plans", json=order(wait=0)).status_code == 202
        health = client.get("/health").json()
        assert health["status"] == "starting" and health["workers"] == 0
        assert health["queue"] == 1
    with make_client(command=("no-such-program",)) as client:
        assert client.get("/health").json()["workers"] == 0


def test_a_plan_that_cannot_be_written_down_is_refused(client, order, monkeypatch):
    """With a full disk the answer is a 503 with a sentence, and later all is well."""
    with monkeypatch.context() as broken:
        broken.setattr(Store, "add", full_disk)
        answer = client.post("/plans", json=order())
        assert answer.status_code == 503 and "disk is full" in answer.json()["error"]
    assert client.post("/plans", json=order()).status_code == 200


def test_a_plan_that_cannot_be_kept_has_failed(client, order, monkeypatch):
    """Nobody is told that a plan is done which would be gone after a restart."""
    with monkeypatch.context() as broken:
        broken.setattr(Store, "finish", full_disk)
        plan = client.post("/plans", json=order()).json()
        assert plan["status"] == "failed" and "disk is full" in plan["error"]
    assert client.get(f"/plans/{plan['id']}").json() == plan
    assert client.delete(f"/plans/{plan['id']}").status_code == 409


def full_disk(*_values):
    """What SQLite says when the disk is full."""
    raise sqlite3.OperationalError("database or disk is full")
