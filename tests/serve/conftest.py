"""Servers for the tests: in this process with quick workers, and as users start it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

# Worker processes must find the module as well.
sys.path.append(str(Path(__file__).parent))

from fake_worker import fake_plan  # noqa: E402

from fixedfleet.serve.server import Server  # noqa: E402
from fixedfleet.serve.settings import Settings  # noqa: E402

CSV = "name,x,y,demand\ndepot,0,0,\nCafé,3,4,2\nShop,-3,4,2\nKiosk,0,-5,3\n"


@pytest.fixture(scope="session")
def make_client(tmp_path_factory):
    """Return a maker of clients to a service in this process with one quick worker."""

    @contextmanager
    def make(data=None, work=fake_plan, workers=1, ahead=None, **changes):
        data = data or tmp_path_factory.mktemp("data")
        settings = Settings(data=data, port=0, workers=workers, **changes)
        ready = threading.Event()
        server = Server(settings, on_ready=ready.set, work=work, ahead=ahead)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert ready.wait(30)
            with httpx.Client(base_url=server.url, timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()

    return make


@pytest.fixture(scope="session")
def client(make_client):
    """A client to a service in this process, for all tests that leave it as it was."""
    with make_client() as client:
        yield client


@pytest.fixture(scope="session")
def order():
    """Return a maker of requests for a small plan; the name says what happens."""

    def make(name="", **changes):
        text = f"# name: {name}\n{CSV}" if name else CSV
        return {"text": text, "vehicles": 3, "capacity": 5, "wait": 30} | changes

    return make


@pytest.fixture(scope="session")
def example():
    """Return a maker of requests for a plan of a shipped example."""

    def make(client, name, **changes):
        found = {one["name"]: one for one in client.get("/examples").json()}
        return {"text": found[name]["text"], "time_limit": 0.2, "wait": 30} | changes

    return make


@pytest.fixture(scope="session")
def wait_until():
    """Return how to ask for a plan until it has a status."""

    def wait(client, id, status):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            plan = client.get(f"/plans/{id}").json()
            if plan["status"] == status:
                return plan
            time.sleep(0.02)
        raise TimeoutError(plan)

    return wait


@pytest.fixture(scope="session")
def read_events():
    """Return how to read a stream up to an event, as (name, data) of each event."""

    def read(client, id, until=("done", "failed")):
        events, name = [], None
        with client.stream("GET", f"/plans/{id}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    events.append((name, json.loads(line.removeprefix("data: "))))
                    if name in until:
                        break
        return events

    return read


@dataclass
class LiveServer:
    """A server as users start it."""

    process: subprocess.Popen
    address: str  # as it was printed, with the token if there is one

    @property
    def url(self):
        """The address without the token."""
        return self.address.partition("?")[0].rstrip("/")

    @property
    def token(self):
        """The token, or an empty text."""
        return self.address.partition("?token=")[2]

    def client(self, **options):
        """Return a client that sends the token with each request, if there is one."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        options = {"headers": headers, "timeout": 60} | options
        return httpx.Client(base_url=self.url, **options)

    def workers(self):
        """Process ids of its workers, as the system lists them."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
                command = entry.with_name("cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and b"spawn_main" in command:
                found.append(int(entry.parent.name))
        return found

    def wait_for(self, condition, seconds=90):
        """Ask /health until a condition holds of it."""
        with self.client() as client:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                health = client.get("/health").json()
                if condition(health):
                    return health
                time.sleep(0.1)
        raise TimeoutError(health)

    def end(self, how=signal.SIGTERM):
        """End it by a signal and return its exit code."""
        self.process.send_signal(how)
        return self.process.wait(30)


@contextmanager
def live_server(folder, *options, **environment):
    """Start a server on a free port, and end it afterwards."""
    command = [sys.executable, "-m", "fixedfleet", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--data", str(folder), "--workers", "1", *options],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("fixedfleet serves at http://127.0.0.1:"), line
        yield LiveServer(process, line.split()[3])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="session")
def start_server():
    """How to start a server as users do."""
    return live_server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server as users start it, with one worker that searches, for all tests."""
    folder = tmp_path_factory.mktemp("service")
    with live_server(folder, FIXEDFLEET_TOKEN="") as server:
        server.wait_for(lambda health: health["workers"] == 1)
        yield server
