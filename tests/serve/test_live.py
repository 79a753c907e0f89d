"""A server as users start it: plans that are searched for, signals, and deaths."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from fixedfleet.cli import main
from fixedfleet.serve.run import Server
from fixedfleet.serve.schema import ImprovedDoc, PlanDoc

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the system lists no processes"
)
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def example(client, name, **changes):
    """A request for a plan of a shipped example."""
    text = client.get(f"/examples/{name}").json()["text"]
    return {"text": text, "time_limit": 0.5, "wait": 30} | changes


def test_a_days_parcels_are_planned(server):
    """The example is planned for within its fleet, and the best cost only falls."""
    with server.client() as client:
        plan = client.post("/plans", json=example(client, "leipzig_parcels")).json()
    result = plan["result"]
    assert plan["status"] == "done" and result["feasible"] and not result["unserved"]
    assert result["vehicles"] <= result["fleet"] == 7
    assert all(tour["load"] <= 850 for tour in result["tours"])
    assert sum(tour["length"] for tour in result["tours"]) == pytest.approx(
        result["length"]
    )
    costs = [cost for _, cost in result["trace"]]
    assert costs == sorted(costs, reverse=True)
    assert result["stages"][0]["name"] == "fleet"


def test_what_was_asked_for_is_noted(server):
    """Objective, vehicle cost and seed are part of the plan, and heeded."""
    with server.client() as client:
        asked = {"objective": "cost-v", "vehicle_cost": 50, "seed": 3}
        body = example(client, "leipzig_parcels", **asked)
        plan = client.post("/plans", json=body).json()
    assert {key: plan["request"][key] for key in asked} == asked
    result = plan["result"]
    assert result["cost"] == result["cost_v"]
    assert result["cost_v"] == pytest.approx(result["length"] + 50 * result["vehicles"])


def test_an_impossible_fleet_leaves_somebody_out(server):
    """With too few vans the plan says whom it leaves out, and which fleet would do."""
    with server.client() as client:
        body = example(client, "bakery_round")
        plan = client.post("/plans", json=body).json()
        sure = client.post("/plans", json={**body, "guarantee": True}).json()
    result = plan["result"]
    assert plan["status"] == "done" and plan["verdict"]["status"] == "impossible"
    assert plan["verdict"]["smallest"] == 4
    assert not result["feasible"] and result["cost"] is None
    assert len(result["tours"]) <= 3
    served = [stop for tour in result["tours"] for stop in tour["stops"]]
    assert sorted(served + result["unserved"]) == list(range(1, 10))
    assert sure["result"]["feasible"] and sure["result"]["fleet"] == 4
    assert not sure["result"]["unserved"] and sure["request"]["vehicles"] == 3


def test_a_search_can_be_followed_and_cancelled(server):
    """Improvements arrive while the search goes on; cancelling keeps the best."""
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
    ImprovedDoc.model_validate(improved)
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
    """Numbers at the end of what is possible get a plan or a sentence, no failure."""
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
        plan = PlanDoc.model_validate(answer.json())
        assert plan.status == "done", plan.error


@needs_proc
def test_a_killed_worker_costs_one_plan(server):
    """kill -9 of a worker fails the plan it made; the next plan is made by another."""
    with server.client() as client:
        body = example(client, "leipzig_parcels", time_limit=60)
        doomed = client.post("/plans", json={**body, "wait": 0}).json()["id"]
        server.wait_for(lambda health: health["running"] == 1)
        for pid in server.workers():
            os.kill(pid, signal.SIGKILL)
        plan = client.post("/plans", json={**body, "time_limit": 0.2}).json()
        assert client.get(f"/plans/{doomed}").json()["status"] == "failed"
        assert "signal 9" in client.get(f"/plans/{doomed}").json()["error"]
    assert plan["id"] != doomed and plan["result"]["feasible"]
    server.wait_for(lambda health: health["workers"] == 1)


def finished(client, id):
    """Wait until a plan is finished and return it."""
    with client.stream("GET", f"/plans/{id}/events") as events:
        events.read()
    return client.get(f"/plans/{id}").json()


@needs_proc
def test_a_killed_server_loses_no_finished_plan(start_server, tmp_path):
    """After kill -9 of the server finished plans are there, others are made."""
    with start_server(tmp_path) as server, server.client() as client:
        body = example(client, "bakery_round", time_limit=0.2)
        done = client.post("/plans", json=body).json()
        body["wait"] = 0
        slow = client.post("/plans", json={**body, "time_limit": 20}).json()
        server.wait_for(lambda health: health["running"] == 1)
        waits = client.post("/plans", json=body).json()
        workers = server.workers()
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < end, "workers outlive their server"
        time.sleep(0.05)
    with start_server(tmp_path) as server, server.client() as client:
        assert client.get(f"/plans/{done['id']}").json() == done
        client.delete(f"/plans/{slow['id']}")
        assert finished(client, waits["id"])["status"] == "done"
        assert finished(client, slow["id"])["status"] == "cancelled"
        assert server.end() == 0


@needs_signals
def test_a_server_with_a_token_ends_in_good_order(start_server, tmp_path):
    """A token may come from the environment; SIGINT ends the server with code 0."""
    token = "from-the-environment"
    with (
        start_server(tmp_path, FIXEDFLEET_TOKEN=token) as server,
        server.client() as client,
    ):
        assert client.get("/plans").status_code == 401
        client.headers["authorization"] = f"Bearer {token}"
        assert client.get("/plans").json() == []
        assert server.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "--token"),
        (["--token", "short"], "5 characters"),
        (["--workers", "0"], "workers is 0"),
        (["--max-body", "nan"], "--max-body"),
        (["--host", "203.0.113.7", "--token", "long-enough"], "cannot listen"),
    ],
)
def test_what_cannot_be_served_is_one_line(options, said, tmp_path, capsys):
    """Options that cannot be met end the command with code 2 and one line."""
    assert main(["serve", "--port", "0", "--data", str(tmp_path), *options]) == 2
    out, err = capsys.readouterr()
    assert said in err and err.count("\n") == 1 and not out


def test_the_token_is_on_no_command_line(tmp_path, monkeypatch, capsys):
    """The browser is opened without the token, which would show among processes."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("FIXEDFLEET_TOKEN", "a-secret-token")
    monkeypatch.setattr(Server, "serve_forever", lambda server: server._on_ready("url"))
    options = ["--port", "0", "--data", str(tmp_path), "--max-streams", "7"]
    assert main(["serve", "--open", *options]) == 0
    out, _ = capsys.readouterr()
    assert opened == ["url"]
    assert "#token=" in out and "a-secret-token" not in out


def test_without_the_package_the_extra_is_named(monkeypatch, capsys):
    """Where FastAPI is not installed, one line says how to install it."""
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert main(["serve"]) == 2
    assert "fixedfleet[serve]" in capsys.readouterr().err
