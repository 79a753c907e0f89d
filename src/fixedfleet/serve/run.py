"""Listening: a server that ends in good order when it is told to."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import uvicorn

from fixedfleet.errors import InputError
from fixedfleet.serve.app import create_app
from fixedfleet.serve.process import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from fixedfleet.serve.settings import Settings

__all__ = ["Server"]

_UNREAD_SECONDS = 60  # for which an answer may lie unread, where the system can tell
_END_SECONDS = 10  # for answers under way, once the server is told to end


class Server(uvicorn.Server):
    """
    A server for one service, which listens from the moment it is made.

    :meth:`serve_forever` answers until SIGINT or SIGTERM, or until ``should_exit`` is
    set from another thread.

    Parameters
    ----------
    settings
        Where to listen and what to allow.
    trusted_proxies
        Addresses whose X-Forwarded-For is believed, with commas between them.
    on_ready
        Called with the address once the server answers.
    command
        What a worker process is started with.

    Raises
    ------
    InputError
        If the address cannot be listened at or the data folder not be used.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        trusted_proxies: str = "",
        on_ready: Callable[[str], None] | None = None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        app = create_app(settings, command=command)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=trusted_proxies or None,
            timeout_graceful_shutdown=_END_SECONDS,
            timeout_keep_alive=15,
            limit_concurrency=settings.max_connections,
            lifespan="on",
        )
        super().__init__(config)
        self._service, self._on_ready = app.state.service, on_ready
        self._socket = _listen(settings)
        try:
            self._service.open()
        except BaseException:
            self._socket.close()
            raise
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.url = f"http://{host}:{self._socket.getsockname()[1]}/"

    def serve_forever(self) -> None:
        """Answer until told to end."""
        self.run(sockets=[self._socket])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets=sockets)
        if self._on_ready is not None:
            self._on_ready(self.url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let those go who wait or follow, so that there is an end to wait for."""
        self._service.begin_stop()
        await super().shutdown(sockets=sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in good order, which is no failure; told again, end at once."""
        self.force_exit = self.should_exit
        self.should_exit = True


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
    # Connections inherit it: who takes in nothing of what is sent is hung up on.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = 1000 * _UNREAD_SECONDS
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    return listening
