"""Settings check themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixedfleet.data_folder import default_folder
from fixedfleet.errors import InputError
from fixedfleet.serve.settings import Settings
from fixedfleet.workers import available_cores


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workers": 0}, "workers"),
        ({"workers": 1.5}, "workers"),
        ({"keep": 0}, "keep"),
        ({"max_customers": 0}, "max_customers"),
        ({"port": 70_000}, "port"),
        ({"max_seconds": float("inf")}, "max_seconds"),
        ({"tiles": "https://tile.example.org/{z}/{x}.png"}, "{y}"),
        ({"tiles": "tile.example.org/{z}/{x}/{y}.png"}, "not an address"),
        ({"tiles": "https://a.org; x/{z}/{x}/{y}"}, "not an address"),
        ({"tiles": "https://[::1/{z}/{x}/{y}"}, "not an address"),
        ({"token": "short"}, "5 characters"),
        ({"token": "with a blank"}, "visible ASCII"),
        ({"host": "0.0.0.0"}, "so a token is needed"),
        ({"host": "::"}, "so a token is needed"),
        ({"host": "example.org"}, "so a token is needed"),
    ],
)
def test_wrong_and_unsafe_settings_are_refused(changes, said):
    """A setting that is wrong or unsafe is refused, and the message names it."""
    with pytest.raises(InputError, match=said):
        Settings(**changes)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_a_loopback_host_needs_no_token(host):
    """A host that only this machine can reach may go without a token."""
    assert Settings(host=host).token is None


def test_with_a_token_any_host_is_allowed():
    """With a token the server may listen anywhere; the repr does not show the token."""
    settings = Settings(host="0.0.0.0", token="long-enough")
    assert "long-enough" not in repr(settings)


def test_there_is_one_worker_per_core():
    """The default number of workers is the number of cores."""
    assert Settings().workers == available_cores()


def test_the_data_folder_follows_the_xdg_variable(monkeypatch):
    """XDG_DATA_HOME says where data is kept; a relative path is ignored."""
    monkeypatch.setenv("XDG_DATA_HOME", "/some/where")
    assert default_folder() == Path("/some/where/fixedfleet")
    monkeypatch.setenv("XDG_DATA_HOME", "where")
    assert default_folder() == Path.home() / ".local" / "share" / "fixedfleet"
