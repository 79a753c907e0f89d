"""The command line: its entry point. Each command has a file of its own."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fixedfleet.cli import (
    evaluate_command,
    fleet_command,
    generate_command,
    label_command,
    list_commands,
    plot_command,
    predict_command,
    serve_command,
    solve_command,
    train_command,
)
from fixedfleet.cli.console import BAD_INPUT, INTERRUPTED, say_error, warn
from fixedfleet.cli.options import Parser, option_of
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.interrupts import command_loaded
from fixedfleet.registry import load_files
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["build_parser", "main"]

_COMMANDS = (
    solve_command,
    fleet_command,
    plot_command,
    generate_command,
    label_command,
    train_command,
    predict_command,
    evaluate_command,
    serve_command,
    list_commands,
)
_COMPILING = "fixedfleet.compiling"  # the logger of the notice of compiling
_BROKEN_PIPE = 141  # the usual exit code if the reader of a pipe has ended


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run a command and return its exit code.

    Parameters
    ----------
    argv
        The arguments without the program's name. Default: those of this process.

    Returns
    -------
    int
        0 for success; 1 if a training diverged; 2 for bad input; 3 if the fleet is
        proven too small; 4 if no plan, or no verdict, was found within the time limit;
        130 after Ctrl-C.
    """
    with command_loaded():
        return _report_errors(list(sys.argv[1:] if argv is None else argv))


def _report_errors(argv: list[str]) -> int:
    """
    Run a command and return its exit code.

    Errors that the user can correct are printed in one line, without a traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show must not be an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        return _run(argv)
    except (InputError, MissingPackageError) as error:
        return say_error(str(error), BAD_INPUT)
    except BrokenPipeError:
        # Otherwise Python would print an error when it flushes the output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        message = f"{error.filename}: {error.strerror}" if known else str(error)
        return say_error(message, BAD_INPUT)
    except KeyboardInterrupt:
        return say_error("interrupted", INTERRUPTED)


def _run(argv: list[str]) -> int:
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as end:  # --help and --version exit
        return int(end.code or 0)
    with _messages_on_stderr(quiet=getattr(arguments, "quiet", False)):
        load_files(getattr(arguments, "parts", ()))
        try:
            code: int = arguments.run(arguments)
        except InputError as error:
            said = error.naming_fields(lambda field: option_of(field, arguments))
            return say_error(said, BAD_INPUT)
    sys.stdout.flush()  # a closed pipe then raises its error here, not at exit
    return code


@contextmanager
def _messages_on_stderr(*, quiet: bool) -> Iterator[None]:
    """
    Context manager that prints the package's log messages on standard error.

    They are warnings and, unless ``quiet``, the notice that code is being compiled.
    """
    logger = logging.getLogger("fixedfleet")
    compiling = logging.getLogger(_COMPILING)
    handler, level = _Messages(), compiling.level
    logger.addHandler(handler)
    if quiet:
        compiling.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        compiling.setLevel(level)


class _Messages(logging.Handler):
    """A logging handler that prints messages in the same style as commands do."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a record on standard error."""
        if record.name == _COMPILING:  # nothing that a user should worry about
            print(f"fixedfleet: {record.getMessage()}", file=sys.stderr, flush=True)
        else:
            warn(record.getMessage())


class _Version(argparse.Action):
    """
    The option --version: print the version and exit.

    With argparse's own action, every command would have to look up the version.
    """

    def __call__(
        self, parser: argparse.ArgumentParser, *_values: object, **_options: object
    ) -> None:
        print(f"fixedfleet {own_version()}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="fixedfleet",
        description="Plan tours for a fleet that cannot grow.",
        epilog="'fixedfleet COMMAND --help' lists the options of a command. Exit "
        "codes: 0 success, 1 diverged training, 2 bad input, 3 fleet proven too small, "
        "4 nothing found within the time limit, 130 interrupted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    for command in _COMMANDS:
        command.add_command(commands)
    return parser
