"""
Files: instances, batches, plans and labels, in and out.

A path's extension names the format. Every InputError begins with the path.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from fixedfleet.errors import InputError, check_choice
from fixedfleet.files import (
    atomic,
    csv_files,
    json_files,
    npz_files,
    pickle_files,
    sol_files,
    vrplib_files,
)
from fixedfleet.files.context import ReadContext
from fixedfleet.files.npz_files import LabelFile, ReferenceFile
from fixedfleet.files.text import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fixedfleet.distances import Rounding
    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.plan import Plan

__all__ = [
    "BATCH_EXTENSIONS",
    "INSTANCE_EXTENSIONS",
    "PLAN_EXTENSIONS",
    "Format",
    "LabelFile",
    "ReadContext",
    "ReferenceFile",
    "format_plan",
    "parse",
    "read",
    "read_batch",
    "read_labels",
    "read_plan",
    "read_reference",
    "read_solution_cost",
    "write_batch",
    "write_instance",
    "write_plan",
]

Format = Literal["vrplib", "csv", "json"]
T = TypeVar("T")
PathLike = str | os.PathLike[str]

_log = logging.getLogger("fixedfleet")

_FORMATS: dict[str, Format] = {".vrp": "vrplib", ".csv": "csv", ".json": "json"}
_INSTANCES = {
    "vrplib": (vrplib_files.parse_instance, vrplib_files.format_instance),
    "csv": (csv_files.parse_instance, csv_files.format_instance),
    "json": (json_files.parse_instance, json_files.format_instance),
}
_BATCHES = {
    ".npz": (npz_files.read_batch, npz_files.write_batch),
    ".pkl": (pickle_files.read_batch, pickle_files.write_batch),
}
_PLANS = {
    ".sol": (sol_files.parse_plan, sol_files.format_plan),
    ".json": (json_files.parse_plan, json_files.format_plan),
    ".csv": (csv_files.parse_plan, csv_files.format_plan),
}
BATCH_EXTENSIONS = tuple(_BATCHES)
INSTANCE_EXTENSIONS = tuple(_FORMATS)
PLAN_EXTENSIONS = tuple(_PLANS)

# A header or a section of VRPLIB at the beginning of a line. The blanks before it
# exclude line ends, otherwise many empty lines would take quadratic time.
_VRPLIB = re.compile(
    r"^[ \t]*(NAME|COMMENT|TYPE|DIMENSION|CAPACITY|VEHICLES|EDGE_WEIGHT_TYPE)[ \t]*:"
    r"|^[ \t]*(NODE_COORD|DEMAND|EDGE_WEIGHT)_SECTION\b",
    re.MULTILINE,
)


def read(
    path: PathLike,
    vehicles: int | None = None,
    *,
    capacity: float | None = None,
    rounding: Rounding | None = None,
    depot: str | int | None = None,
    format: Format | None = None,
    notes: list[str] | None = None,
) -> Instance:
    """
    Read an instance from a VRPLIB, CSV or JSON file.

    Parameters
    ----------
    path
        The file.
    vehicles
        The number of vehicles. Default: what the file says.
    capacity
        What one vehicle carries. Default: what the file says.
    rounding
        The rounding of each distance: ``none``, ``round``, ``ceil`` or ``trunc``.
        Default: what the file says, else ``round`` for VRPLIB's EUC_2D (CVRPLIB's
        convention) and GEO, and ``none`` for all others.
    depot
        The depot: the name of a row in CSV (default: the first row), the number of a
        node in VRPLIB (default: its DEPOT_SECTION).
    format
        ``vrplib``, ``csv`` or ``json``. Default: by extension (.vrp, .csv, .json).
    notes
        A list that receives remarks on how the file was read: where the fleet comes
        from, how distances are rounded. They are also logged to the logger
        ``fixedfleet`` at level INFO.

    Raises
    ------
    InputError
        If something is wrong with the file, with the place.
    OSError
        If the file does not exist or cannot be read.
    """
    with _reading(path):
        chosen = _choose(path, _FORMATS, "an instance") if format is None else format
        context = ReadContext(vehicles, capacity, rounding, depot)
        # Old VRPLIB files have comments in Latin-1. In CSV, a wrong guess of the
        # encoding would garble names.
        instance = parse(read_text(path, latin=chosen == "vrplib"), context, chosen)
    for note in context.notes:
        _log.info("%s: %s", os.fspath(path), note)
    if notes is not None:
        notes.extend(context.notes)
    return instance


def parse(
    text: str,
    context: ReadContext | None = None,
    format: Format | Literal["auto"] = "auto",
) -> Instance:
    """
    Read an instance from text, without a file.

    Parameters
    ----------
    text
        The text of a VRPLIB, CSV or JSON file.
    context
        The caller's options and limits. It receives the notes, and the names of
        missing fields if ``allow_missing`` is set.
    format
        The format of the text. Default: ``auto``, which recognises it.
    """
    chosen = _recognise(text) if format == "auto" else format
    check_choice("format", chosen, _INSTANCES)
    return _INSTANCES[chosen][0](text, context or ReadContext())


def _recognise(text: str) -> Format:
    """Recognise JSON and VRPLIB by their beginnings; everything else is a table."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return "json"
    return "vrplib" if _VRPLIB.search(text) else "csv"


