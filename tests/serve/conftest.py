"""Fixtures of the service's tests: one in this process, one as users start it."""

from __future__ import annotations

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

from fixedfleet.serve.run import Server  # noqa: E402
from fixedfleet.serve.settings import Settings  # noqa: E402

FAKE_WORKER = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))
CSV = "name,x,y,demand\ndepot,0,0,\nCafé,3,4,2\nShop,-3,4,2\nKiosk,0,-5,3\n"


@pytest.fixture(scope="session")
def make_client(tmp_path_factory):
    """Return a maker of clients to a service in this process with quick workers."""

    @contextmanager
    def make(headers=None, folder=None, command=FAKE_WORKER, **changes):
        folder = folder or tmp_path_factory.mktemp("data")
        settings = Settings(folder=folder, port=0, **changes)
        ready = threading.Event()
        server = Server(settings, on_ready=lambda _url: ready.set(), command=command)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert ready.wait(30)
            with httpx.Client(
                base_url=server.url, headers=headers, timeout=60
            ) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()

    return make


@pytest.fixture(scope="module")
def client(make_client):
    """A client to a service in this process with one quick worker, for one file."""
    with make_client() as client:
        yield client


@pytest.fixture(scope="session")
def order():
    """Return a maker of requests for a small plan; the name tells the worker how."""

    def make(name="", **changes):
        text = f"# name: {name}\n{CSV}" if name else CSV
        return {"text": text, "vehicles": 3, "capacity": 5, "wait": 30} | changes

    return make


@dataclass
class LiveServer:
    """A server as users start it."""

    process: subprocess.Popen
    url: str

    def client(self, **options):
        """A client to it."""
        return httpx.Client(base_url=self.url, timeout=60, **options)

    def workers(self):
        """Process ids of its workers that are ready, as the system lists them."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z":
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
    """Start a server on a free port, and end it at last."""
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
        yield LiveServer(process, line.split()[3].rstrip("/"))
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
    with live_server(folder, "--jobs-per-client", "1000") as server:
        server.wait_for(lambda health: health["workers"] == 1)
        yield server
