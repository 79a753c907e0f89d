"""The command line: parses and prints. One file for each group of commands."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fixedfleet.cli import (
    data,
    evaluation,
    labelling,
    networks,
    picture,
    planning,
    service,
)
from fixedfleet.cli.common import BAD_INPUT, INTERRUPTED, Parser, say_error
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.version import own_version

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["main"]

_BROKEN_PIPE = 141  # what a shell says of a program whose reader went away


def main(argv: Sequence[str] | None = None) -> int:
    """
    Do what the command line says.

    Parameters
    ----------
    argv
        The arguments without the program's name. Default: those of this process.

    Returns
    -------
    int
        0 if all went well; 2 for bad input; 3 where the fleet is proven too small; 4
        where no plan, or no verdict, was found in time; 130 after Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name the terminal cannot show is no bug
            stream.reconfigure(errors="replace")
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except (InputError, MissingPackageError) as error:
        return say_error(str(error), BAD_INPUT)
    except BrokenPipeError:
        # Else the interpreter's last flush would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        said = f"{error.filename}: {error.strerror}" if known else str(error)
        return say_error(said, BAD_INPUT)
    except KeyboardInterrupt:
        return say_error("interrupted", INTERRUPTED)


def _run(argv: list[str]) -> int:
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as end:  # --help and --version have printed what was asked
        return int(end.code or 0)
    code: int = arguments.run(arguments)
    sys.stdout.flush()  # a closed pipe shows here, not when the interpreter ends
    return code


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="fixedfleet",
        description="Plan tours for a fleet that cannot grow.",
        epilog="'fixedfleet COMMAND --help' says more. Exit codes: 0 all well, 2 bad "
        "input, 3 fleet proven too small, 4 nothing found in time, 130 interrupted.",
    )
    parser.add_argument(
        "--version", action="version", version=f"fixedfleet {own_version()}"
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    groups = (planning, picture, data, labelling, networks, evaluation, service)
    for group in groups:
        group.add_commands(commands)
    return parser