def write_instance(instance: Instance, path: PathLike) -> None:
    """
    Write an instance to a .vrp, .csv or .json file.

    Raises
    ------
    InputError
        If the format cannot hold the whole instance.
    """
    with _naming(path):
        chosen = _choose(path, _FORMATS, "an instance")
        atomic.write_text(path, _INSTANCES[chosen][1](instance))


def read_batch(
    path: PathLike, vehicles: int | None = None, capacity: int | None = None
) -> InstanceBatch:
    """
    Read a batch of instances of equal size from .npz, or from .pkl.

    Parameters
    ----------
    path
        A .npz file, or a .pkl file in the Attention Model's format.
    vehicles
        The fleet of every instance. Default: the file's. A pickle has no fleet, so
        it must be given.
    capacity
        The capacity of the vehicles of every instance. Default: the file's.
    """
    with _reading(path):
        return _choose(path, _BATCHES, "a batch")[0](path, vehicles, capacity)


def write_batch(path: PathLike, batch: InstanceBatch) -> None:
    """
    Write a batch to .npz, or to .pkl in the Attention Model's format.

    A pickle cannot hold the fleet: give it again when reading the file.
    """
    with _naming(path):
        _choose(path, _BATCHES, "a batch")[1](path, batch)


def read_plan(path: PathLike) -> Plan:
    """Read a plan from a .sol, .json or .csv file."""
    with _reading(path):
        return _choose(path, _PLANS, "a plan")[0](read_text(path))


def write_plan(plan: Plan, instance: Instance, path: PathLike) -> None:
    """
    Write a plan to a .sol, .json or .csv file.

    Raises
    ------
    InputError
        If the plan serves a customer that the instance does not have.
    """
    with _naming(path):
        _choose(path, _PLANS, "a plan")
        atomic.write_text(path, format_plan(plan, instance, Path(path).suffix.lower()))


def format_plan(plan: Plan, instance: Instance, extension: str) -> str:
    """Return the text of a plan's file with the extension .sol, .json or .csv."""
    plan.require_known(instance)
    return _PLANS[extension][1](plan, instance)


def read_solution_cost(path: PathLike) -> float | None:
    """Return the cost that a .sol file states, unchecked; None if it states none."""
    with _reading(path):
        return sol_files.parse_cost(read_text(path))


def read_labels(path: PathLike) -> LabelFile:
    """Read a label file (npz): plans for instances that are drawn from a seed."""
    with _reading(path):
        return npz_files.read_labels(path)


def read_reference(path: PathLike) -> ReferenceFile:
    """Read a file of reference plans (npz) for rows of a test set."""
    with _reading(path):
        return npz_files.read_reference(path)


@contextmanager
def _naming(path: PathLike) -> Iterator[None]:
    """Put the path before the message of an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from None


@contextmanager
def _reading(path: PathLike) -> Iterator[None]:
    """Refuse what is not a file, before any other error, and name it in errors."""
    with _naming(path):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InputError("a folder, not a file")
        if not stat.S_ISREG(mode):  # reading a device may never end
            raise InputError("not a regular file")
        yield


def _choose(path: PathLike, known: Mapping[str, T], what: str) -> T:
    """Return the entry for the extension of a path."""
    extension = Path(path).suffix.lower()
    if extension not in known:
        said = f"extension {extension!r}" if extension else "no extension"
        raise InputError(f"{said}, but {what} is a file {', '.join(known)}")
    return known[extension]
