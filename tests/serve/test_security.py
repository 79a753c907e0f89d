"""Who may use the service, and the headers that protect browsers."""

from __future__ import annotations

import asyncio
import json

import pytest

from fixedfleet.serve import security
from fixedfleet.serve.security import Guard, safe_headers

TOKEN = "a-token-of-some-length"
SAME = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}


@pytest.mark.parametrize(
    "path", ["/", "/health", "/plans/none", "/static/none.js", "/nowhere", "/examples"]
)
def test_every_answer_has_protective_headers(client, path):
    """Pages, documents and refusals forbid inline scripts, frames and sniffing."""
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == ("no-cache" if path == "/" else "no-store")
    assert "server" not in headers


def test_tiles_open_the_policy_for_their_host_alone():
    """With street tiles, pictures of that host are allowed and nothing else."""
    policy = safe_headers()["content-security-policy"]
    opened = safe_headers("https://a.org:8/{z}/{x}/{y}.png")["content-security-policy"]
    assert opened == policy.replace("blob:", "blob: https://a.org:8")


@pytest.fixture(scope="module")
def guarded(make_client):
    """A client without a token to a service that needs one."""
    with make_client(token=TOKEN) as client:
        yield client


@pytest.mark.slow
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
    """Every operation except signs of life answers 401 without the right token."""
    headers = {} if header is None else {"authorization": header.encode()}
    for method, path in (
        ("GET", "/plans"),
        ("POST", "/plans"),
        ("POST", "/instances"),
        ("DELETE", "/plans/x"),
        ("GET", "/plans/x/events"),
        ("GET", "/plans/x/plan.csv"),
        ("GET", "/examples"),
        ("GET", "/nowhere"),
        ("GET", "/plans/"),
    ):
        answer = guarded.request(method, path, headers=headers)
        assert answer.status_code == 401, (path, header)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text


@pytest.mark.slow
def test_the_token_opens_every_operation(guarded):
    """With the token all operations answer; page, health and description need none."""
    headers = {"authorization": f"bearer {TOKEN}"}
    assert guarded.get("/plans", headers=headers).status_code == 200
    for path in ("/", "/static/app.js", "/health", "/openapi.json"):
        assert guarded.get(path).status_code == 200


def log_in(client, token=TOKEN):
    """Open the printed address; return the answer and the header with its cookie."""
    answer = client.get("/", params={"token": token})
    client.cookies.clear()
    return answer, {"cookie": answer.headers.get("set-cookie", "").partition(";")[0]}


@pytest.mark.slow
def test_the_printed_address_sets_a_cookie(guarded):
    """The printed address sets a safe cookie and leads to one without the token."""
    answer, cookie = log_in(guarded)
    assert answer.status_code == 303 and answer.headers["location"] == "./"
    attributes = answer.headers["set-cookie"].lower()
    assert "httponly" in attributes and "samesite=strict" in attributes
    assert TOKEN not in attributes
    assert guarded.get("/plans", headers={**cookie, **SAME}).status_code == 200
    assert guarded.get("/plans", headers=cookie).status_code == 200
    for wrong in ("", "no-token-of-this-server", "ä"):
        answer, cookie = log_in(guarded, wrong)
        assert "set-cookie" not in answer.headers
        assert answer.status_code == (401 if wrong else 200)
    forged = {"cookie": f"fixedfleet-{guarded.base_url.port}={TOKEN}"}
    assert guarded.get("/plans", headers=forged).status_code == 401


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_another_page_cannot_use_the_cookie(guarded, order, headers):
    """A page on another port of the host gets 403 although browsers send the cookie."""
    _, cookie = log_in(guarded)
    answer = guarded.post("/plans", json=order(), headers={**cookie, **headers})
    assert answer.status_code == 403, answer.text


@pytest.mark.parametrize("token", ["a+b+c+d+e", "a%2Bb%26c", "100%=sure;", 'a"b,c\\d'])
def test_a_token_may_have_any_visible_character(token):
    """What the printed address shows is the token that the guard compares."""
    from urllib.parse import quote

    guard = Guard(None, token, set())
    scope = {
        "type": "http",
        "path": "/",
        "query_string": f"token={quote(token, safe='')}".encode(),
        "headers": [],
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
    }
    assert guard._check(scope).status_code == 303


def test_a_ticket_works_once():
    """A ticket opens the page one time in place of the token."""
    tickets = set()
    guard = Guard(None, TOKEN, tickets)
    tickets.add("a-ticket")
    scope = {"scheme": "http", "server": ("127.0.0.1", 8000)}
    assert guard._log_in(scope, "a-ticket").status_code == 303
    with pytest.raises(security.ApiError, match="not the token"):
        guard._log_in(scope, "a-ticket")


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
    """A request that another site makes the user's browser send gets 403."""
    answer = client.post(
        "/plans",
        content=json.dumps(order()),
        headers={"content-type": "text/plain", **headers},
    )
    assert answer.status_code == 403, answer.text
    assert answer.json()["error"]


def test_the_page_itself_may_ask(client):
    """The page's own requests, and links to the page, are answered."""
    own = str(client.base_url).rstrip("/")
    same = {"origin": own, **SAME}
    assert client.get("/plans", headers=same).status_code == 200
    port = client.base_url.port
    assert client.get("/", headers={"host": f"localhost:{port}"}).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200


def test_a_client_that_reads_nothing_is_disconnected(caplog, monkeypatch):
    """A stream whose client reads nothing ends, and so does what produced it."""
    monkeypatch.setattr(security, "SEND_SECONDS", 0.05)
    ended = []

    async def events(scope, receive, send):
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        finally:
            ended.append(True)

    async def never(*_message):
        await asyncio.Event().wait()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/plans/x/events",
        "headers": [(b"host", b"127.0.0.1")],
    }
    asyncio.run(Guard(events, None, set())(scope, never, never))
    assert ended and "reads nothing" in caplog.text
