"""The server, which listens, runs the application, and stops cleanly."""

from __future__ import annotations

import os
import secrets
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import uvicorn

from fixedfleet.errors import InputError
from fixedfleet.serve.app import create_app
from fixedfleet.serve.planner import compile_ahead, plan_order
from fixedfleet.serve.store import PlanStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from fixedfleet.serve.settings import Settings

__all__ = ["Server"]

MAX_CONNECTIONS = 900
# The middleware ``Guard`` gives up a client that reads nothing, but the system still
# holds data for it. Linux drops these data and the connection after this time.
_UNREAD_SECONDS = 60
_STOP_SECONDS = 10  # the time that running requests have when the server must stop


class Server(uvicorn.Server):
    """
    A server for one data folder. It listens as soon as the object exists.

    :meth:`serve_forever` answers until SIGINT or SIGTERM arrives, or until another
    thread sets ``should_exit``.

    ``on_ready`` is called once the server answers; ``url`` is the address of the page,
    without the token. For ``work`` and ``ahead`` see :func:`create_app`.

    Raises
    ------
    InputError
        If the address or the data folder cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        on_ready: Callable[[], None] | None = None,
        work: Callable[..., Any] = plan_order,
        ahead: Callable[..., Any] | None = compile_ahead,
    ) -> None:
        self._socket = _listen(settings)
        try:
            store = PlanStore(settings.data, settings.keep)
        except BaseException:
            self._socket.close()
            raise
        self._app = create_app(settings, store, work, ahead)
        # Uvicorn reads this variable. Its default would trust every local program.
        proxies = os.environ.get("FORWARDED_ALLOW_IPS", "")
        config = uvicorn.Config(
            self._app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
            timeout_graceful_shutdown=_STOP_SECONDS,
            timeout_keep_alive=15,
            limit_concurrency=MAX_CONNECTIONS,
            lifespan="on",
        )
        super().__init__(config)
        self._token, self._on_ready = settings.token, on_ready
        shown = _reachable(settings.host)
        host = f"[{shown}]" if ":" in shown else shown
        self.url = f"http://{host}:{self._socket.getsockname()[1]}/"

    def address(self, *, once: bool = False) -> str:
        """
        Return the address that opens the page, with the token if there is one.

        With ``once``, the address has a ticket instead of the token. A ticket works
        only once, so it does no harm that other users of the machine can see it on the
        command line of a browser.
        """
        if self._token is None:
            return self.url
        shown = self._token
        if once:
            shown = secrets.token_urlsafe(16)
            self._app.state.tickets.add(shown)
        return f"{self.url}?token={quote(shown, safe='')}"

    def serve_forever(self) -> None:
        """Answer requests until the server is told to stop."""
        self.run(sockets=[self._socket])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer requests, and call ``on_ready``."""
        await super().startup(sockets=sockets)
        if self._on_ready is not None:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Release all clients that wait for a plan or follow its events, then stop."""
        self._app.state.service.queue.begin_stop()
        await super().shutdown(sockets=sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop cleanly, with exit code 0; on a second signal, stop at once."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _reachable(host: str) -> str:
    """Return the address by which other machines reach a server at this host."""
    if host not in ("0.0.0.0", "::"):
        return host
    family = socket.AF_INET6 if host == "::" else socket.AF_INET
    # No packet is sent: the system only says from which address it would send one.
    far = "2001:db8::1" if host == "::" else "192.0.2.1"
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far, 9))
            address: str = probe.getsockname()[0]
            return address
    except OSError:  # no network
        return "::1" if host == "::" else "127.0.0.1"


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (settings.host, settings.port), family=family, backlog=1024
        )
    except OSError as error:
        raise InputError(
            f"cannot listen at {settings.host}, port {settings.port}: {error.strerror}"
        ) from None
    # All connections inherit this option.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = 1000 * _UNREAD_SECONDS
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    return listening
