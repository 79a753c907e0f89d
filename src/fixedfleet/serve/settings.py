"""The settings of the service: where it listens, and what it allows."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003  # `check_settings` needs it at run time
from typing import Annotated
from urllib.parse import urlsplit

from fixedfleet import addresses
from fixedfleet.data_folder import default_folder
from fixedfleet.errors import InputError, at_least, between, check_settings
from fixedfleet.roads.osrm import check_url
from fixedfleet.workers import available_cores

__all__ = ["Settings", "is_loopback"]

_SHORTEST_TOKEN = 8


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

    If the token is None, every local program may ask for plans. This is allowed only if
    the host is a loopback address.
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
    roads: str | None = None
    geocoder: str | None = None
    geocoder_pause: Annotated[float, between(0, 60)] = addresses.PAUSE

    def __post_init__(self) -> None:
        check_settings(self)
        if self.tiles is not None:
            _check_tiles(self.tiles)
        if self.roads is not None:
            check_url(self.roads)
        if self.geocoder is not None:
            addresses.check_url(self.geocoder)
        if self.token is not None:
            _check_token(self.token)
        elif not is_loopback(self.host):
            raise InputError(
                f"host {self.host} can be reached from other machines, so a token is "
                "needed: leave --no-token out, or use the host 127.0.0.1"
            )


def _check_tiles(address: str) -> None:
    """Raise InputError unless an address is a URL of map tiles."""
    try:
        parts = urlsplit(address)
    except ValueError:  # an incomplete IPv6 address
        parts = urlsplit("")
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
