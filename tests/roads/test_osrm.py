"""A server that is missing, slow or another one is named in one sentence."""

from __future__ import annotations

import socket

import pytest

import fixedfleet as ff
from fixedfleet.roads import osrm as osrm_client


@pytest.fixture(autouse=True)
def kept_in(tmp_path, monkeypatch):
    """Keep roads in a folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def refusal(day: ff.Instance, url: str) -> str:
    """Return why roads are refused."""
    with pytest.raises(ff.InputError) as error:
        ff.with_roads(day, url)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("url", ["localhost:5000", "ftp://a", "http://", "http://a/?b"])
def test_an_address_that_is_none_is_refused(day, url):
    """What cannot be the address of a server is refused before anything is asked."""
    said = refusal(day, url)
    assert repr(url) in said and "such as http://localhost:5000" in said


def test_no_server_is_named(day):
    """If nothing listens at an address, the address is named, and what to do."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        said = refusal(day, url)
    assert f"no OSRM server answers at {url} (Connection refused): start it" in said


def test_an_unknown_host_is_named(day):
    """A host that does not exist is said to be unknown."""
    said = refusal(day, "http://no-such-host.invalid")
    assert "no OSRM server answers at http://no-such-host.invalid" in said


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>hello</html>", 200),
        (b"<html>not found</html>", 404),
        (b"[]", 200),
        (b'{"code": "Ok"}', 200),
        (b'{"code": "Ok", "distances": [[1]], "durations": [], "sources": []}', 200),
    ],
)
def test_another_server_is_recognised(day, answering, body, status):
    """A server that answers anything else is said not to be an OSRM server."""
    with answering(body, status) as url:
        said = refusal(day, url)
    assert f"{url} does not answer as an OSRM server does" in said
    assert ("(status 404)" in said) == (status == 404)


def test_what_a_server_refuses_is_quoted(day, answering):
    """The message of a server that refuses is part of the sentence."""
    body = b'{"code": "InvalidQuery", "message": "Query string malformed"}'
    with answering(body, 400) as url:
        said = refusal(day, url)
    assert said == f"the OSRM server {url} refuses: Query string malformed"


def test_a_slow_server_is_given_up(day, answering, monkeypatch):
    """A server that does not answer in time is named, with the time."""
    monkeypatch.setattr(osrm_client, "_SECONDS", 0.2)
    with answering(seconds=30.0) as url:
        said = refusal(day, url)
    assert f"the OSRM server {url} did not answer within 0.2 s" in said
