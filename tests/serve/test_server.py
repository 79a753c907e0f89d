"""A server as users start it: options, tokens, signals and deaths."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from fixedfleet.cli import main
from fixedfleet.serve.server import Server

pytestmark = pytest.mark.slow

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the system lists no processes"
)
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


@needs_proc
def test_a_killed_worker_costs_one_plan(server, example):
    """kill -9 of a worker fails its plan; another worker makes the next plan."""
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
    """Wait until a plan has ended, and return it."""
    with client.stream("GET", f"/plans/{id}/events") as events:
        events.read()
    return client.get(f"/plans/{id}").json()


@needs_proc
def test_a_killed_server_loses_no_plan(start_server, example, tmp_path):
    """After kill -9 of the server finished plans are there, and the others are made."""
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
        server.client(headers={}) as client,
    ):
        assert client.get("/plans").status_code == 401
        client.headers["authorization"] = f"Bearer {token}"
        assert client.get("/plans").json() == []
        assert server.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "0"], "workers is 0"),
        (["--host", "0.0.0.0", "--no-token"], "other machines"),
        (["--host", "203.0.113.7"], "cannot listen"),
    ],
)
def test_wrong_options_are_explained_in_one_line(options, said, tmp_path, capsys):
    """Options that are wrong end the command with code 2 and one line."""
    assert main(["serve", "--port", "0", "--data", str(tmp_path), *options]) == 2
    out, err = capsys.readouterr()
    assert said in err and err.count("\n") == 1 and not out


def test_a_short_token_is_refused(tmp_path, monkeypatch, capsys):
    """A token that could be guessed ends the command with code 2."""
    monkeypatch.setenv("FIXEDFLEET_TOKEN", "short")
    assert main(["serve", "--port", "0", "--data", str(tmp_path)]) == 2
    assert "5 characters" in capsys.readouterr().err


def test_a_token_is_made_and_printed(server):
    """Without options the printed address has a new token, which opens the page."""
    assert re.search(r"/\?token=[\w-]{20,}$", server.address)
    with server.client(headers={}, follow_redirects=True) as client:
        assert client.get("/plans").status_code == 401
        page = client.get(server.address)
        assert page.status_code == 200 and "token" not in str(page.url)
        assert client.get("/plans").status_code == 200


def test_the_token_is_on_no_command_line(tmp_path, monkeypatch, capsys):
    """The browser is opened with a ticket: its command line would show the token."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("FIXEDFLEET_TOKEN", "a-secret-token")
    monkeypatch.setattr(Server, "serve_forever", lambda server: server._on_ready())
    options = ["--port", "0", "--data", str(tmp_path)]
    assert main(["serve", "--open", *options]) == 0
    (address,) = opened
    assert "?token=" in address and "a-secret-token" not in address
    assert "?token=a-secret-token " in capsys.readouterr().out


def test_without_the_package_the_extra_is_named(monkeypatch, capsys):
    """If FastAPI is not installed, one line says how to install it."""
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert main(["serve"]) == 2
    assert "fixedfleet[serve]" in capsys.readouterr().err


def test_connections_are_limited(make_client, monkeypatch):
    """With too many connections open, a request gets 503 until one is closed."""
    monkeypatch.setattr("fixedfleet.serve.server.MAX_CONNECTIONS", 2)
    with make_client() as client:
        assert client.get("/health").status_code == 200
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address):
            deadline = time.monotonic() + 30
            while client.get("/health").status_code == 200:
                assert time.monotonic() < deadline
        while client.get("/health").status_code == 503:
            assert time.monotonic() < deadline


def test_the_address_is_one_that_colleagues_can_open(monkeypatch):
    """A server for all networks prints the address of this machine in its network."""
    from fixedfleet.serve import server

    class Probe:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def connect(self, _address):
            pass

        def getsockname(self):
            return ("192.168.178.20", 9)

    monkeypatch.setattr(server.socket, "socket", Probe)
    assert server._reachable("0.0.0.0") == "192.168.178.20"
    assert server._reachable("127.0.0.1") == "127.0.0.1"
    monkeypatch.setattr(Probe, "connect", lambda *_: (_ for _ in ()).throw(OSError))
    assert server._reachable("0.0.0.0") == "127.0.0.1"
    assert server._reachable("::") == "::1"
