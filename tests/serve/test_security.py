"""Who may ask, how much may be sent, and what browsers are told."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from fixedfleet.serve.errors import Mistakes
from fixedfleet.serve.security import SafeHeaders

TOKEN = "a-token-of-some-length"


@pytest.mark.parametrize(
    "path", ["/", "/health", "/plans/none", "/static/none.js", "/nowhere", "/examples"]
)
def test_every_answer_has_the_headers_that_browsers_honour(client, path):
    """Pages, documents and refusals alike forbid inline script, frames, sniffing."""
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


@pytest.fixture(scope="module")
def guarded(make_client):
    """A client without a token to a service that wants one."""
    with make_client(tokens=(TOKEN,)) as client:
        yield client


@pytest.mark.parametrize(
    "header",
    [
        None,
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer ä",
    ],
)
def test_without_the_token_nothing_is_told(guarded, header):
    """Every operation but signs of life is a 401 without the right token."""
    headers = {} if header is None else {"authorization": header.encode()}
    for method, path in (
        ("GET", "/plans"),
        ("POST", "/plans"),
        ("POST", "/instances"),
        ("DELETE", "/plans/x"),
        ("GET", "/metrics"),
        ("GET", "/examples"),
        ("GET", "/nowhere"),
        ("GET", "/plans/"),
    ):
        answer = guarded.request(method, path, headers=headers)
        assert answer.status_code == 401, (path, header)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text


def test_with_the_token_all_is_open(guarded):
    """The token opens every operation; page and health need none."""
    headers = {"authorization": f"bearer {TOKEN}"}
    assert guarded.get("/plans", headers=headers).status_code == 200
    for path in ("/", "/health", "/openapi.json"):
        assert guarded.get(path).status_code == 200
    description = guarded.get("/openapi.json").json()
    assert description["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "[::1"},
        {"host": "192.168.1.2:8000"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:9"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_pages_of_other_sites_may_not_ask(client, order, headers):
    """What another site makes the user's browser send is refused with 403."""
    answer = client.post(
        "/plans",
        content=json.dumps(order()),
        headers={"content-type": "text/plain", **headers},
    )
    assert answer.status_code == 403, answer.text
    assert answer.json()["error"]


def test_the_page_itself_may_ask(client):
    """The page's own requests, and links to the page, go through."""
    own = str(client.base_url).rstrip("/")
    same = {"origin": own, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
    assert client.get("/plans", headers=same).status_code == 200
    port = client.base_url.port
    assert client.get("/", headers={"host": f"localhost:{port}"}).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200


def test_a_body_that_is_too_long_is_refused(make_client):
    """A body over the limit is a 413, whether its length is told or it just comes."""
    with make_client(max_body=1000) as client:
        kind = {"content-type": "text/csv"}
        answer = client.post("/instances", content=b"x" * 1001, headers=kind)
        assert answer.status_code == 413 and "1000 bytes" in answer.json()["error"]

        def pieces():
            for _ in range(100):
                yield b"x" * 100

        answer = client.post("/instances", content=pieces(), headers=kind)
        assert answer.status_code == 413 and "1000 bytes" in answer.json()["error"]
        assert client.get("/health").status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(make_client):
    """A client that promises a body and sends none is told 408 and hung up on."""
    with make_client(body_seconds=0.2) as client:
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(
                b"POST /instances HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Content-Type: text/csv\r\nContent-Length: 10\r\n\r\nx"
            )
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"did not arrive" in answer


@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py",
        "/static/..%2fsettings.py",
        "/static/%2e%2e/settings.py",
        "/static/settings.py",
        "/static//etc/passwd",
        "/static/%00",
        "/examples/..%2f..%2fsettings",
        "/examples/%2fetc%2fpasswd",
        "/plans/..%2f..%2fetc%2fpasswd",
        "/plans/x/plan.%2e%2e",
    ],
)
def test_no_path_leads_out(client, path):
    """Paths that try to leave the page's folder find nothing."""
    answer = client.get(path)
    assert answer.status_code in (404, 422)
    assert set(answer.json()) <= {"error", "where"}


def test_a_mistake_of_the_server_tells_nothing_of_it(caplog):
    """An error in the server is a 500 with headers, a log entry, and no details."""

    async def broken(scope, receive, send):
        raise RuntimeError("the secret")

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    asyncio.run(SafeHeaders(Mistakes(broken))(scope, None, send))
    assert sent[0]["status"] == 500
    assert b"x-content-type-options" in dict(sent[0]["headers"])
    assert b"secret" not in sent[1]["body"] and "the secret" in caplog.text
