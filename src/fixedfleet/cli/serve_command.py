"""The command ``serve``, which starts the HTTP service and its page."""

from __future__ import annotations

import os
import secrets
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.cli.options import add_options
from fixedfleet.errors import require

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]

_TOKEN = "FIXEDFLEET_TOKEN"


def add_command(commands: Commands) -> None:
    """Add the command ``serve`` to the parser."""
    parser = commands.add_parser("serve", help="start the page and the HTTP service")
    add = parser.add_argument
    add(
        "--host",
        help="where to listen (default: 127.0.0.1, which only this machine can reach)",
    )
    add("--port", type=int, help="port; 0 takes a free one (default: 8000)")
    add(
        "--no-token",
        action="store_true",
        help="ask for no token; only if no other machine can reach the host (default: "
        f"the token in the variable {_TOKEN}, else a new one, which is printed)",
    )
    add("--data", type=Path, metavar="FOLDER", help="folder in which plans are kept")
    add(
        "--workers",
        type=int,
        metavar="K",
        help="worker processes (default: one per core)",
    )
    add(
        "--max-customers",
        type=int,
        metavar="N",
        help="largest number of customers of an instance (default: 10000)",
    )
    add(
        "--max-seconds",
        type=float,
        metavar="S",
        help="longest time limit of a plan (default: 300)",
    )
    add("--keep", type=int, metavar="N", help="finished plans to keep (default: 10000)")
    add(
        "--tiles",
        metavar="URL",
        help="street tiles beneath the plans, as https://HOST/{z}/{x}/{y}.png "
        "(default: none); the browser loads them from that host",
    )
    add(
        "--attribution",
        metavar="TEXT",
        help="copyright notice of the tiles (default: © OpenStreetMap contributors)",
    )
    add_options(
        parser,
        "--roads",
        help="address of an OSRM server; plans are then by road, not by straight lines",
    )
    add_options(
        parser,
        "--geocoder",
        help="address of a Nominatim server; tables may then have addresses instead of "
        "latitudes and longitudes",
    )
    add_options(parser, "--geocoder-pause")
    add("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=_serve)


def _serve(arguments: Arguments) -> int:
    require("fastapi", "serve", "the service")
    require("uvicorn", "serve", "the service")
    from fixedfleet.serve.server import Server
    from fixedfleet.serve.settings import Settings

    # Other users of the machine can see a command line, so the token is not an option.
    # Every other setting is an option of the same name, and None if it is not given.
    arguments.token = None
    if not arguments.no_token:
        arguments.token = os.environ.get(_TOKEN) or secrets.token_urlsafe(24)
    options = {known.name: getattr(arguments, known.name) for known in fields(Settings)}
    given = {name: value for name, value in options.items() if value is not None}
    settings = Settings(**given)

    def ready() -> None:
        print(f"fixedfleet serves at {server.address()} (Ctrl-C ends it)", flush=True)
        print(f"plans are kept in {settings.data}", flush=True)
        if not arguments.no_token and not os.environ.get(_TOKEN):
            print(f"set {_TOKEN} to keep the token at the next start", flush=True)
        if arguments.open:
            import webbrowser

            webbrowser.open(server.address(once=True))

    server = Server(settings, on_ready=ready)
    server.serve_forever()
    return 0
