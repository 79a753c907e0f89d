"""Bodies in every form that a client may send."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import time
from pathlib import Path

import openpyxl
import pytest
from pydantic import TypeAdapter
from starlette.requests import Request

from fixedfleet.serve import bodies
from fixedfleet.serve.bodies import make_order, read_instance
from fixedfleet.serve.refusals import ApiError
from fixedfleet.serve.schema import InstanceRequest, PlanRequest, ReadDocument

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
    """Send a JSON body to be read; return the answer."""
    answer = client.post("/instances", json=body, params=parameters)
    assert answer.status_code == 200, answer.text
    TypeAdapter(ReadDocument).validate_python(answer.json())
    return answer.json()


@pytest.mark.parametrize(
    "body",
    [
        {"instance": INSTANCE},
        {"text": VRPLIB},
        {"text": json.dumps(INSTANCE)},
        {"text": "# vehicles: 2\n# capacity: 10\nx;y;demand\n0;0;\n3;4;4\n6;8;5\n"},
        {
            "text": PASTED,
            "vehicles": 2,
            "capacity": 10,
        },
    ],
    ids=["instance", "vrplib", "json", "semicolons", "pasted"],
)
def test_every_form_means_the_same(client, body):
    """Every form gives the same instance."""
    read = ask(client, body)
    instance = read["instance"]
    assert (instance["vehicles"], instance["capacity"]) == (2, 10)
    assert instance["customers"] == [[3, 4], [6, 8]]
    assert instance["demands"] == [4, 5] and instance["metric"] == "euclidean"
    assert read["verdict"]["status"] == "feasible"


def test_raw_files_are_read(client):
    """text/csv and text/plain bodies are files, possibly with a byte-order mark."""
    csv = "\ufeffname,lat,lon,demand\nDepot,51,12,\nÖpfel,52,13,3\n"
    for kind in ("text/csv", "text/plain; charset=UTF-8"):
        answer = client.post(
            "/instances?vehicles=1&capacity=3.5",
            content=csv.encode(),
            headers={"content-type": kind},
        )
        instance = answer.json()["instance"]
        assert instance["metric"] == "great_circle" and instance["capacity"] == 3.5
        assert instance["names"] == ["Öpfel"] and instance["customers"] == [[52, 13]]


def test_without_a_fleet_the_customers_are_still_shown(client):
    """If nobody gives the fleet, it is null, and so is the verdict."""
    read = ask(client, {"text": "x,y,demand\n0,0,\n1,1,7\n"})
    assert read["instance"]["vehicles"] is None
    assert read["instance"]["capacity"] is None
    assert read["verdict"] is None and read["instance"]["demands"] == [7]
    partly = ask(client, {"text": "x,y,demand\n0,0,\n1,1,7\n"}, vehicles=2)
    assert partly["instance"]["vehicles"] == 2
    assert partly["instance"]["capacity"] is None


def test_a_small_fleet_is_proven_too_small(client):
    """The verdict says why a fleet is too small, and which one suffices."""
    verdict = ask(client, {"instance": INSTANCE, "capacity": 5, "vehicles": 1})[
        "verdict"
    ]
    assert verdict["status"] == "impossible" and verdict["smallest"] == 2
    assert "sum to 9, but the fleet carries 5" in verdict["reason"]


def test_an_instance_may_be_a_matrix(client):
    """An instance of distances only has no coordinates; the matrix is not sent back."""
    body = {"demands": [1], "matrix": [[0, 2], [3, 0]], "vehicles": 1, "capacity": 1}
    instance = ask(client, {"instance": body})["instance"]
    assert instance["metric"] == "explicit" and instance["matrix"] is None
    assert instance["customers"] is None and instance["depot"] is None


@pytest.mark.slow
def test_an_earlier_plan_gives_its_customers(client, order):
    """A request may name a plan instead of an instance, with another fleet."""
    matrix = [[0, 2, 1], [3, 0, 1], [1, 1, 0]]
    body = {"demands": [1, 2], "matrix": matrix, "vehicles": 1, "capacity": 3}
    first = client.post("/plans", json={"instance": body}).json()
    again = {"plan": first["id"], "vehicles": 2, "capacity": 2}
    read = ask(client, again)
    assert read["instance"]["demands"] == [1, 2] and read["instance"]["vehicles"] == 2
    second = client.post("/plans", json=again).json()
    assert second["request"]["capacity"] == 2 and second["id"] != first["id"]
    lengths = [tour["length"] for tour in second["result"]["tours"]]
    assert sorted(lengths) == [2, 5]
    answer = client.post("/plans", json={"plan": "none"})
    assert answer.status_code == 422 and answer.json()["where"] == "plan"


def test_depot_and_rounding_can_be_given(client):
    """The request may name the depot, and say how distances are rounded."""
    text = "name,x,y,demand\na,0,0,1\nhome,1,1,\n"
    request = {"text": text, "depot": "home", "rounding": "ceil"}
    instance = ask(client, request)["instance"]
    assert instance["depot_name"] == "home" and instance["rounding"] == "ceil"
    assert instance["names"] == ["a"]


def test_columns_that_are_not_recognised_can_be_named(client):
    """A refusal lists the headings; the request then says which is which."""
    text = "Nord;Ost;Paletten;Kunde\n51,5;12,5;;Lager\n51,25;12,25;3;Ada\n"
    answer = client.post("/instances", json={"text": text})
    assert answer.status_code == 422
    refusal = answer.json()
    assert refusal["where"] == "columns"
    assert "with 'columns'" in refusal["error"] and "columns=" not in refusal["error"]
    headings = ["Nord", "Ost", "Paletten", "Kunde"]
    assert refusal["table"]["headings"] == headings
    assert refusal["table"]["columns"] == {"name": "Kunde"}
    chosen = ["lat=Nord", "lon=Ost", "demand=Paletten"]
    by_body = ask(client, {"text": text, "columns": chosen})
    by_query = client.post(
        "/instances",
        params={"columns": chosen},
        content=text,
        headers={"content-type": "text/csv"},
    ).json()
    assert by_body == by_query
    assert by_body["instance"]["customers"] == [[51.25, 12.25]]
    assert by_body["instance"]["demands"] == [3]
    assert "column 'Paletten' is the demand, as asked for" in by_body["notes"]
    wrong = client.post("/instances", json={"text": text, "columns": ["Nord"]})
    assert wrong.status_code == 422 and wrong.json()["where"] == "columns"
    missing = {"text": text, "columns": ["lat=Süd"]}
    refusal = client.post("/instances", json=missing).json()
    assert refusal["table"]["headings"] == headings


def test_rows_that_cannot_be_read_are_listed_and_corrected(client):
    """The other rows are read; the request may say what the cells should say."""
    text = "name,x,y,demand\nHub,0,0,\nAda,1,1,1\nBob,2,2,\nCay,3,3,1\n"
    read = ask(client, {"text": text})
    assert read["instance"]["names"] == ["Ada", "Cay"]
    (doubt,) = read["doubts"]
    assert (doubt["kind"], doubt["row"], doubt["columns"]) == (
        "unreadable",
        4,
        ["demand"],
    )
    again = ask(client, {"text": text, "corrections": ["4:demand=7"]})
    assert (again["instance"]["demands"], again["doubts"]) == ([1, 7, 1], [])
    wrong = client.post("/instances", json={"text": text, "corrections": ["4=7"]})
    assert (wrong.status_code, wrong.json()["where"]) == (422, "corrections")


def test_each_field_in_a_refusal_is_named_as_in_a_request(client):
    """Also those beside the wrong one."""
    instance = {"depot": [0, 0], "customers": [[1, 1]], "demands": [1]}
    body = {"instance": instance | {"vehicle_types": [{"capacity": 5}]}, "vehicles": 2}
    refusal = client.post("/instances", json=body).json()
    assert refusal["where"] == "vehicles"
    said = "the file states vehicle types: leave 'vehicles' out, or give 'capacity' as"
    assert refusal["error"] == f"{said} well"


@pytest.mark.parametrize(
    ("wrong", "asked", "where"),
    [
        ({"depot": [0, 0, 0]}, {}, "instance"),
        ({"speed": -1}, {}, "instance"),
        ({"detour": 0}, {"speed": 40}, "instance"),
        ({"time_matrix": [[0, 1], [1, 0]]}, {"speed": 40}, "speed"),
    ],
)
def test_a_wrong_value_within_the_instance_is_no_field_of_the_request(
    client, wrong, asked, where
):
    """Only what the client sent, or must send, is named as the wrong field."""
    instance = {"depot": [0, 0], "customers": [[1, 1]], "demands": [1], **wrong}
    answer = client.post("/instances", json={"instance": instance, **asked})
    assert (answer.status_code, answer.json()["where"]) == (422, where)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("depot", "Zoe"),
        ("corrections", ["9:demand=1"]),
        ("leave_out", [9]),
        ("detour", 2),
        ("shift", [600, 500]),
        ("shift", [0, 600]),
        ("vehicles", 3),
        ("name", "a\x07b"),
    ],
)
def test_a_refusal_names_the_field_that_is_wrong(client, where, value):
    """The page marks this field, and a program need not read the sentence."""
    text = "name,x,y,demand,from,to\nHub,0,0,,,\nAda,1,1,1,08:00,12:00\n"
    types = {"vehicle_types": [{"capacity": 5}]}
    body = {"text": text, "speed": 40} | types | {where: value}
    answer = client.post("/instances", json=body)
    assert (answer.status_code, answer.json()["where"]) == (422, where)


def test_an_unknown_column_is_a_wrong_choice_of_columns(client):
    """The field is the list in which the client named the column."""
    text = "name,x,y,demand\nHub,0,0,\nAda,1,1,1\n"
    for asked in ({"columns": ["colour=name"]}, {"corrections": ["3:colour=red"]}):
        refusal = client.post("/instances", json={"text": text, **asked}).json()
        assert "unknown column 'colour'" in refusal["error"]
        assert [refusal["where"]] == [*asked]


def test_a_depot_that_is_not_known_is_asked_for(client):
    """If every row has a demand, the refusal lists the names, and one is chosen."""
    text = "name,x,y,demand\nAda,0,0,1\nBob,1,1,2\nBob,2,2,2\nHome,3,3,9\n"
    refusal = client.post("/instances", json={"text": text}).json()
    assert refusal["where"] == "depot"
    assert refusal["table"]["depots"] == ["Ada", "Home"]
    read = ask(client, {"text": text, "depot": "Home"})
    assert read["instance"]["names"] == ["Ada", "Bob", "Bob"]
    assert "the demand of the depot, 9, is ignored" in read["notes"]


def test_a_sheet_of_an_excel_file_is_chosen(client):
    """If several sheets look alike, the refusal lists them, and the query chooses."""
    book = openpyxl.Workbook()
    for title, demand in (("Mo", 1), ("Di", 2)):
        sheet = book.create_sheet(title)
        for row in (["x", "y", "demand"], [0, 0, None], [1, 1, demand]):
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    excel = {"content": file.getvalue(), "headers": {"content-type": bodies.EXCEL}}
    refusal = client.post("/instances", **excel)
    assert (refusal.status_code, refusal.json()["where"]) == (422, "sheet")
    assert refusal.json()["table"]["sheets"] == ["Sheet", "Mo", "Di"]
    read = client.post("/instances?sheet=Di", **excel).json()
    assert read["instance"]["demands"] == [2]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 400, "empty"),
        (b"{", 400, "JSON"),
        (b'{"text": "\xff"}', 400, "JSON"),
        (b"[]", 422, "body"),
        (b"{}", 422, "exactly one of"),
        (b'{"text": "x", "instance": {}}', 422, "exactly one of"),
        (b'{"text": "x", "plan": "y"}', 422, "exactly one of"),
        (b'{"text": "  "}', 422, "empty"),
        (b'{"text": "a\\u0000b"}', 422, "character 1 is 0x00"),
        (b'{"text": "x,y,demand\\n0,0,\\n1,1,nan"}', 422, "row 3"),
        (b'{"txt": "x"}', 422, "txt"),
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
def test_a_wrong_body_is_explained_in_one_sentence(client, body, status, said):
    """A wrong body is a 400 or 422, with one sentence that says what is wrong."""
    answer = client.post(
        "/instances", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == status, answer.text
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def read(text, most=40):
    """Read a text, of at most so many customers."""
    request = InstanceRequest(text=text)
    return read_instance(request, None, lambda _id: None, most)


def test_the_longest_time_limit_of_the_server_is_allowed():
    """As many seconds as the server allows are accepted, and more are refused."""
    text = json.dumps(INSTANCE)
    asked = PlanRequest(text=text, time_limit=5)
    assert make_order(asked, read(text), 5).request.time_limit == 5
    with pytest.raises(
        ApiError, match=r"is 5 s, but this server allows at most 4\.5 s"
    ):
        make_order(asked, read(text), 4.5)


def test_the_largest_fleet_of_the_server_is_allowed():
    """A server plans for as many vehicles as customers, and not for more."""
    text = "# vehicles: 40\n# capacity: 9\nx,y,demand\n0,0,\n1,1,7\n"
    assert read(text).instance.vehicles == 40
    with pytest.raises(ApiError, match="40 vehicles, but this server plans for at "):
        read(text, most=39)


def test_other_content_types_are_refused(client):
    """A binary file, a form and a character set other than UTF-8 are a 415."""
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


def test_bytes_that_are_not_text_are_refused(client):
    """A raw body that is no text is refused, and the message names the place."""
    for kind in ("text/csv", bodies.EXCEL):
        answer = client.post(
            "/instances", content=b"x,y\x00\xff", headers={"content-type": kind}
        )
        assert answer.status_code == 422
        assert "character 3" in answer.json()["error"]


def test_a_file_that_is_no_table_is_told_so(client):
    """An empty file and a picture are called by their names."""
    kind = {"content-type": "text/csv"}
    empty = client.post("/instances", content=b" \n", headers=kind)
    assert (empty.status_code, empty.json()["error"]) == (400, "the file is empty")
    picture = b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(range(128, 256))
    answer = client.post("/instances", content=picture, headers=kind)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("a picture (JPEG), not a table")


def test_a_file_as_excel_writes_it_is_read(client, order):
    """Semicolons, decimal commas, cp1252; an Excel file; further columns travel."""
    table = "Kunde;Breite;Länge;Menge (kg);Telefon\r\nLager;50,9;6,9;;1\r\n"
    table += "Café Süß;50,95;6,95;12,5;0221\r\n"
    answer = client.post(
        "/plans?vehicles=1&capacity=20&wait=30",
        content=table.encode("cp1252"),
        headers={"content-type": "text/csv"},
    )
    plan = answer.json()
    assert plan["instance"]["names"] == ["Café Süß"]
    assert plan["instance"]["unit"] == "kg"
    place = f"/plans/{plan['id']}/plan"
    german = client.get(f"{place}.csv?decimal=,").text
    assert german.startswith("\ufefftour;stop;customer;name;demand;lat;lon;Telefon\n")
    assert "Café Süß;12,5;" in german
    excel = client.get(f"{place}.xlsx")
    assert excel.headers["content-type"] == bodies.EXCEL
    book = openpyxl.load_workbook(io.BytesIO(excel.content))
    row = [cell.value for cell in book.active[2]]
    assert row[3:5] == ["Café Süß", 12.5] and row[-1] == "0221"
    again = client.post(
        "/instances", content=excel.content, headers={"content-type": bodies.EXCEL}
    )
    assert again.status_code == 422  # a plan is no list of customers, and that is said
    assert "\n" not in again.json()["error"]


@pytest.mark.parametrize(
    "text",
    ["/etc/passwd", "file:///etc/passwd", "../../etc/passwd", "C:\\secret.csv"],
)
def test_a_path_is_only_a_text(client, text):
    """A text that looks like a path is read as a text; no file is opened."""
    answer = client.post("/instances", json={"text": text})
    assert answer.status_code == 422
    assert "root:" not in answer.text


@pytest.mark.slow
def test_the_limits_on_instances_hold(make_client):
    """Too many customers, vehicles or seconds are a 422 that names the limit."""
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


def test_a_body_that_is_too_long_is_refused(client, monkeypatch):
    """A body over the limit is a 413, whether its length is declared or not."""
    monkeypatch.setattr(bodies, "MAX_BODY", 1000)
    kind = {"content-type": "text/csv"}
    answer = client.post("/instances", content=b"x" * 1001, headers=kind)
    assert answer.status_code == 413 and "1000 bytes" in answer.json()["error"]

    def pieces():
        for _ in range(100):
            yield b"x" * 100

    answer = client.post("/instances", content=pieces(), headers=kind)
    assert answer.status_code == 413 and "1000 bytes" in answer.json()["error"]
    monkeypatch.setattr(bodies, "MAX_BODY", 1_000_000)
    answer = client.post("/instances", content=b"x" * 1_000_001, headers=kind)
    assert "more than 1 MB" in answer.json()["error"]
    assert "fixedfleet solve" in answer.json()["error"]
    assert client.get("/health").status_code == 200


def test_a_body_that_does_not_arrive_is_not_waited_for(client, monkeypatch):
    """A client that announces a body and does not send it gets 408."""
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.2)
    address = (client.base_url.host, client.base_url.port)
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(
            b"POST /instances HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: text/csv\r\nContent-Length: 10\r\n\r\nx"
        )
        answer = b""
        while piece := connection.recv(4096):  # until the server closes the connection
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"did not arrive" in answer


def test_the_documentation_says_how_long_and_large_a_body_may_be():
    """The seconds and bytes are those of the page about the service."""
    said = f"more than {bodies.BODY_SECONDS:g} s, or is longer than 8 MB"
    page = Path(__file__).parents[2] / "docs" / "service.md"
    assert said in page.read_text(encoding="utf-8")
    assert bodies.MAX_BODY == 8_000_000


def test_a_client_that_disconnects_is_one_line_in_the_log(caplog):
    """A body that ends too early is the client's mistake, without a traceback."""
    arriving = [
        {"type": "http.request", "body": b"x", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive():
        return arriving.pop(0)

    scope = {"type": "http", "path": "/plans", "headers": [(b"host", b"127.0.0.1")]}
    with pytest.raises(ApiError, match="incomplete"):
        asyncio.run(bodies.read_body(Request(scope, receive)))
    (record,) = caplog.records
    assert "/plans: a client disconnected" in record.message and not record.exc_info


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 100\r\n\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nQQ\r\n",
    ],
)
def test_a_broken_request_leaves_no_traceback(client, caplog, rest):
    """A client that disconnects or sends a wrong chunk is a line or two in the log."""
    address = (client.base_url.host, client.base_url.port)
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(
            b"POST /plans HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: text/csv\r\n" + rest
        )
    end = time.monotonic() + 30
    while "a client disconnected" not in caplog.text and time.monotonic() < end:
        client.get("/health")
    assert 1 <= len(caplog.text.splitlines()) <= 2
    assert "Traceback" not in caplog.text


