"""The parser, and the options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args

from fixedfleet.cli.console import printable
from fixedfleet.distances import Rounding
from fixedfleet.errors import InputError
from fixedfleet.files import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance

__all__ = [
    "Arguments",
    "Commands",
    "Parser",
    "add_instance",
    "add_options",
    "check_writable",
    "read_instance",
]

Arguments: TypeAlias = argparse.Namespace
Commands: TypeAlias = "argparse._SubParsersAction[Any]"

_OPTIONS: dict[str, dict[str, Any]] = {
    "--vehicles": {
        "type": int,
        "metavar": "M",
        "help": "number of vehicles (default: what the file says)",
    },
    "--capacity": {
        "type": float,
        "metavar": "Q",
        "help": "what one vehicle carries (default: what the file says)",
    },
    "--depot": {
        "metavar": "NAME",
        "help": "name of the depot's row in CSV, number of its node in VRPLIB",
    },
    "--rounding": {
        "choices": get_args(Rounding),
        "help": "rounding of each distance (default: by the file's format)",
    },
    "--time-limit": {
        "type": float,
        "default": 1.0,
        "metavar": "SECONDS",
        "help": "seconds in all (default: 1)",
    },
    "--vehicle-cost": {
        "type": float,
        "metavar": "C",
        "help": "fixed cost of each vehicle used",
    },
    "--iterations": {
        "type": int,
        "help": "number of iterations, instead of a time limit",
    },
    "--seed": {
        "type": int,
        "default": 0,
        "help": "seed of the random numbers (default: 0)",
    },
    "--processes": {
        "type": int,
        "help": "number of worker processes (default: one per core)",
    },
    "--engine": {
        "choices": ("processes", "ray"),
        "default": "processes",
        "help": "processes on this machine (default), or a Ray cluster",
    },
    "--ray-address": {
        "metavar": "ADDRESS",
        "help": "address of the cluster: auto, local, host:port, ray://…",
    },
    "--device": {
        "default": "cpu",
        "help": "where the network predicts: cpu (default), cuda, cuda:1, …",
    },
    "--json": {"action": "store_true", "help": "print one JSON document"},
    "--quiet": {"action": "store_true", "help": "print no progress"},
}


class Parser(argparse.ArgumentParser):
    """A parser that reports a wrong command line as an InputError of one line."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError, instead of printing the usage and exiting."""
        raise InputError(f"{message} (see {self.prog} --help)")


def add_options(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """
    Add options of this module's table to a parser.

    Parameters
    ----------
    parser
        The parser of a command.
    names
        Names of the options, as ``--seed``.
    changes
        What is different for this command, such as ``help``.
    """
    for name in names:
        parser.add_argument(name, **_OPTIONS[name] | changes)


def add_instance(parser: argparse.ArgumentParser) -> None:
    """Add FILE and the options for reading it."""
    parser.add_argument("file", metavar="FILE", help="instance: .vrp, .csv or .json")
    add_options(parser, "--vehicles", "--capacity", "--depot", "--rounding")


def read_instance(arguments: Arguments) -> tuple[Instance, list[str]]:
    """Read FILE; return the instance and the notes on how it was read."""
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


def check_writable(option: str, path: str, extensions: Sequence[str]) -> None:
    """
    Check that a file can be written, before time is spent on its content.

    Raises
    ------
    InputError
        If the extension is not one of these, or the folder cannot be written to.
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
