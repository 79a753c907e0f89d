"""Plans as files, with names that mean no good."""

from __future__ import annotations

import csv
import io
import json

import pytest

from fixedfleet.files import csv_files, sol_files

NASTY = [
    '=HYPERLINK("http://evil.example","x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a,b;c\td",
    'quoted "name"',
    "\u202egnirts",
]


@pytest.fixture(scope="module")
def plan(client):
    """A finished plan whose customers have nasty names."""
    instance = {
        "name": '<b>"nasty"</b>\r\nSet-Cookie: x=1',
        "depot_name": "<i>depot</i>",
        "depot": [0, 0],
        "customers": [[i, -i] for i in range(len(NASTY))],
        "demands": [1] * len(NASTY),
        "names": NASTY,
        "vehicles": 3,
        "capacity": 3,
    }
    answer = client.post("/plans", json={"instance": instance})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_names_with_markup_are_text(client, plan):
    """Names come back as they were given, in documents no browser takes for a page."""
    answer = client.get(f"/plans/{plan['id']}")
    assert answer.headers["content-type"] == "application/json"
    assert [stop["name"] for stop in answer.json()["instance"]["stops"]] == NASTY


def test_the_csv_has_no_formula(client, plan):
    """No cell with a name begins as a formula does, and all names can be restored."""
    answer = client.get(f"/plans/{plan['id']}/plan.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == len(NASTY)
    for row in rows:
        assert not row["name"].startswith(("=", "+", "-", "@", "\t"))
        assert row["name"].lstrip("'") == NASTY[int(row["customer"]) - 1]
    tours = [tour["stops"] for tour in plan["result"]["tours"]]
    assert [list(tour) for tour in csv_files.parse_plan(answer.text)] == tours


def test_all_files_hold_the_same_tours(client, plan):
    """The .sol and .json files hold the tours and the length of the plan."""
    tours = [tour["stops"] for tour in plan["result"]["tours"]]
    document = json.loads(client.get(f"/plans/{plan['id']}/plan.json").text)
    assert [tour["customers"] for tour in document["tours"]] == tours
    assert document["length"] == pytest.approx(plan["result"]["length"])
    text = client.get(f"/plans/{plan['id']}/plan.sol").text
    assert [list(tour) for tour in sol_files.parse_plan(text)] == tours
    assert sol_files.parse_cost(text) == pytest.approx(plan["result"]["length"])


def test_a_file_has_a_harmless_name(client, plan):
    """The file is an attachment, its name made of letters and digits alone."""
    headers = client.get(f"/plans/{plan['id']}/plan.csv").headers
    expected = 'attachment; filename="b-nasty-b-Set-Cookie-x-1.csv"'
    assert headers["content-disposition"] == expected
    assert "set-cookie" not in headers


def test_there_must_be_a_plan_to_download(client, order):
    """A plan that failed, or is in the making, has no file."""
    failed = client.post("/plans", json=order("fail")).json()["id"]
    assert client.get(f"/plans/{failed}/plan.csv").status_code == 409
    slow = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    answer = client.get(f"/plans/{slow}/plan.sol")
    assert answer.status_code == 409 and "not finished" in answer.json()["error"]
    client.delete(f"/plans/{slow}")
    assert client.get(f"/plans/{slow}/plan.pkl").status_code == 422


def test_what_a_format_cannot_hold_is_a_conflict(client):
    """A name with a control character fits into JSON, not into CSV."""
    instance = {
        "depot": [0, 0],
        "customers": [[1, 1]],
        "demands": [1],
        "names": ["bell\u0007"],
        "vehicles": 1,
        "capacity": 1,
    }
    plan = client.post("/plans", json={"instance": instance}).json()
    answer = client.get(f"/plans/{plan['id']}/plan.csv")
    assert answer.status_code == 409 and "control character" in answer.json()["error"]
    assert client.get(f"/plans/{plan['id']}/plan.json").status_code == 200
