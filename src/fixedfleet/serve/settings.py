"""Where the service listens and what it allows."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path

from fixedfleet.errors import InputError, check_whole

__all__ = ["Settings", "default_folder", "is_loopback"]

_SHORTEST_TOKEN = 8


def default_folder() -> Path:
    """Where plans are kept unless told otherwise: the user's data folder."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # The specification says to ignore a path that is not absolute.
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return home / "fixedfleet"


def is_loopback(host: str) -> bool:
    """Whether a host to bind to is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Settings:
    """
    All that can be set about the service.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes any that is free.
    tokens
        Clients must show one of these. Each is a client of its own. May be left out
        only where the host is this machine itself.
    folder
        Where finished plans are kept.
    workers
        Worker processes, each with one plan at a time.
    queue
        Plans that may wait for a worker, and bodies that may wait to be read; the
        next one is answered with 503.
    jobs_per_client
        Plans of one client that may wait or be in the making; the next is a 429.
    max_customers
        Customers of an instance, and vehicles of its fleet.
    max_seconds
        Time limit of a plan.
    max_body
        Bytes of a request's body.
    body_seconds
        Time a client has to send its body.
    max_wait
        Seconds for which ``POST /plans`` waits for a plan at most.
    max_streams
        Streams of events open at a time; the next one is answered with 503.
    streams_per_client
        Those of one client; the next is a 429.
    max_connections
        Connections open at a time; requests on those beyond are answered with 503.
    keep
        Finished plans with a result that are kept, and as many without one; beyond
        that the oldest of the client that has most of them are forgotten.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    tokens: tuple[str, ...] = field(default=(), repr=False)
    folder: Path = field(default_factory=default_folder)
    workers: int = 1
    queue: int = 64
    jobs_per_client: int = 8
    max_customers: int = 2000
    max_seconds: float = 300.0
    max_body: int = 2 * 2**20
    body_seconds: float = 30.0
    max_wait: float = 30.0
    max_streams: int = 512
    streams_per_client: int = 32
    max_connections: int = 900
    keep: int = 10_000

    def __post_init__(self) -> None:
        for name in ("workers", "queue", "jobs_per_client", "max_customers"):
            check_whole(name, getattr(self, name), least=1)
        for name in ("max_body", "max_streams", "streams_per_client"):
            check_whole(name, getattr(self, name), least=1)
        for name in ("max_connections", "keep"):
            check_whole(name, getattr(self, name), least=1)
        if not 0 <= check_whole("port", self.port, least=0) < 2**16:
            raise InputError(f"port is {self.port}, not from 0 to 65535")
        for name, least in (("max_seconds", 0.1), ("body_seconds", 0.1)):
            _check_seconds(name, getattr(self, name), least)
        _check_seconds("max_wait", self.max_wait, 0.0)
        self._check_tokens()

    def _check_tokens(self) -> None:
        for token in self.tokens:
            if len(token) < _SHORTEST_TOKEN or not _sendable(token):
                raise InputError(
                    f"a token of {len(token)} characters, not at least "
                    f"{_SHORTEST_TOKEN} visible ASCII ones"
                )
        if not self.tokens and not is_loopback(self.host):
            raise InputError(
                f"host {self.host} can be reached from other machines: give --token "
                "(or FIXEDFLEET_TOKEN), or bind to 127.0.0.1"
            )


def _sendable(token: str) -> bool:
    """Whether a token can stand in a header as it is."""
    return token.isascii() and token.isprintable() and " " not in token


def _check_seconds(name: str, seconds: float, least: float) -> None:
    if not least <= seconds <= 86_400:
        raise InputError(f"{name} is {seconds:g}, not from {least:g} to 86400 s")
