"""Where the service listens and what it allows."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fixedfleet.errors import InputError, at_least, between, check_settings
from fixedfleet.workers import available_cores

__all__ = ["Settings", "default_folder", "is_loopback"]

_SHORTEST_TOKEN = 8


def default_folder() -> Path:
    """Return the user's data folder, where plans are kept by default."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a path that is not absolute.
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return home / "fixedfleet"


def is_loopback(host: str) -> bool:
    """Return whether a host can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Settings:
    """
    The options of ``fixedfleet serve``, which ``docs/service.md`` describes.

    With the token None, every local program may ask for plans. This is allowed only
    where the host is a loopback address.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, between(0, 65_535)] = 8000
    token: str | None = field(default=None, repr=False)
    data: Path = field(default_factory=default_folder)
    workers: Annotated[int, at_least(1)] = field(default_factory=available_cores)
    max_customers: Annotated[int, at_least(1)] = 10_000
    max_seconds: Annotated[float, between(0.1, 86_400)] = 300.0
    keep: Annotated[int, at_least(1)] = 10_000
    tiles: str | None = None
    attribution: str = "© OpenStreetMap contributors"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.tiles is not None:
            _check_tiles(self.tiles)
        if self.token is not None:
            _check_token(self.token)
        elif not is_loopback(self.host):
            raise InputError(
                f"host {self.host} can be reached from other machines, so a token is "
                "needed: leave --no-token out, or use the host 127.0.0.1"
            )


def _check_tiles(address: str) -> None:
    """Raise InputError unless an address can be a source of tiles."""
    parts = urlsplit(address)
    plain = re.fullmatch(r"[\w.-]+(:\d+)?", parts.netloc, re.ASCII)
    places = all(name in address for name in ("{z}", "{x}", "{y}"))
    if parts.scheme not in ("http", "https") or not plain or not places:
        raise InputError(
            f"the tiles {address!r} are not an address such as "
            "https://tile.example.org/{z}/{x}/{y}.png"
        )


def _check_token(token: str) -> None:
    """Raise InputError unless a token is long enough and fits into a header."""
    sendable = token.isascii() and token.isprintable() and " " not in token
    if len(token) < _SHORTEST_TOKEN or not sendable:
        raise InputError(
            f"the token has {len(token)} characters; it must have at least "
            f"{_SHORTEST_TOKEN}, all of them visible ASCII characters"
        )
