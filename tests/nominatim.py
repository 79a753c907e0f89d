"""A geocoder for tests: an HTTP server that answers as Nominatim does."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator


class Nominatim:
    """
    The places that the server knows, and the addresses that it was asked for.

    ``status`` is the HTTP status of every answer.
    """

    def __init__(self) -> None:
        self.known: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[str] = []
        self.status = 200
        self.url = ""

    def add(self, address: str, *places: tuple[float, float], **details: str) -> None:
        """Let the server know an address, at one or several places."""
        street, _, town = address.partition(", ")
        road, _, number = street.rpartition(" ")
        said = details or {"road": road, "house_number": number, "city": town}
        self.known[address] = [
            {
                "lat": f"{lat:.7f}",
                "lon": f"{lon:.7f}",
                "display_name": f"{address}, place {place}",
                "address": said,
            }
            for place, (lat, lon) in enumerate(places, 1)
        ]


@contextmanager
def serving() -> Iterator[Nominatim]:
    """Run the server."""
    state = Nominatim()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            assert parts.path == "/search" and query["format"] == "json"
            assert self.headers["User-Agent"].startswith("fixedfleet/")
            state.asked.append(query["q"])
            found = state.known.get(query["q"], [])[: int(query["limit"])]
            self.send_response(state.status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
