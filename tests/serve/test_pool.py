"""Workers that die, hang or misbehave cost their own plan and no other."""

from __future__ import annotations

import time

import pytest
from fake_worker import endless, fake_plan, never_ready

from fixedfleet.serve import pool

pytestmark = pytest.mark.slow


def test_a_dead_worker_costs_only_its_plan(client, order, wait_until):
    """The plan of a worker that dies fails with a sentence; the next ones are made."""
    doomed = client.post("/plans", json=order("die", wait=0)).json()["id"]
    others = [
        client.post("/plans", json=order("quick", wait=0)).json()["id"]
        for _ in range(3)
    ]
    plan = wait_until(client, doomed, "failed")
    assert "worker process" in plan["error"] and "signal 9" in plan["error"]
    for id in others:
        assert wait_until(client, id, "done")["result"]["feasible"]


def test_the_last_report_of_a_dead_worker_is_kept(client, order):
    """The plan of a worker that dies fails with the best plan that it reported."""
    plan = client.post("/plans", json=order("tell-and-die")).json()
    assert plan["status"] == "failed" and "signal 9" in plan["error"]
    assert plan["result"]["feasible"] and plan["result"]["length"] == pytest.approx(30)
    assert plan["result"]["lower_bound"] == 20
    assert plan["result"]["gap"] == pytest.approx(0.5)
    assert plan["result"]["trace"] == [[0.5, 99.0]]  # the second had the same cost


def test_a_stubborn_worker_is_killed(client, order, read_events, monkeypatch):
    """A worker that ignores the cancelling is killed, and its last report is kept."""
    monkeypatch.setattr(pool, "CANCEL_SECONDS", 0.2)
    id = client.post("/plans", json=order("stubborn", wait=0)).json()["id"]
    read_events(client, id, until=("improved",))
    plan = client.delete(f"/plans/{id}").json()
    assert plan["status"] == "cancelled"
    assert plan["result"]["feasible"] and len(plan["result"]["tours"]) == 3
    assert plan["result"]["length"] == pytest.approx(30)
    assert plan["result"]["trace"] == [[0.5, 99.0]]
    assert client.post("/plans", json=order()).json()["status"] == "done"


def test_a_plan_that_raises_an_error_says_why(client, order):
    """What a worker raises is the error of its plan; the next plan is made."""
    plan = client.post("/plans", json=order("fail")).json()
    assert plan["status"] == "failed" and plan["result"] is None
    assert plan["error"].endswith("ValueError: it did not want to")
    assert client.post("/plans", json=order()).json()["result"]["feasible"]


@pytest.mark.parametrize("name", ["quick", "slow", "misspeak"])
def test_a_mistake_of_the_server_ends_the_plan(client, order, monkeypatch, name):
    """A plan fails if the server cannot handle its reports; the next ones are made."""

    def mistaken(*_values):
        raise RuntimeError("a mistake")

    with monkeypatch.context() as broken:
        if name != "misspeak":
            broken.setattr(pool, "_note", mistaken)
        plan = client.post("/plans", json=order(name)).json()
    assert plan["status"] == "failed" and "could not be made" in plan["error"]
    assert client.post("/plans", json=order()).json()["result"]["feasible"]


def test_without_workers_plans_wait(make_client, order, read_events):
    """If no worker starts, plans are accepted; followers and /health are told why."""
    with make_client(work=never_ready) as client:
        answer = client.post("/plans", json=order(wait=0))
        assert answer.status_code == 202
        events = read_events(client, answer.json()["id"], until=("preparing",))
        assert events == [("queued", {"position": 0}), ("preparing", {})]
        health = client.get("/health").json()
        assert health["status"] == "starting" and health["workers"] == 0
        assert health["queue"] == 1


@pytest.mark.parametrize("ahead", [endless, never_ready, fake_plan])
def test_no_plan_waits_for_what_is_compiled_ahead(make_client, order, ahead):
    """A further process compiles, whatever becomes of it; it ends with the server."""
    import multiprocessing

    before = set(multiprocessing.active_children())

    def wait_for_children(count):
        deadline = time.monotonic() + 90
        while len(found := set(multiprocessing.active_children()) - before) != count:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return found

    with make_client(ahead=ahead) as client:
        children = wait_for_children(2 if ahead is endless else 1)
        assert client.post("/plans", json=order()).json()["status"] == "done"
        assert client.get("/health").json()["workers"] == 1
        assert children <= set(multiprocessing.active_children())
    wait_for_children(0)


def test_an_idle_worker_that_dies_is_replaced(make_client, order):
    """A worker that dies while it has nothing to do costs no plan."""
    import multiprocessing

    before = set(multiprocessing.active_children())
    with make_client() as client:
        client.post("/plans", json=order())
        (worker,) = set(multiprocessing.active_children()) - before
        worker.kill()
        worker.join(30)
        deadline = time.monotonic() + 30
        while worker in multiprocessing.active_children():
            assert time.monotonic() < deadline
        plan = client.post("/plans", json=order()).json()
        assert plan["status"] == "done"
