"""What HTTP asks for beside the operations: HEAD, Allow, tags, few labels."""

from __future__ import annotations

import re
import socket
import sqlite3
import time

import pytest

from fixedfleet.serve import static
from fixedfleet.serve.store import Store


@pytest.mark.parametrize(
    "path", ["/", "/health", "/plans", "/examples", "/static/app.js", "/metrics"]
)
def test_what_can_be_got_has_a_head(client, path):
    """HEAD is answered as GET is, without the body."""
    got, head = client.get(path), client.head(path)
    assert head.status_code == 200 and not head.content
    assert head.headers["content-type"] == got.headers["content-type"]


def test_the_head_of_a_stream_comes_at_once(client, order):
    """HEAD of a plan's events does not wait for them; of no plan it is a 404."""
    id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    head = client.head(f"/plans/{id}/events")
    assert head.status_code == 200
    assert head.headers["content-type"].startswith("text/event-stream")
    assert client.head("/plans/none/events").status_code == 404
    client.delete(f"/plans/{id}")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/plans", "GET, HEAD, POST"),
        ("/plans/some", "DELETE, GET, HEAD"),
        ("/instances", "POST"),
        ("/health", "GET, HEAD"),
    ],
)
def test_all_methods_of_a_path_are_allowed(client, path, allowed):
    """A 405 lists the methods of all operations at the path."""
    answer = client.put(path)
    assert answer.status_code == 405 and answer.headers["allow"] == allowed


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"a" , W/{}', "*"])
def test_a_copy_that_is_known_is_not_sent_again(form):
    """Tags may be weak, and one of several."""
    tag = static.page_file("app.js").headers["etag"]
    assert static.page_file("app.js", form.format(tag)).status_code == 304
    assert static.page_file("app.js", '"other", W/"more"').status_code == 200


def test_methods_of_a_clients_making_are_no_labels(client):
    """A method that is none is counted among others, at every path."""
    for path in ("/plans", "/health", "/nowhere"):
        assert client.request("PWN7", path).status_code in (404, 405)
    text = client.get("/metrics").text
    assert "PWN7" not in text
    assert re.search(r'method="other",route="/plans",status="405"} 1$', text, re.M)


def test_a_store_that_cannot_be_read_is_a_503(client, order, monkeypatch):
    """Where the disk fails, who asks for a plan is told when to ask again."""
    id = client.post("/plans", json=order()).json()["id"]

    def fail(*_values):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(Store, "_read", fail)
        for path in ("/plans", f"/plans/{id}", f"/plans/{id}/events"):
            answer = client.get(path)
            assert answer.status_code == 503 and answer.headers["retry-after"]
            assert "disk" not in answer.json()["error"]
    assert client.get(f"/plans/{id}").status_code == 200
    assert "fixedfleet_event_streams 0" in client.get("/metrics").text


def test_connections_are_bounded(make_client):
    """With as many connections open as may be, a request is answered 503."""
    with make_client(max_connections=2) as client:
        assert client.get("/health").status_code == 200
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address):
            deadline = time.monotonic() + 30
            while client.get("/health").status_code == 200:
                assert time.monotonic() < deadline
        while client.get("/health").status_code == 503:
            assert time.monotonic() < deadline
