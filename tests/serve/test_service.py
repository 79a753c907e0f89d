"""The rest of the API: its description, examples, page, health, metrics, recovery."""

from __future__ import annotations

import re
import sqlite3

import pytest

from fixedfleet.serve import static
from fixedfleet.serve.shipped import examples


def test_every_operation_is_described(client):
    """The description names each operation, its refusals and its documents."""
    description = client.get("/openapi.json").json()
    operations = {
        (path, method): operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }
    assert set(operations) >= {
        ("/plans", "post"),
        ("/plans", "get"),
        ("/plans/{id}", "get"),
        ("/plans/{id}", "delete"),
        ("/plans/{id}/events", "get"),
        ("/plans/{id}/plan.{format}", "get"),
        ("/instances", "post"),
        ("/examples", "get"),
        ("/examples/{name}", "get"),
        ("/health", "get"),
        ("/metrics", "get"),
    }
    for operation in operations.values():
        assert operation["summary"] and operation["description"]
        assert {"200", "401", "403"} <= operation["responses"].keys()
    refusals = operations["/plans", "post"]["responses"]
    assert {"400", "413", "415", "422", "429", "503"} <= refusals.keys()
    assert "Retry-After" in refusals["503"]["headers"]
    assert "HTTPValidationError" not in description["components"]["schemas"]
    known = set(description["components"]["schemas"])
    used = set(re.findall(r"#/components/schemas/(\w+)", str(description)))
    assert used <= known


def test_there_is_no_page_that_loads_from_elsewhere(client):
    """The pages FastAPI offers for its description are not there."""
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404


def test_methods_that_do_not_exist_are_refused(client):
    """A method an operation has not is a 405 that lists those it has."""
    answer = client.put("/plans")
    assert answer.status_code == 405 and "PUT" in answer.json()["error"]
    assert answer.headers["allow"]


def test_the_examples_can_be_planned_for(client):
    """Each example is listed and can be sent as it is; one has too small a fleet."""
    verdicts = {}
    for listed in client.get("/examples").json():
        example = client.get(f"/examples/{listed['name']}").json()
        assert example["title"] == listed["title"]
        document = client.post("/instances", json={"text": example["text"]}).json()
        assert document["customers"] == listed["customers"]
        assert document["vehicles"] == example["vehicles"]
        assert document["capacity"] == example["capacity"]
        verdicts[listed["name"]] = document["verdict"]
    assert verdicts["leipzig_parcels"]["status"] == "feasible"
    assert verdicts["bakery_round"]["status"] == "impossible"
    assert verdicts["bakery_round"]["smallest"] == 4
    assert verdicts.keys() == examples().keys()


def test_the_shipped_example_is_the_documented_one():
    """The example in the package is the one in the folder of examples."""
    from pathlib import Path

    path = Path(__file__).parents[2] / "examples" / "leipzig_parcels.csv"
    assert examples()["leipzig_parcels"].text == path.read_text(encoding="utf-8")


def test_unknown_examples_are_not_found(client):
    """An example that is not shipped is a 404 that lists those that are."""
    answer = client.get("/examples/none")
    assert answer.status_code == 404 and "leipzig_parcels" in answer.json()["error"]


def test_health_tells_workers_and_queue(client, order):
    """/health says that the service is up, its version and what it does."""
    client.post("/plans", json=order())
    health = client.get("/health").json()
    assert health["status"] == "ok" and health["workers"] == 1
    assert health["queue"] == 0 and health["running"] == 0
    assert re.match(r"\d+\.\d+", health["version"])


def test_metrics_are_in_the_format_of_prometheus(client):
    """Every line is a comment or a number; routes are few, whatever is asked for."""
    for path in ("/plans/a", "/plans/b", "/no/such/<thing>", "/health"):
        client.get(path)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    label = r'[a-z]+="[^"]*"'
    sample = re.compile(rf"[a-z_]+(\{{{label}(,{label})*\}})? [\d.e+-]+")
    for line in answer.text.splitlines():
        assert line.startswith("# ") or sample.fullmatch(line), line
    series = 'fixedfleet_requests_total{method="GET",route="/plans/{id}",status="404"}'
    assert f"{series} 2" in answer.text.splitlines()
    assert "thing" not in answer.text and "fixedfleet_queue_length 0" in answer.text
    assert 'request_seconds_bucket{le="+Inf"}' in answer.text


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A folder in the place of the page's."""
    monkeypatch.setattr(static, "_FOLDER", tmp_path)
    return tmp_path


