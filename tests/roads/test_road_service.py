"""Plans by road, made by the service."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from dataclasses import replace
from urllib.error import URLError

import pytest

import fixedfleet as ff
from fixedfleet.files import json_files
from fixedfleet.roads import osrm as osrm_client
from tests.roads.conftest import make_day

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from fixedfleet.serve.server import Server  # noqa: E402
from fixedfleet.serve.settings import Settings  # noqa: E402

pytestmark = pytest.mark.slow
GPX = "{http://www.topografix.com/GPX/1/1}"


@contextmanager
def serving(folder, **changes):
    """Run a service with one worker; provide a client."""
    ready = threading.Event()
    settings = Settings(data=folder, port=0, workers=1, **changes)
    server = Server(settings, on_ready=ready.set)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        assert ready.wait(30)
        with httpx.Client(base_url=server.url, timeout=240) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the service keeps plans and roads."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def client(osrm, folder):
    """A client to a service that plans by road."""
    with serving(folder, roads=osrm) as client:
        yield client


def order(client, day, **changes):
    """Ask for a plan of the day, and wait for it."""
    text = json_files.format_instance(day)
    body = {"text": text, "time_limit": 0.1, "wait": 0, **changes}
    answer = client.post("/plans", json=body)
    if answer.status_code != 202:
        return answer.json()
    id = answer.json()["id"]
    with client.stream("GET", f"/plans/{id}/events") as events:
        names = [line[7:] for line in events.iter_lines() if line.startswith("event: ")]
    return client.get(f"/plans/{id}").json() | {"events": names}


@pytest.fixture(scope="module")
def plan(client):
    """A finished plan by road."""
    return order(client, make_day())


def test_a_plan_is_by_road(client, plan, osrm, day, tmp_path):
    """Where the server has roads, plans are by road, with the lengths of roads."""
    assert client.get("/settings").json()["roads"] is True
    assert plan["status"] == "done", plan["error"]
    assert plan["request"]["roads"] and plan["result"]["metric"] == "road"
    assert plan["events"].count("roads") >= 1
    assert "distances and travel times by road" in plan["result"]["notes"]
    found = ff.Plan(tour["customers"] for tour in plan["result"]["tours"])
    roads = ff.with_roads(day, osrm, folder=tmp_path)
    assert plan["result"]["length"] == pytest.approx(found.length(roads))


def test_changed_tours_are_by_road(client, plan, osrm, day, tmp_path):
    """The lengths of tours that a dispatcher changes are those of roads, too."""
    edit = {"tours": [[1, 2, 3], [4, 5, 6]]}
    edited = client.put(f"/plans/{plan['id']}/tours", json=edit).json()
    roads = ff.with_roads(day, osrm, folder=tmp_path)
    expected = ff.Plan(edit["tours"]).tour_lengths(roads)
    assert [tour["length"] for tour in edited["tours"]] == pytest.approx(expected)
    lines = client.get(f"/plans/{plan['id']}/lines").json()["tours"]
    assert [len(line) > 5 for line in lines] == [True, True]
    assert lines[0][0] == pytest.approx(day.depot, abs=1e-4)


def test_gpx_has_the_roads(client, plan):
    """A downloaded GPX file has a track along the roads for each tour."""
    answer = client.get(f"/plans/{plan['id']}/plan.gpx")
    root = ElementTree.fromstring(answer.text)
    assert len(root.findall(f"{GPX}trk")) == 2
    assert len(root.findall(f"{GPX}trk/{GPX}trkseg/{GPX}trkpt")) > 20


def test_straight_lines_can_be_asked_for(client, day):
    """A plan with roads: false is by straight lines, and has no lines along roads."""
    plan = order(client, day, roads=False)
    assert plan["result"]["metric"] == "great_circle" and not plan["request"]["roads"]
    answer = client.get(f"/plans/{plan['id']}/lines")
    assert answer.status_code == 409 and "straight lines" in answer.json()["error"]


def test_a_customer_without_a_road_is_named(client, day):
    """The plan fails with a sentence that names the customer."""
    lost = replace(day, customers=[*day.customers[:5], (51.3, 13.7)])
    plan = order(client, lost)
    assert plan["status"] == "failed" and "'Finn' (" in plan["error"]


def test_roads_need_latitudes_and_longitudes(client, square):
    """Coordinates in a plane are planned as always; roads are refused for them."""
    assert order(client, square)["result"]["metric"] == "euclidean"
    refused = order(client, square, roads=True)
    assert refused["where"] == "roads"


def test_plans_by_road_outlive_the_road_server(client, plan, monkeypatch):
    """While the road server is away, lengths are known, and lines are refused."""

    def away(*_arguments, **_options):
        raise URLError(ConnectionRefusedError(111, "Connection refused"))

    monkeypatch.setattr(osrm_client, "urlopen", away)
    assert client.get(f"/plans/{plan['id']}/plan.xlsx").status_code == 200
    answer = client.get(f"/plans/{plan['id']}/lines")
    assert (answer.status_code, answer.json()["where"]) == (503, "roads")
    assert "no OSRM server answers at" in answer.json()["error"]


def test_a_plan_without_its_road_server_fails(tmp_path, day):
    """If the road server does not answer, the plan fails, and says where it is."""
    with serving(tmp_path, roads="http://127.0.0.1:9") as client:
        plan = order(client, day)
    assert plan["status"] == "failed" and plan["result"] is None
    assert "no OSRM server answers at http://127.0.0.1:9" in plan["error"]


def test_a_server_without_roads_refuses_them(tmp_path, day):
    """A request for roads is refused where there are none, with what to do."""
    with serving(tmp_path) as client:
        assert client.get("/settings").json()["roads"] is False
        refused = order(client, day, roads=True)
    assert "start it with --roads URL" in refused["error"]
