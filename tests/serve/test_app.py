"""The application: its page and its description."""

from __future__ import annotations

import re

import pytest


def test_the_page_is_served(client):
    """The files of the page have their content types."""
    assert "<title>fixedfleet</title>" in client.get("/").text
    answer = client.get("/static/app.js")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/static/app.js"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"a" , W/{}', "*"])
def test_a_file_that_the_browser_has_is_not_sent_again(client, path, form):
    """A browser with a current copy gets 304; its tag may be weak or one of several."""
    tag = client.get(path).headers["etag"]
    again = client.get(path, headers={"if-none-match": form.format(tag)})
    assert again.status_code == 304 and not again.content
    other = client.get(path, headers={"if-none-match": '"other", W/"more"'})
    assert other.status_code == 200


def test_no_page_loads_from_another_server(client):
    """The pages that FastAPI offers for its description do not exist."""
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404


def test_every_operation_is_described(client):
    """The description names each operation, its refusals and its documents."""
    description = client.get("/openapi.json").json()
    operations = {
        (path, method): operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }
    assert set(operations) == {
        ("/plans", "post"),
        ("/plans", "get"),
        ("/plans/{id}", "get"),
        ("/plans/{id}", "delete"),
        ("/plans/{id}", "patch"),
        ("/plans/{id}/events", "get"),
        ("/places", "put"),
        ("/plans/{id}/lines", "get"),
        ("/plans/{id}/links", "get"),
        ("/plans/{id}/plan.{format}", "get"),
        ("/plans/{id}/tours", "put"),
        ("/settings", "get"),
        ("/instances", "post"),
        ("/examples", "get"),
        ("/health", "get"),
    }
    for operation in operations.values():
        assert operation["summary"] and operation["description"]
        assert {"200", "4XX", "5XX"} <= operation["responses"].keys()
        assert "Retry-After" in operation["responses"]["5XX"]["headers"]
    assert "HTTPValidationError" not in description["components"]["schemas"]
    known = set(description["components"]["schemas"])
    used = set(re.findall(r"#/components/schemas/(\w+)", str(description)))
    assert used <= known
    assert "$defs" not in str(description)


def test_the_token_is_described():
    """With a token, the description says that all operations but /health need it."""
    from fixedfleet.serve.app import create_app
    from fixedfleet.serve.settings import Settings

    description = create_app(Settings(token="a-token-of-some-length"), None).openapi()
    assert description["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert description["paths"]["/plans"]["get"]["security"] == [{"token": []}]
    assert "security" not in description["paths"]["/health"]["get"]
    description = create_app(Settings(), None).openapi()
    assert "security" not in description["paths"]["/plans"]["get"]