def test_the_page_is_served_by_name(client, page):
    """Files of the page come with their types, and not again where they are known."""
    (page / "index.html").write_text("<p>page</p>")
    (page / "app.js").write_text("let a")
    (page / "notes.txt").write_text("not for clients")
    assert client.get("/").text == "<p>page</p>"
    answer = client.get("/static/app.js")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    again = client.get(
        "/static/app.js", headers={"if-none-match": answer.headers["etag"]}
    )
    assert again.status_code == 304 and not again.content
    assert client.get("/static/notes.txt").status_code == 404


def test_without_a_page_the_service_says_so(client, page):
    """Where the page is not installed, / says that the API is there all the same."""
    answer = client.get("/")
    assert answer.status_code == 200 and "not installed" in answer.text


def test_the_next_server_goes_on(make_client, order, tmp_path):
    """After a restart finished plans are there, and unfinished ones are made."""
    with make_client(folder=tmp_path) as client:
        done = client.post("/plans", json=order()).json()
        slow = client.post("/plans", json=order("slow", wait=0)).json()["id"]
        waits = client.post("/plans", json=order(wait=0)).json()["id"]
    with make_client(folder=tmp_path) as client:
        assert client.get(f"/plans/{done['id']}").json() == done
        assert client.get(f"/plans/{slow}").json()["status"] in ("queued", "running")
        client.delete(f"/plans/{slow}")
        with client.stream("GET", f"/plans/{waits}/events") as events:
            assert "event: done" in "".join(events.iter_text())
        assert client.get(f"/plans/{waits}").json()["result"]["feasible"]


def test_a_plan_that_servers_die_of_is_given_up(make_client, order, tmp_path):
    """A plan in the making at two deaths of a server fails with a sentence."""
    from fixedfleet.serve.store import Store

    with make_client(folder=tmp_path) as client:
        slow = client.post("/plans", json=order("slow", wait=0)).json()["id"]
    store = Store(tmp_path, keep=10)
    store.begin(slow)
    store.begin(slow)
    store.close()
    with make_client(folder=tmp_path) as client:
        plan = client.get(f"/plans/{slow}").json()
        assert plan["status"] == "failed" and "died 2 times" in plan["error"]


@pytest.mark.parametrize("column", ["document", "request"])
def test_a_plan_that_cannot_be_read_is_given_up(make_client, order, tmp_path, column):
    """A row that was spoilt fails with a sentence, and the server starts."""
    with make_client(folder=tmp_path) as client:
        spoilt = client.post("/plans", json=order("slow", wait=0)).json()["id"]
        waits = client.post("/plans", json=order(wait=0)).json()["id"]
    junk = b"\xff{" if column == "document" else b'{"created":"now","request":{}}'
    with sqlite3.connect(tmp_path / "plans.sqlite") as database:
        database.execute(
            "UPDATE plans SET document = CAST(? AS TEXT) WHERE id = ?", (junk, spoilt)
        )
    database.close()
    with make_client(folder=tmp_path) as client:
        plan = client.get(f"/plans/{spoilt}").json()
        assert plan["status"] == "failed" and "could not be read" in plan["error"]
        client.get(f"/plans/{waits}/events")
        assert client.get(f"/plans/{waits}").json()["status"] == "done"
        assert {plan["id"] for plan in client.get("/plans").json()} == {spoilt, waits}


def test_health_is_described_as_open(make_client):
    """Where a token is needed, the description says that /health needs none."""
    with make_client(tokens=("a-token-of-some-length",)) as client:
        description = client.get("/openapi.json").json()
    assert description["security"] == [{"token": []}]
    assert description["paths"]["/health"]["get"]["security"] == []
    assert "security" not in description["paths"]["/plans"]["get"]


def test_whoever_waits_is_let_go_when_the_server_stops(make_client, order, tmp_path):
    """A request that waits for a plan is answered 202 before the server ends."""
    import threading

    import httpx

    answers = []
    with make_client(folder=tmp_path) as client:
        address = f"{client.base_url}plans"

        def ask():
            answers.append(httpx.post(address, json=order("slow"), timeout=60))

        waiter = threading.Thread(target=ask)
        waiter.start()
        while client.get("/health").json()["running"] == 0:
            pass
    waiter.join(30)
    assert answers[0].status_code == 202
