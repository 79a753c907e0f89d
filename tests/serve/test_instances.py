"""Instances in every form a client may send them in."""

from __future__ import annotations

import json

import pytest

from fixedfleet.serve.errors import ApiError
from fixedfleet.serve.parsing import read_instance
from fixedfleet.serve.schema import InstanceDoc, InstanceRequest
from fixedfleet.serve.settings import Settings

VRPLIB = """NAME : tiny-k2
TYPE : CVRP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 8
DEMAND_SECTION
1 0
2 4
3 5
DEPOT_SECTION
1
-1
EOF
"""
PASTED = "x\ty\tdemand\n0\t0\t\n3\t4\t4\n6\t8\t5"
INSTANCE = {
    "name": "tiny",
    "vehicles": 2,
    "capacity": 10,
    "depot": [0, 0],
    "customers": [[3, 4], [6, 8]],
    "demands": [4, 5],
}


def ask(client, body, **parameters):
    """Send a JSON body to be read; return the document."""
    answer = client.post("/instances", json=body, params=parameters)
    assert answer.status_code == 200, answer.text
    InstanceDoc.model_validate(answer.json())
    return answer.json()


@pytest.mark.parametrize(
    "body",
    [
        {"instance": INSTANCE},
        {"text": VRPLIB},
        {"text": VRPLIB, "format": "vrplib"},
        {"text": json.dumps(INSTANCE)},
        {"text": "# vehicles: 2\n# capacity: 10\nx;y;demand\n0;0;\n3;4;4\n6;8;5\n"},
        {
            "text": PASTED,
            "vehicles": 2,
            "capacity": 10,
        },
    ],
    ids=["instance", "vrplib", "named vrplib", "json", "semicolons", "pasted"],
)
def test_every_form_means_the_same(client, body):
    """The same instance comes out of every form it may be sent in."""
    document = ask(client, body)
    assert (document["customers"], document["vehicles"]) == (2, 2)
    assert (document["capacity"], document["total_demand"]) == (10, 9)
    assert [(s["x"], s["y"], s["demand"]) for s in document["stops"]] == [
        (3, 4, 4),
        (6, 8, 5),
    ]
    assert document["verdict"]["status"] == "feasible"
    assert not document["geographic"] and document["unit"] == ""


def test_raw_bodies_are_read_too(client):
    """text/csv and text/plain bodies are read as they are, with a byte-order mark."""
    csv = "\ufeffname,lat,lon,demand\nDepot,51,12,\nÖpfel,52,13,3\n"
    for kind in ("text/csv", "text/plain; charset=UTF-8"):
        answer = client.post(
            "/instances?vehicles=1&capacity=3.5",
            content=csv.encode(),
            headers={"content-type": kind},
        )
        document = answer.json()
        assert document["geographic"] and document["unit"] == "km"
        assert document["stops"][0]["name"] == "Öpfel"
        assert (document["stops"][0]["x"], document["stops"][0]["y"]) == (13, 52)
        assert document["capacity"] == 3.5


def test_without_a_fleet_the_customers_are_still_shown(client):
    """Where nobody says the fleet, it is null, and so is the verdict."""
    document = ask(client, {"text": "x,y,demand\n0,0,\n1,1,7\n"})
    assert document["vehicles"] is None and document["capacity"] is None
    assert document["verdict"] is None and document["total_demand"] == 7
    partly = ask(client, {"text": "x,y,demand\n0,0,\n1,1,7\n"}, vehicles=2)
    assert partly["vehicles"] == 2 and partly["capacity"] is None


def test_a_fleet_that_is_too_small_is_told_with_the_proof(client):
    """The verdict says why a fleet is too small and which one suffices."""
    verdict = ask(client, {"instance": INSTANCE, "capacity": 5, "vehicles": 1})[
        "verdict"
    ]
    assert verdict["status"] == "impossible" and verdict["smallest"] == 2
    assert "9 of 5" in verdict["reason"]


def test_a_matrix_has_no_places(client):
    """An instance of distances alone has null for coordinates."""
    body = {"demands": [1], "matrix": [[0, 2], [3, 0]], "vehicles": 1, "capacity": 1}
    document = ask(client, {"instance": body})
    assert document["metric"] == "explicit"
    assert document["stops"][0]["x"] is None and document["depot"]["y"] is None


