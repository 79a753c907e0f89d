"""A day in a town, and road servers that fail in known ways."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import pytest

import fixedfleet as ff
from fixedfleet.roads import osrm as osrm_client
from tests.town import corner


@pytest.fixture
def day() -> ff.Instance:
    """Six customers at crossings of the first town, and two vehicles."""
    return make_day()


def make_day() -> ff.Instance:
    """Return the day; fixtures of a module need it, too."""
    places = [(2, 3), (15, 4), (9, 18), (1, 12), (17, 17), (6, 7)]
    return ff.Instance(
        depot=corner(10, 10),
        customers=[corner(*place) for place in places],
        demands=[1] * 6,
        capacity=4,
        vehicles=2,
        names=["Anna", "Bert", "Cleo", "Dora", "Emil", "Finn"],
        depot_name="Hof",
        metric="great_circle",
    )


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The addresses that are asked for, in order."""
    addresses: list[str] = []

    def counted(request, **options):
        addresses.append(request.full_url)
        return urlopen(request, **options)

    monkeypatch.setattr(osrm_client, "urlopen", counted)
    return addresses


@pytest.fixture
def answering():
    """Return a server that gives one answer to all questions; its address."""

    @contextmanager
    def serve(body=b"", status=200, seconds=0.0):
        over = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                over.wait(seconds)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            over.set()
            server.shutdown()
            thread.join()
            server.server_close()

    return serve