def table(customers, quoted=False):
    """A table of so many customers."""
    name = '"two\nlines"' if quoted else "a"
    rows = [f"{name},{i},{i},1" for i in range(customers)]
    head = ["# name: x", "# capacity: 5", "", "name,x,y,demand", "home,0,0,"]
    return "\n".join([*head, *rows, ",,,", ""])


def vrplib(customers, more=()):
    """A VRPLIB file of so many customers."""
    nodes = range(1, customers + 2)
    return "\n".join(
        [
            "NAME : x",
            "CAPACITY : 5",
            *more,
            "NODE_COORD_SECTION",
            *(f"{node} 0 {node}" for node in nodes),
            "DEMAND_SECTION",
            *(f"{node} {int(node > 1)}" for node in nodes),
            "DEPOT_SECTION",
            "1",
            "-1",
            "EOF",
        ]
    )


def matrix(customers):
    """An instance of distances alone, with so many customers."""
    size = customers + 1
    rows = [[0] * size for _ in range(size)]
    return json.dumps({"demands": [1] * customers, "matrix": rows})


def points(customers):
    """An instance of places, with so many customers."""
    places = [[0, i] for i in range(customers)]
    demands = [1] * customers
    return json.dumps({"depot": [0, 0], "customers": places, "demands": demands})


@pytest.mark.parametrize("make", [table, vrplib, matrix, points])
def test_an_instance_that_is_too_large_is_refused(make):
    """An instance at the limit is read, and one beyond it is refused."""
    assert read(make(40)).instance.num_customers == 40
    for customers in (41, 400):
        with pytest.raises(
            ApiError, match="too many customers: at most 40 are allowed"
        ) as refused:
            read(make(customers))
        assert refused.value.status_code == 422
