"""A request that is refused gets a status and one sentence."""

from __future__ import annotations

import asyncio
import sqlite3

import httpx
import pytest
from fastapi import FastAPI

from fixedfleet.serve.refusals import add_handlers
from fixedfleet.serve.security import safe_headers
from fixedfleet.serve.store import PlanStore


def test_an_unknown_path_is_named(client):
    """A path that does not exist is a 404 that names it."""
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert answer.json() == {"error": "there is nothing at /nowhere"}


def test_an_unknown_method_is_named(client):
    """A method that a path does not accept is a 405 that names both."""
    answer = client.put("/plans")
    assert answer.status_code == 405 and "PUT" in answer.json()["error"]
    assert answer.headers["allow"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py",
        "/static/..%2fsettings.py",
        "/static/%2e%2e/settings.py",
        "/static/settings.py",
        "/static//etc/passwd",
        "/static/%00",
        "/plans/..%2f..%2fetc%2fpasswd",
        "/plans/x/plan.%2e%2e",
    ],
)
def test_no_path_leads_out_of_the_page(client, path):
    """Paths that try to leave the folder of the page find nothing."""
    answer = client.get(path)
    assert answer.status_code in (404, 422)
    assert set(answer.json()) <= {"error", "where"}


def test_an_unexpected_error_tells_no_details():
    """An error in the server is a 500 with safe headers and no details."""
    app = FastAPI()
    add_handlers(app, safe_headers())

    @app.get("/")
    def broken():
        raise RuntimeError("the secret")

    async def ask(**options):
        transport = httpx.ASGITransport(app, **options)
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.get("http://127.0.0.1/")

    answer = asyncio.run(ask(raise_app_exceptions=False))
    assert answer.status_code == 500 and "its log says why" in answer.json()["error"]
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    with pytest.raises(RuntimeError, match="the secret"):  # uvicorn writes the log
        asyncio.run(ask())


def test_a_store_that_cannot_be_read_is_a_503(client, order, monkeypatch):
    """If the disk fails, clients are told when to ask again, and no details."""
    id = client.post("/plans", json=order()).json()["id"]

    def fail(*_values):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(PlanStore, "_read", fail)
        for path in ("/plans", f"/plans/{id}", f"/plans/{id}/events"):
            answer = client.get(path)
            assert answer.status_code == 503 and answer.headers["retry-after"]
            assert "disk" not in answer.json()["error"]
    assert client.get(f"/plans/{id}").status_code == 200
