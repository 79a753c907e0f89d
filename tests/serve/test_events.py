"""Server-sent events: what a reader sees, whenever it comes."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import httpx
import pytest

from fixedfleet.serve import streams
from fixedfleet.serve.settings import Settings


def read_events(client, id, until=("done", "failed")):
    """Read a stream up to an event of these names; return (name, data) of each."""
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


@pytest.fixture
def slow(client, order):
    """The id of a plan in the making, which is cancelled at last."""
    id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    yield id
    client.delete(f"/plans/{id}")


def test_a_reader_sees_the_verdict_the_improvements_and_the_end(client, slow):
    """The stream tells the verdict, the best plan so far, and the plan at last."""
    first = read_events(client, slow, until=("improved",))
    names = [name for name, _ in first if name != "queued"]
    assert names == ["verdict", "improved"]
    improved = first[-1][1]
    assert improved["cost"] == 99.0 and improved["tours"] == [[1], [2], [3]]
    threading.Timer(0.3, lambda: client.delete(f"/plans/{slow}")).start()
    last = read_events(client, slow)
    assert last[-1][0] == "done" and last[-1][1]["status"] == "cancelled"
    assert last[-1][1] == client.get(f"/plans/{slow}").json()


def test_a_late_reader_sees_the_latest_state_at_once(client, slow):
    """Whoever connects again is told what those before were told."""
    before = read_events(client, slow, until=("improved",))
    again = read_events(client, slow, until=("improved",))
    assert again[-1] == before[-1] and ("verdict", before[-2][1]) in again


def test_several_readers_follow_one_plan(client, slow):
    """Readers in several tabs all get the last event."""
    seen = []
    readers = [
        threading.Thread(target=lambda: seen.append(read_events(client, slow)))
        for _ in range(4)
    ]
    for reader in readers:
        reader.start()
    client.delete(f"/plans/{slow}")
    for reader in readers:
        reader.join(30)
    assert [events[-1][0] for events in seen] == ["done"] * 4


def test_what_waits_is_told_its_place(client, slow, order):
    """A plan in the queue is told how many are before it."""
    id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    assert read_events(client, id, until=("queued",)) == [("queued", {"position": 0})]
    client.delete(f"/plans/{id}")


def test_a_finished_plan_has_one_event(client, order):
    """The stream of a finished plan is its last event; that of a failed one too."""
    plan = client.post("/plans", json=order()).json()
    assert read_events(client, plan["id"]) == [("done", plan)]
    failed = client.post("/plans", json=order("fail")).json()
    events = read_events(client, failed["id"])
    assert events == [("failed", {"error": "it did not want to"})]


def test_streams_are_bounded(make_client, order):
    """More streams than allowed are answered with 503."""
    with make_client(max_streams=1) as client:
        id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
        with client.stream("GET", f"/plans/{id}/events") as answer:
            lines = answer.iter_lines()
            next(lines)
            refused = client.get(f"/plans/{id}/events")
            assert refused.status_code == 503 and refused.headers["retry-after"]


def test_a_client_has_so_many_streams_and_no_more(make_client, order):
    """Beyond its share a client is answered 429; a stream that ends gives room."""
    tokens = ("first-token", "second-token")
    with make_client(tokens=tokens, streams_per_client=1) as client:
        client.headers["authorization"] = f"Bearer {tokens[0]}"
        id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
        path = f"/plans/{id}/events"
        with client.stream("GET", path) as answer:
            lines = answer.iter_lines()
            next(lines)
            refused = client.get(path)
            assert refused.status_code == 429 and refused.headers["retry-after"]
            other = {"authorization": f"Bearer {tokens[1]}"}
            with client.stream("GET", path, headers=other) as another:
                assert another.status_code == 200
            client.delete(f"/plans/{id}")
            assert "event: done" in list(lines)
        assert client.get("/plans/none/events").status_code == 404
        assert client.get(path).status_code == 200


def test_a_reader_that_does_not_read_is_left(caplog, monkeypatch):
    """A stream whose reader takes nothing in ends, and gives its place back."""
    monkeypatch.setattr(streams, "_SEND_SECONDS", 0.05)
    ended = []

    async def events():
        try:
            while True:
                yield "event"
        finally:
            ended.append(True)

    async def main():
        counts = streams.Streams(Settings())
        counts.reserve("me")
        answer = streams.EventStream(events(), counts, "me")

        async def never(*_message):
            await asyncio.Event().wait()

        scope = {"type": "http", "path": "/plans/x/events"}
        await answer(scope, never, never)
        return counts.open

    assert asyncio.run(main()) == 0
    assert "does not read" in caplog.text


def test_streams_end_when_the_server_does(make_client, order):
    """A server that stops lets its readers go, with no last event."""
    lines = []

    def follow(address):
        with httpx.stream("GET", address, timeout=60) as answer:
            lines.extend(answer.iter_lines())

    with make_client() as client:
        id = client.post("/plans", json=order("slow", wait=0)).json()["id"]
        read_events(client, id, until=("improved",))
        reader = threading.Thread(
            target=follow, args=(f"{client.base_url}plans/{id}/events",)
        )
        reader.start()
        while "event: improved" not in lines:
            time.sleep(0.02)
    reader.join(30)
    assert ": the server is being stopped" in lines
    assert "event: done" not in lines