def test_depot_and_rounding_can_be_told(client):
    """The request may name the depot, and say how distances are rounded."""
    text = "name,x,y,demand\na,0,0,1\nhome,1,1,\n"
    document = ask(client, {"text": text, "depot": "home", "rounding": "ceil"})
    assert document["depot"]["name"] == "home" and document["rounding"] == "ceil"
    assert [stop["name"] for stop in document["stops"]] == ["a"]


def test_tsplib_degrees_become_decimal(client):
    """TSPLIB's degrees and minutes are shown as decimal degrees."""
    text = VRPLIB.replace("EUC_2D", "GEO").replace("2 3 4", "2 50.30 8.15")
    stop = ask(client, {"text": text})["stops"][0]
    assert (stop["x"], stop["y"]) == (pytest.approx(8.25), pytest.approx(50.5))


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 400, "empty"),
        (b"{", 400, "JSON"),
        (b'{"text": "\xff"}', 400, "JSON"),
        (b"[]", 422, "body"),
        (b"{}", 422, "neither"),
        (b'{"text": "x", "instance": {}}', 422, "both"),
        (b'{"text": "  "}', 422, "empty"),
        (b'{"text": "a\\u0000b"}', 422, "control character"),
        (b'{"text": "x,y,demand\\n0,0,\\n1,1,nan"}', 422, "line 3"),
        (b'{"txt": "x"}', 422, "txt"),
        (b'{"text": "x", "format": "pickle"}', 422, "format"),
        (b'{"text": "x", "vehicles": "3"}', 422, "vehicles"),
        (b'{"text": "x", "vehicles": true}', 422, "vehicles"),
        (b'{"text": "x", "vehicles": 0}', 422, "vehicles"),
        (b'{"text": "x", "capacity": 1e999}', 422, "capacity"),
        (b'{"instance": {"demands": [NaN]}}', 422, "NaN"),
        (b'{"instance": {"demands": [1%s]}}' % (b"0" * 5000), 400, "out of range"),
        (b'{"instance": {"a": %s1%s}}' % (b"[" * 999, b"]" * 999), 400, "recursion"),
        (b'{"text": "\\ud800"}', 400, "JSON"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(client, body, status, said):
    """A body that is wrong is a 400 or 422 with one line that says what is wrong."""
    answer = client.post(
        "/instances", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == status, answer.text
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_a_number_without_end_is_refused(tmp_path):
    """A number too long to be written out is refused wherever it comes from."""
    request = InstanceRequest(instance={"demands": [10**5000]})
    with pytest.raises(ApiError, match="digits"):
        read_instance(request, Settings(folder=tmp_path))


def test_other_types_are_refused(client):
    """A pickle, a form and a character set that is not UTF-8 are a 415."""
    for kind in (
        "application/octet-stream",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/csv; charset=utf-16",
        "",
    ):
        answer = client.post("/instances", content=b"x", headers={"content-type": kind})
        assert answer.status_code == 415, kind
        assert "text/csv" in answer.json()["error"]


def test_bytes_that_are_no_text_are_refused(client):
    """A raw body that is not UTF-8 is a 400 that names the byte."""
    answer = client.post(
        "/instances", content=b"x,y\xff", headers={"content-type": "text/csv"}
    )
    assert answer.status_code == 400 and "byte 3" in answer.json()["error"]


@pytest.mark.parametrize(
    "text",
    ["/etc/passwd", "file:///etc/passwd", "../../etc/passwd", "C:\\secret.csv"],
)
def test_a_path_is_text_and_nothing_else(client, text):
    """A text that looks like a path is no table; no file is opened for it."""
    for format in ("auto", "csv", "vrplib", "json"):
        answer = client.post("/instances", json={"text": text, "format": format})
        assert answer.status_code == 422
        assert "root:" not in answer.text


def test_the_limits_on_instances_hold(make_client):
    """Too many customers, vehicles or seconds are a 422 that tells the limit."""
    with make_client(max_customers=2, max_seconds=5) as client:
        text = "x,y,demand\n0,0,\n1,1,1\n2,2,1\n3,3,1\n"
        answer = client.post("/instances", json={"text": text})
        assert answer.status_code == 422 and "at most 2" in answer.json()["error"]
        small = {"instance": INSTANCE}
        answer = client.post("/plans", json={**small, "vehicles": 3})
        assert answer.status_code == 422 and "3 vehicles" in answer.json()["error"]
        answer = client.post("/plans", json={**small, "time_limit": 5.5})
        assert answer.status_code == 422 and "at most 5 s" in answer.json()["error"]
        assert client.post("/plans", json=small).status_code == 200
