"""``serve``: the HTTP service and its page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, require

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.serve.settings import Settings

__all__ = ["add_command"]

_TOKEN = "FIXEDFLEET_TOKEN"
_MIB = 2**20
# Options that are settings of the same name and need no change.
_AS_THEY_ARE = (
    "queue",
    "jobs_per_client",
    "max_customers",
    "max_seconds",
    "body_seconds",
    "max_wait",
    "max_streams",
    "streams_per_client",
    "max_connections",
    "keep",
)


def add_command(commands: Commands) -> None:
    """Add the commands of this file."""
    parser = commands.add_parser("serve", help="serve plans over HTTP, with a page")
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine alone")
    add("--port", type=int, default=8000, help="default: 8000; 0 takes a free one")
    add(
        "--token",
        action="append",
        metavar="T",
        help=f"clients must show it; may be given again (default: {_TOKEN}, which does "
        "not show in the list of processes)",
    )
    add("--data", metavar="FOLDER", help="where plans are kept (default: the user's)")
    add("--workers", type=int, metavar="K", help="processes (default: one a core)")
    add("--queue", type=int, metavar="N", help="plans that may wait (default: 64)")
    add("--jobs-per-client", type=int, metavar="N", help="default: 8")
    add("--max-customers", type=int, metavar="N", help="default: 2000")
    add("--max-seconds", type=float, metavar="S", help="a plan may take (default: 300)")
    add("--max-body", type=float, metavar="MIB", help="of a request (default: 2)")
    add("--body-seconds", type=float, metavar="S", help="to send it (default: 30)")
    add("--max-wait", type=float, metavar="S", help="POST /plans waits (default: 30)")
    add("--max-streams", type=int, metavar="N", help="of events (default: 512)")
    add("--streams-per-client", type=int, metavar="N", help="default: 32")
    add("--max-connections", type=int, metavar="N", help="default: 900")
    add("--keep", type=int, metavar="N", help="plans that are kept (default: 10000)")
    add(
        "--trust-proxy",
        default="",
        metavar="ADDRESSES",
        help="proxies whose X-Forwarded-For is believed",
    )
    add("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=_serve)


def _serve(arguments: Arguments) -> int:
    require("fastapi", "serve", "the service")
    require("uvicorn", "serve", "the service")
    from fixedfleet.serve.run import Server

    settings = _settings(arguments)

    def ready(url: str) -> None:
        print(f"fixedfleet serves at {url} (Ctrl-C ends it)", flush=True)
        print(f"plans are kept in {settings.folder}", flush=True)
        if settings.tokens:
            print("the page needs a token: add #token=… to its address", flush=True)
        if arguments.open:
            import webbrowser

            webbrowser.open(url)  # without the token: it would show among processes

    server = Server(settings, trusted_proxies=arguments.trust_proxy, on_ready=ready)
    server.serve_forever()
    return 0


def _settings(arguments: Arguments) -> Settings:
    """What the options say; what they do not say is left to the settings."""
    from fixedfleet.serve.settings import Settings
    from fixedfleet.workers import available_cores

    given = {name: getattr(arguments, name) for name in _AS_THEY_ARE}
    if arguments.data is not None:
        given["folder"] = Path(arguments.data)
    if arguments.max_body is not None:
        if not 0 < arguments.max_body < 2**20:
            raise InputError(f"--max-body {arguments.max_body:g}, not a size in MiB")
        given["max_body"] = int(arguments.max_body * _MIB)
    workers = arguments.workers
    return Settings(
        host=arguments.host,
        port=arguments.port,
        tokens=tuple(arguments.token or filter(None, [os.environ.get(_TOKEN)])),
        workers=available_cores() if workers is None else workers,
        **{name: value for name, value in given.items() if value is not None},
    )
