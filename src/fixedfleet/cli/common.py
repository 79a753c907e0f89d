"""What the commands share: the parser, options of reading, notes and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args

from fixedfleet.distances import Rounding
from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance

__all__ = [
    "BAD_INPUT",
    "IMPOSSIBLE",
    "INTERRUPTED",
    "NOT_FOUND",
    "Arguments",
    "Commands",
    "Parser",
    "add_reading",
    "check_target",
    "printable",
    "read_instance",
    "say_error",
]

Arguments: TypeAlias = argparse.Namespace
Commands: TypeAlias = "argparse._SubParsersAction[Any]"

BAD_INPUT = 2
IMPOSSIBLE = 3
NOT_FOUND = 4
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong, instead of printing the usage and ending here."""
        raise InputError(f"{message} (see {self.prog} --help)")


def say_error(message: str, code: int) -> int:
    """Print one line, whatever the message holds, and return the code."""
    line = printable(" ".join(message.split()))
    print(f"fixedfleet: error: {line}", file=sys.stderr)
    return code


def printable(text: str) -> str:
    """Return a text from a file without what would steer a terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add FILE and what its reader may be told."""
    parser.add_argument("file", metavar="FILE", help="instance: .vrp, .csv or .json")
    parser.add_argument(
        "--vehicles",
        type=int,
        metavar="M",
        help="number of vehicles there are (default: what the file says)",
    )
    parser.add_argument(
        "--capacity",
        type=float,
        metavar="Q",
        help="what a vehicle carries (default: what the file says)",
    )
    parser.add_argument(
        "--depot",
        metavar="NAME",
        help="name of the depot's row in CSV, number of its node in VRPLIB",
    )
    parser.add_argument(
        "--rounding",
        choices=get_args(Rounding),
        help="what happens to each distance (default: by the file's format)",
    )


def read_instance(arguments: Arguments) -> tuple[Instance, list[str]]:
    """Read the instance, and what is to be said about how it was read."""
    from fixedfleet.files import read

    notes: list[str] = []
    instance = read(
        arguments.file,
        arguments.vehicles,
        capacity=arguments.capacity,
        rounding=arguments.rounding,
        depot=arguments.depot,
        notes=notes,
    )
    return instance, [printable(note) for note in notes]


def check_target(option: str, path: str, extensions: Sequence[str]) -> None:
    """
    See that a file can be written before time is spent on what goes into it.

    Raises
    ------
    InputError
        If the extension is none of these, or there is no such folder to write to.
    """
    extension = Path(path).suffix.lower()
    if extension not in extensions:
        said = f"extension {extension!r}" if extension else "no extension"
        raise InputError(f"{option} {path}: {said}, not one of {', '.join(extensions)}")
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {folder}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: cannot be written")
