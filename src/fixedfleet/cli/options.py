"""The argument parser, and the options that several commands share."""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args

from fixedfleet.addresses import PAUSE, geocoder
from fixedfleet.cli.console import printable, warn
from fixedfleet.distances import LengthUnit, Rounding
from fixedfleet.errors import InputError, require
from fixedfleet.files import (
    PLAN_EXTENSIONS,
    ReadOptions,
    read_file,
    read_vehicle_types,
)
from fixedfleet.files.reading import DIMACS, parse_columns, parse_corrections
from fixedfleet.files.times import parse_duration, parse_window
from fixedfleet.plotting import PICTURES, check_drawable
from fixedfleet.progress import ProgressPrinter
from fixedfleet.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fixedfleet.files import Reading
    from fixedfleet.files.address_columns import Geocode
    from fixedfleet.instance import Instance

__all__ = [
    "Arguments",
    "Commands",
    "Parser",
    "add_instance",
    "add_options",
    "add_outputs",
    "check_outputs",
    "check_writable",
    "option_of",
    "parse_setting",
    "read_instance",
]

_MOST_WARNINGS = 20  # doubtful rows beyond this number are only counted
_LENGTH_OF_SHIFT = re.compile(r"[\d.,]+\s*[a-z]+\.?", re.IGNORECASE)  # such as 8h

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
    "--vehicle-types": {
        "metavar": "TABLE",
        "help": "fleet of several vehicle types, .csv or .xlsx, instead of --vehicles "
        "and --capacity (default: the sheet 'vehicles' of FILE)",
    },
    "--speed": {
        "type": float,
        "metavar": "V",
        "help": "distance per hour; without it, nothing is timed",
    },
    "--minutes-per-stop": {
        "type": float,
        "metavar": "MINUTES",
        "help": "minutes at customers for which FILE does not say it",
    },
    "--shift": {
        "metavar": "FROM-TO",
        "help": "when vehicles may leave and must be back, such as 07:00-15:30; or the "
        "longest shift, such as 8h, if no customer has a window",
    },
    "--depot": {
        "metavar": "NAME",
        "help": "name of the depot's row in a table, number of its node in VRPLIB",
    },
    "--columns": {
        "nargs": "+",
        "default": [],
        "metavar": "COLUMN=HEADING",
        "help": "headings of columns that are not recognised: demand=Paletten",
    },
    "--sheet": {
        "metavar": "NAME",
        "help": "sheet of an Excel file (default: the one that has the customers)",
    },
    "--correct": {
        "nargs": "+",
        "default": [],
        "metavar": "ROW:COLUMN=VALUE",
        "help": "what cells of a table should say instead: 14:demand=12",
    },
    "--leave-out": {
        "nargs": "+",
        "default": [],
        "metavar": "ROW",
        "help": "rows of a table (else numbers of customers) to leave out, or "
        "'doubtful': all rows with a warning",
    },
    "--strict": {
        "action": "store_true",
        "help": "end with an error (2) if rows are doubtful, instead of a warning",
    },
    "--unit": {
        "metavar": "NAME",
        "help": "unit of demands and capacity, such as kg (default: the file's)",
    },
    "--length-unit": {
        "choices": [unit for unit in get_args(LengthUnit) if unit],
        "help": "unit of distances (default for lat and lon: km)",
    },
    "--geocoder": {
        "metavar": "URL",
        "help": "address of a Nominatim server, which is asked for the places of "
        "addresses (default: none; tables need latitudes and longitudes)",
    },
    "--geocoder-pause": {
        "type": float,
        "default": PAUSE,
        "metavar": "SECONDS",
        "help": "pause between two addresses (default: 1, which the public server "
        "asks for; 0 for your own)",
    },
    "--roads": {
        "metavar": "URL",
        "help": "address of an OSRM server, which is asked for distances and travel "
        "times by road (default: straight lines)",
    },
    "--detour": {
        "type": float,
        "metavar": "FACTOR",
        "help": "what straight lines are multiplied by, such as 1.3 (default: 1)",
    },
    "--rounding": {
        "choices": (*get_args(Rounding), DIMACS),
        "help": "rounding of each distance (default: by the file's format)",
    },
    "--time-limit": {
        "type": float,
        "default": 1.0,
        "metavar": "SECONDS",
        "help": "seconds for everything (default: 1)",
    },
    "--cores": {
        "type": int,
        "metavar": "NUMBER",
        "help": "cores for one plan (default: all)",
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
        "help": "processes on this machine (default), or the Ray cluster that the "
        "environment variable RAY_ADDRESS names",
    },
    "--device": {
        "default": "cpu",
        "help": "where the network predicts: cpu (default), cuda, cuda:1, …",
    },
    "--parts": {
        "nargs": "+",
        "default": [],
        "metavar": "FILE.py",
        "help": "Python files to load first, with parts of your own that a network "
        "needs",
    },
    "--json": {"action": "store_true", "help": "print the result as JSON"},
    "--quiet": {"action": "store_true", "help": "print no progress"},
}
# Options with other names than the arguments of Python functions that they give.
_OTHER_NAMES = {"corrections": "correct", "service_minutes": "minutes_per_stop"}


