"""The command ``fleet``, which says whether a fleet is large enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.cli.console import IMPOSSIBLE, NOT_FOUND, printable
from fixedfleet.cli.options import add_instance, add_options, read_instance
from fixedfleet.fleet import assess_fleet

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]

_EXITS = {"feasible": 0, "impossible": IMPOSSIBLE, "undecided": NOT_FOUND}


def add_command(commands: Commands) -> None:
    """Add the command ``fleet`` to the parser."""
    parser = commands.add_parser("fleet", help="say whether the fleet suffices")
    add_instance(parser)
    add_options(
        parser,
        "--time-limit",
        help="seconds for the exact search, if it is needed (default: 1)",
    )
    add_options(parser, "--json")
    parser.set_defaults(run=_fleet)


def _fleet(arguments: Arguments) -> int:
    reading = read_instance(arguments)
    instance, notes = reading.instance, reading.notes
    verdict = assess_fleet(instance, time_limit=arguments.time_limit)
    if arguments.json:
        from fixedfleet.documents import describe_fleet, to_json

        print(to_json(describe_fleet(instance, verdict, notes, reading.doubts)), end="")
    else:
        lines = map(printable, str(verdict).splitlines())
        print(*(f"note: {note}" for note in notes), *lines, sep="\n")
    return _EXITS[verdict.status]
