"""A firm's fleet and day in requests: kinds of vehicles, minutes, shifts, speed."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi")

TABLE = (
    "name,lat,lon,demand,window\ndepot,51,13,,\nA,51.1,13.1,2,08:00-10:00\n"
    "B,51.2,13.2,3,\nC,51.1,13.2,2,\n"
)
KINDS = [
    {"name": "Van", "count": 2, "capacity": 3},
    {"name": "Truck", "capacity": 4.5, "shift": [360, 900]},
]
DAY = {"speed": 40, "service_minutes": 6, "shift": [420, 960]}


def test_a_query_and_a_body_say_the_same_about_a_day(client):
    """Kinds of vehicles are objects in a body, and JSON in the query of a file."""
    body = {"text": TABLE, "vehicle_types": KINDS, **DAY}
    by_body = client.post("/instances", json=body).json()
    query = {**DAY, "vehicle_types": [json.dumps(kind) for kind in KINDS]}
    headers = {"content-type": "text/csv"}
    answer = client.post("/instances", content=TABLE, params=query, headers=headers)
    assert answer.json() == by_body
    instance = by_body["instance"]
    assert [kind["shift"] for kind in instance["vehicle_types"]] == [
        [420, 960],
        [360, 900],
    ]
    assert instance["service_times"] == [6, 6, 6]
    assert instance["windows"][0] == [480, 600]
    assert by_body["doubts"] == []


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"vehicle_types": [{"name": "Van"}]}, "vehicle_types.0.capacity"),
        ({"vehicle_types": [{"capacity": 0}]}, "vehicle_types.0.capacity"),
        ({"vehicle_types": [{"capacity": 1, "shift": [9]}]}, "vehicle_types.0.shift"),
        ({"vehicle_types": [{"capacity": 1, "shift": [9, 8]}]}, "vehicle_types"),
        ({"speed": 0}, "speed"),
        ({"service_minutes": -1}, "service_minutes"),
        ({"shift": [1, 2, 3]}, "shift"),
    ],
)
def test_a_wrong_day_is_refused(client, wrong, where):
    """A kind of vehicle without a capacity, or a shift that ends early, is refused."""
    answer = client.post("/instances", json={"text": TABLE, **wrong})
    assert answer.status_code == 422
    assert answer.json()["where"] == where


def test_a_query_that_is_not_json_is_refused(client):
    """The refusal names the field."""
    headers = {"content-type": "text/csv"}
    query = {"vehicle_types": "Van"}
    answer = client.post("/instances", content=TABLE, params=query, headers=headers)
    assert answer.status_code == 422 and answer.json()["where"] == "vehicle_types"


@pytest.fixture
def plan(client):
    """A finished plan of a day, with a tour per customer."""
    asked = {"text": TABLE, "vehicle_types": KINDS, **DAY, "wait": 30}
    return client.post("/plans", json=asked).json()


def test_what_was_asked_for_is_kept(plan):
    """The request has the day, so that the form can be filled again."""
    request = plan["request"]
    assert [kind["name"] for kind in request["vehicle_types"]] == ["Van", "Truck"]
    assert (request["speed"], request["service_minutes"]) == (40, 6)
    assert request["shift"] == [420, 960]


def test_a_tour_is_judged_by_its_own_vehicle(client, plan):
    """Load and shift of a tour are judged by the vehicle that it has."""
    path = f"/plans/{plan['id']}/tours"

    def change(kinds, revision):
        wanted = {"tours": [[1], [3, 2]], "vehicle_types": kinds}
        return client.put(path, json={**wanted, "revision": revision}).json()

    late = change([0, 0], 0)
    assert late["faults"] == ["tour 2 carries 5 of 3"]
    assert late["tours"][1]["times"]["departure"] >= 420
    other = change([0, 1], 1)
    assert other["faults"] == ["tour 2 carries 5 of 4.5"]
    assert [tour["vehicle_type"] for tour in other["tours"]] == [0, 1]
    document = client.get(f"/plans/{plan['id']}/plan.json").json()
    assert [tour["vehicle_type"] for tour in document["tours"]] == [0, 1]


@pytest.mark.parametrize("kinds", [[0], [0, 2]])
def test_a_tour_needs_a_vehicle_that_exists(client, plan, kinds):
    """Each tour has a kind of vehicle of the fleet."""
    json = {"tours": [[1], [2]], "vehicle_types": kinds}
    answer = client.put(f"/plans/{plan['id']}/tours", json=json)
    assert answer.status_code == 422


def test_minutes_per_stop_can_be_changed_for_a_plan(client, plan):
    """A plan that is made again has the new minutes, not those of the first one."""
    again = {"plan": plan["id"], "vehicle_types": KINDS, "service_minutes": 11}
    read = client.post("/instances", json=again).json()
    assert read["instance"]["service_times"] == [11, 11, 11]


def test_different_minutes_stay_and_that_is_said(client):
    """It is not known which minutes were in the file, so all of them stay."""
    table = TABLE.replace("window", "minutes").replace("08:00-10:00", "15")
    asked = {"text": table, "vehicle_types": KINDS, **DAY, "wait": 30}
    first = client.post("/plans", json=asked).json()
    again = {"plan": first["id"], "vehicle_types": KINDS, "service_minutes": 11}
    read = client.post("/instances", json=again).json()
    assert read["instance"]["service_times"] == [15, 6, 6]
    assert any("minutes per stop differ and stay" in note for note in read["notes"])
