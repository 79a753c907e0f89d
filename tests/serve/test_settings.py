"""Settings check themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixedfleet.errors import InputError
from fixedfleet.serve.settings import Settings, default_folder


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workers": 0}, "workers"),
        ({"queue": 1.5}, "queue"),
        ({"port": 70_000}, "port"),
        ({"max_seconds": float("inf")}, "max_seconds"),
        ({"max_wait": -1}, "max_wait"),
        ({"max_body": 0}, "max_body"),
        ({"max_streams": 0}, "max_streams"),
        ({"streams_per_client": 0}, "streams_per_client"),
        ({"max_connections": 0}, "max_connections"),
        ({"body_seconds": 0}, "body_seconds"),
        ({"tokens": ("short",)}, "5 characters"),
        ({"tokens": ("with a blank",)}, "visible ASCII"),
        ({"host": "0.0.0.0"}, "--token"),
        ({"host": "::"}, "--token"),
        ({"host": "example.org"}, "--token"),
    ],
)
def test_what_cannot_be_is_refused(changes, said):
    """A setting that makes no sense, or is not safe, is refused with its name."""
    with pytest.raises(InputError, match=said):
        Settings(**changes)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_alone_needs_no_token(host):
    """A host that only this machine reaches may do without a token."""
    assert Settings(host=host).tokens == ()


def test_a_token_opens_other_hosts_and_is_not_shown():
    """With a token any host may be bound to; the token is not in the repr."""
    settings = Settings(host="0.0.0.0", tokens=("long-enough",))
    assert "long-enough" not in repr(settings)


def test_the_data_folder_follows_the_users_wish(monkeypatch):
    """XDG_DATA_HOME says where data lies; what is no whole path is ignored."""
    monkeypatch.setenv("XDG_DATA_HOME", "/some/where")
    assert default_folder() == Path("/some/where/fixedfleet")
    monkeypatch.setenv("XDG_DATA_HOME", "where")
    assert default_folder() == Path.home() / ".local" / "share" / "fixedfleet"
