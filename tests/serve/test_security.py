"""Who may use the service, and the headers that protect browsers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

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


# The guard alone, without a server


OWN = "127.0.0.1:8000"
EVIL = {"origin": "https://evil.example"}
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}


def ask(guard, path="/plans", query="", method="GET", scheme="http", **headers):
    """Status and headers of the guard's answer to a request."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [
            (name.replace("_", "-").encode(), value.encode())
            for name, value in ({"host": OWN} | headers).items()
        ],
        "scheme": scheme,
        "server": ("127.0.0.1", 8000),
    }
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(guard(scope, None, send))
    start = messages[0]
    return start["status"], {k.decode(): v.decode() for k, v in start["headers"]}


@pytest.fixture
def guard():
    """A guard with a token, before an app that answers everything."""
    return Guard(answer_everything, TOKEN, set())


async def answer_everything(scope, receive, send):
    """Answer as for a file of the page, or as for a document."""
    tag = [(b"etag", b"1")] if scope["path"].startswith("/static/") else []
    await send({"type": "http.response.start", "status": 200, "headers": tag})


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/health", 200),
        ("/openapi.json", 200),
        ("/favicon.ico", 200),
        ("/static/page.js", 200),
        ("/static", 401),
        ("/plans", 401),
        ("/plans/static/", 401),
    ],
)
def test_what_needs_a_token(guard, path, status):
    """The page itself and the service's description are open, all else is not."""
    assert ask(guard, path)[0] == status
    assert ask(guard, path, authorization=f"Bearer {TOKEN}")[0] == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN} ", 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer", 401),
        (TOKEN, 401),
    ],
)
def test_how_a_token_is_shown(guard, header, status):
    """The scheme is Bearer in any case of letters; a refusal names it."""
    found, headers = ask(guard, authorization=header)
    assert found == status
    if status == 401:
        assert headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie_of_a_login(guard, scheme):
    """The cookie opens this port alone, and by https it is for https alone."""
    status, headers = ask(guard, "/", f"token={TOKEN}", scheme=scheme)
    assert (status, headers["location"]) == (303, "./")
    value, *attributes = headers["set-cookie"].split("; ")
    assert ("Secure" in attributes) == (scheme == "https")
    assert {"HttpOnly", "SameSite=strict"} <= {*attributes}
    assert value.startswith("fixedfleet-8000=")
    assert ask(guard, cookie=value)[0] == 200
    assert ask(guard, cookie=value.replace("8000", "8001"))[0] == 401
    assert ask(guard, cookie=value[:-1])[0] == 401
    assert ask(guard, "/", "token=wrong")[0] == 401
    # Browsers send the cookie for pages of other sites, too.
    assert ask(guard, cookie=value, origin=f"{scheme}://{OWN}")[0] == 200
    assert ask(guard, cookie=value, **EVIL)[0] == 403
    # They do not know the token.
    assert ask(guard, authorization=f"Bearer {TOKEN}", **EVIL)[0] == 200


def test_the_cookie_of_one_token_does_not_open_a_server_with_another():
    """Nobody can make a cookie without the token; a login there is worth nothing."""
    other = Guard(answer_everything, "another-token-of-some-length", set())
    _, headers = ask(other, "/", "token=another-token-of-some-length")
    cookie = headers["set-cookie"].partition(";")[0]
    assert ask(other, cookie=cookie)[0] == 200
    assert ask(Guard(answer_everything, TOKEN, set()), cookie=cookie)[0] == 401


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({}, 200),
        ({"method": "POST"}, 200),
        ({"host": "localhost:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"host": "evil.example"}, 403),
        ({"origin": f"http://{OWN}"}, 200),
        (EVIL, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
        (LINK, 200),
        ({**LINK, "method": "POST"}, 403),
    ],
)
def test_without_a_token_this_machine_may_ask(request_, status):
    """Programs of this machine and links may ask, pages of other sites may not."""
    guard = Guard(answer_everything, None, set())
    assert ask(guard, **request_)[0] == status


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"host": "e" * 80}, f"host {'e' * 60!r} is not this machine: use 127.0.0.1"),
        ({"origin": "o" * 80}, f"a page of {'o' * 60!r} may not use this server"),
    ],
)
def test_a_refusal_repeats_60_characters(headers, said):
    """A header may be long, and a message is short."""
    with pytest.raises(security.ApiError) as caught:
        Guard(None, None, set())._check(
            {
                "type": "http",
                "path": "/",
                "headers": [
                    (name.encode(), value.encode())
                    for name, value in ({"host": OWN} | headers).items()
                ],
            }
        )
    assert caught.value.status_code == 403
    assert said in str(caught.value)


def test_files_may_be_kept_and_documents_may_not(guard):
    """A browser asks whether a file of the page has changed, and keeps nothing else."""
    shown = {"authorization": f"Bearer {TOKEN}"}
    assert ask(guard, "/static/page.js")[1]["cache-control"] == "no-cache"
    assert ask(guard, **shown)[1]["cache-control"] == "no-store"


def test_what_is_no_request_passes():
    """Messages about the life of the server reach the app as they are."""
    seen = []

    async def app(scope, receive, send):
        seen.append((scope, send))

    asyncio.run(Guard(app, TOKEN, set())({"type": "lifespan"}, None, "send"))
    assert seen == [({"type": "lifespan"}, "send")]


def test_the_documentation_says_when_clients_are_disconnected():
    """The seconds are those of the page about the service."""
    said = (
        f"A client that reads nothing for {security.SEND_SECONDS:g} s is disconnected"
    )
    page = Path(__file__).parents[2] / "docs" / "service.md"
    assert said in page.read_text(encoding="utf-8")