class Parser(argparse.ArgumentParser):
    """A parser that raises InputError, with a message of one line, for wrong input."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError, instead of printing the usage and exiting."""
        raise InputError(f"{message} (see {self.prog} --help)")


def add_options(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """
    Add shared options to a parser, by their names.

    ``changes`` replace arguments of ``add_argument``, such as ``help``.
    """
    for name in names:
        parser.add_argument(name, **_OPTIONS[name] | changes)


def option_of(field: str, arguments: Arguments) -> str:
    """
    Return how to name an argument of a Python function in a message of a command.

    It is the option of the command. If the command has none, it is the argument itself.
    ``arguments`` are those of the command.
    """
    name = _OTHER_NAMES.get(field, field)
    if name in arguments:
        return f"--{name.replace('_', '-')}"
    return f"{field}= (in Python; this command has no such option)"


def add_instance(parser: argparse.ArgumentParser) -> None:
    """Add the argument FILE, an instance, and the options for reading it."""
    extensions = ".csv, .xlsx, .vrp, .json, or .txt in Solomon's format"
    parser.add_argument("file", metavar="FILE", help=f"instance: {extensions}")
    add_options(parser, "--vehicles", "--capacity", "--depot", "--columns")
    add_options(parser, "--sheet", "--correct", "--leave-out", "--strict")
    add_options(parser, "--rounding", "--unit", "--length-unit", "--detour")
    add_options(parser, "--geocoder", "--geocoder-pause")
    add_options(parser, "--vehicle-types", "--speed", "--minutes-per-stop", "--shift")


def add_outputs(parser: argparse.ArgumentParser, drawn: str) -> None:
    """
    Add the options --output and --plot, which name files to write.

    ``drawn`` says in the help text what --plot draws, such as "plan".
    """
    plans, pictures = ".csv, .xlsx, .json, .sol or .gpx", ".png, .svg or .pdf"
    add = parser.add_argument
    add("--output", metavar="PLAN", help=f"write the plan: {plans}")
    add("--plot", metavar="PICTURE", help=f"draw the {drawn}: {pictures}")


def read_instance(arguments: Arguments) -> Reading:
    """
    Read FILE without the rows that --leave-out names, and return the reading.

    A warning is printed for each :class:`Doubt` about the file. With --strict,
    InputError is raised afterwards, unless the only warning is that times are ignored.
    """
    options = ReadOptions(
        vehicles=arguments.vehicles,
        capacity=arguments.capacity,
        rounding=arguments.rounding,
        depot=arguments.depot,
        columns=parse_columns(arguments.columns),
        sheet=arguments.sheet,
        corrections=parse_corrections(arguments.correct),
        allow_unreadable=True,
        unit=arguments.unit,
        length_unit=arguments.length_unit,
        detour=arguments.detour,
        geocode=_geocode(arguments),
        by_road=bool(getattr(arguments, "roads", None)),
        vehicle_types=read_vehicle_types(arguments.vehicle_types)
        if arguments.vehicle_types
        else None,
        speed=arguments.speed,
        service_minutes=arguments.minutes_per_stop,
        shift=_shift(arguments.shift) if arguments.shift else None,
    )
    reading = read_file(arguments.file, options)
    reading = reading.leave_out(_left_out(arguments.leave_out, reading))
    _warn_about(reading)
    # The warning that delivery times are ignored does not mean an error in the file.
    mistakes = [doubt for doubt in reading.doubts if doubt.kind != "windows"]
    if arguments.strict and mistakes:
        doubts = count(len(mistakes), "warning")
        raise InputError(f"{arguments.file}: {doubts} (--strict)")
    return replace(reading, notes=[printable(note) for note in reading.notes])


def _geocode(arguments: Arguments) -> Geocode | None:
    """Return a function that looks up addresses; None without --geocoder."""
    if not arguments.geocoder:
        return None
    quiet = getattr(arguments, "quiet", False) or not sys.stderr.isatty()
    return geocoder(
        arguments.geocoder,
        pause=arguments.geocoder_pause,
        on_progress=None if quiet else ProgressPrinter(),
    )


def _shift(text: str) -> tuple[float, float]:
    """
    Return the begin and end of --shift, in minutes since midnight.

    If only a duration is given, such as 8h, the shift begins at 0.
    """
    if not _LENGTH_OF_SHIFT.fullmatch(text.strip()):
        begin, end = parse_window(text, "--shift")
        if begin is None or end is None:
            raise InputError(f"--shift {text}: give its begin and end, 07:00-15:30")
        return begin, end
    return 0.0, parse_duration(text, "--shift")


def _left_out(words: Sequence[str], reading: Reading) -> list[int]:
    """
    Return the numbers of the table's rows that the words of --leave-out name.

    If the file is not a table, the numbers are those of customers. The word "doubtful"
    names all rows that the warnings are about.
    """
    known = reading.rows or range(reading.instance.num_customers + 1)
    numbers: list[int] = []
    for word in words:
        if word == "doubtful":
            for doubt in reading.doubts:
                numbers += [known[customer] for customer in doubt.customers]
                if doubt.kind == "unreadable" and doubt.row is not None:
                    numbers.append(doubt.row)
        elif word.isdecimal():
            numbers.append(int(word))
        else:
            raise InputError(f"--leave-out {word}: not a number, and not 'doubtful'")
    return numbers


def _warn_about(reading: Reading) -> None:
    """
    Print a warning for each :class:`Doubt` in a reading, and how to correct the file.

    If there are many, only the first ones are printed, with the number of the others.
    """
    for doubt in reading.doubts[:_MOST_WARNINGS]:
        warn(doubt.text)
    if (more := len(reading.doubts) - _MOST_WARNINGS) > 0:
        warn(f"and {count(more, 'more warning')}")
    if any(doubt.kind == "unreadable" for doubt in reading.doubts):
        warn("rows that cannot be read are left out: correct them, as with --correct")
    if any(doubt.customers for doubt in reading.doubts):
        warn("correct these rows, or leave them out with --leave-out doubtful")


def check_writable(
    option: str,
    path: str,
    extensions: Sequence[str],
    inputs: Iterable[str | None] = (),
) -> None:
    """
    Raise InputError if an output file cannot be written.

    Commands check this before the computation, so that no result is lost. The extension
    must be one of ``extensions``, the folder must exist, and the file must not be one
    of the files that the command reads (``inputs``), even under another name.
    ``option`` is the option that names the file, for the error message.
    """
    extension = Path(path).suffix.lower()
    if extension not in extensions:
        said = f"extension {extension!r}" if extension else "no extension"
        raise InputError(f"{option} {path}: {said}, not one of {', '.join(extensions)}")
    if extension == ".xlsx":
        require("openpyxl", "excel", "an Excel file")
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {folder}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: cannot be written")
    for used in filter(None, inputs):
        if Path(path).exists() and Path(used).exists() and os.path.samefile(path, used):
            raise InputError(
                f"{option} {path}: this is the file that is read, {used}, and would be "
                "overwritten: choose another name"
            )


def check_outputs(
    arguments: Arguments, instance: Instance, inputs: Iterable[str | None]
) -> None:
    """
    Raise InputError if the files of --output and --plot cannot be written.

    ``inputs`` are the files that the command reads. They must not be overwritten.
    """
    if arguments.output:
        check_writable("--output", arguments.output, PLAN_EXTENSIONS, inputs)
    if arguments.plot:
        check_writable("--plot", arguments.plot, PICTURES, inputs)
        check_drawable(instance)


def parse_setting(text: str) -> tuple[str, Any]:
    """
    Return name and value of a setting such as ``model.layers=4``.

    The value is read as TOML. If that fails, it is the text itself.
    """
    import tomllib  # only here, because every command loads this module

    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"setting {text!r} is not of the form NAME=VALUE")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()
