"""
Files: instances, batches, plans and labels, in and out.

A path's extension names the format. Every InputError begins with the path.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from fixedfleet.errors import InputError
from fixedfleet.files import (
    atomic,
    gpx_files,
    json_files,
    npz_files,
    pickle_files,
    pt_files,
    sol_files,
    solomon_files,
    table_files,
    txt_files,
    vehicle_table,
    vrplib_files,
)
from fixedfleet.files.excel import OTHER_TABLES, format_excel
from fixedfleet.files.npz_files import LabelFile
from fixedfleet.files.plan_words import Language, translate
from fixedfleet.files.reading import Reading, ReadOptions
from fixedfleet.files.table import Dialect, format_csv
from fixedfleet.files.text import decode, read_bytes
from fixedfleet.instance import Instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fixedfleet.distances import Rounding
    from fixedfleet.files.address_columns import Geocode
    from fixedfleet.instance import InstanceBatch, VehicleType
    from fixedfleet.plan import Plan

__all__ = [
    "BATCH_EXTENSIONS",
    "INSTANCE_EXTENSIONS",
    "PLAN_EXTENSIONS",
    "Dialect",
    "LabelFile",
    "Language",
    "ReadOptions",
    "Reading",
    "format_plan",
    "parse",
    "read",
    "read_batch",
    "read_file",
    "read_labels",
    "read_plan",
    "read_solution_cost",
    "read_vehicle_types",
    "write_batch",
    "write_instance",
    "write_plan",
]

T = TypeVar("T")
PathLike = str | os.PathLike[str]

_log = logging.getLogger("fixedfleet")

_Reader = Callable[[str | bytes, ReadOptions], Reading]
_Writer = Callable[[Instance], str | bytes]
_INSTANCES: dict[str, tuple[_Reader, _Writer]] = {
    ".vrp": (vrplib_files.parse_instance, vrplib_files.format_instance),
    ".csv": (table_files.parse_instance, table_files.format_text_table),
    ".json": (json_files.parse_instance, json_files.format_instance),
    ".xlsx": (table_files.parse_instance, table_files.format_workbook),
}
# Solomon's format is only read. Among batches, .txt is another format.
_READERS = {extension: reader for extension, (reader, _) in _INSTANCES.items()}
_READERS[".txt"] = solomon_files.parse_instance
_BATCHES = {
    ".npz": (npz_files.read_batch, npz_files.write_batch),
    ".pkl": (pickle_files.read_batch, pickle_files.write_batch),
    ".pt": (pt_files.read_batch, pt_files.write_batch),
    ".txt": (txt_files.read_batch, txt_files.write_batch),
}
_PLANS = {
    ".sol": sol_files.parse_plan,
    ".json": json_files.parse_plan,
    ".csv": table_files.parse_plan,
    ".xlsx": table_files.parse_plan,
}
BATCH_EXTENSIONS = tuple(_BATCHES)
INSTANCE_EXTENSIONS = tuple(_INSTANCES)
PLAN_EXTENSIONS = (*_PLANS, ".gpx")  # GPX is only written

# A header or a section of VRPLIB at the beginning of a line; a table may have headings
# such as "NAME:". The blanks before it exclude line ends, otherwise many empty lines
# would take quadratic time.
_VRPLIB = re.compile(
    r"^[ \t]*(DIMENSION|EDGE_WEIGHT_TYPE)[ \t]*:"
    r"|^[ \t]*(NODE_COORD|DEMAND|EDGE_WEIGHT)_SECTION\b",
    re.MULTILINE,
)


def read(
    path: PathLike,
    vehicles: int | None = None,
    *,
    capacity: float | None = None,
    rounding: Rounding | Literal["dimacs"] | None = None,
    depot: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    geocode: Geocode | None = None,
    vehicle_types: Sequence[VehicleType] | None = None,
    speed: float | None = None,
    service_minutes: float | None = None,
    shift: tuple[float, float] | None = None,
) -> Instance:
    """
    Read an instance from a VRPLIB, CSV, Excel, JSON or Solomon (.txt) file.

    The logger ``fixedfleet`` receives how the file was read (level INFO): where the
    fleet comes from, how distances are rounded. It also receives what is probably a
    mistake in the instance (:func:`fixedfleet.find_doubts`, level WARNING).
    :func:`fixedfleet.files.read_file` returns both.

    Parameters
    ----------
    path
        The file.
    vehicles
        The number of vehicles. Default: what the file says.
    capacity
        What one vehicle carries. Default: what the file says.
    rounding
        The rounding of each distance: ``none``, ``round``, ``ceil``, ``trunc``, or
        ``dimacs``: down to one decimal, which makes a matrix of the distances. Default:
        what the file says, else ``round`` for VRPLIB's EUC_2D (CVRPLIB's convention)
        and GEO, and ``none`` for all others.
    depot
        The depot: the name of a row in a table (default: the first row), the number of
        a node in VRPLIB (default: its DEPOT_SECTION).
    columns
        Headings in a table that are not recognised: ``{"demand": "Paletten"}``.
    geocode
        A function that finds places for the addresses of a table, which
        :func:`fixedfleet.addresses.geocoder` returns.
    vehicle_types
        The fleet, instead of vehicles and capacity. Default: what the file says.
    speed
        Distance per hour, such as 40 for 40 km/h. Without it, and without travel times
        in the file, service times, windows and shifts are not considered.
    service_minutes
        How long a vehicle stays at customers for which the file does not say it.
    shift
        The shift of vehicles for which the file does not say it: (from, to), in minutes
        since midnight.

    Raises
    ------
    InputError
        If something is wrong with the file; the message says where.
    OSError
        If the file does not exist or cannot be read.
    """
    options = ReadOptions(
        vehicles=vehicles,
        capacity=capacity,
        rounding=rounding,
        depot=depot,
        columns=columns or {},
        geocode=geocode,
        vehicle_types=vehicle_types,
        speed=speed,
        service_minutes=service_minutes,
        shift=shift,
    )
    reading = read_file(path, options)
    for note in reading.notes:
        _log.info("%s: %s", os.fspath(path), note)
    for doubt in reading.doubts:
        _log.warning("%s: %s", os.fspath(path), doubt.text)
    return reading.instance


def read_file(path: PathLike, options: ReadOptions | None = None) -> Reading:
    """Like :func:`read`, but return notes and doubts instead of logging them."""
    options = options or ReadOptions()
    with _reading(path):
        reader = _choose(path, _READERS, "an instance")
        return reader(read_bytes(path), options)


def read_vehicle_types(path: PathLike) -> list[VehicleType]:
    """
    Read a fleet from a CSV or Excel file with a row for each vehicle type.

    The columns are name, count, capacity, fixed cost, cost per distance, from and to
    (the shift); only the capacity must be given.
    """
    with _reading(path):
        types, notes = vehicle_table.parse_vehicle_types(read_bytes(path))
    for note in notes:
        _log.warning("%s: %s", os.fspath(path), note)
    return types


def parse(content: str | bytes, options: ReadOptions | None = None) -> Reading:
    """Read an instance from the content of a file, which also shows the format."""
    options = options or ReadOptions()
    return _READERS[_recognise(content)](content, options)


def _recognise(content: str | bytes) -> str:
    """Return the extension of the format of a content; .csv if no other fits."""
    text = content if isinstance(content, str) else content.decode("latin-1")
    if text.lstrip("\ufeff\xef\xbb\xbf \t\r\n").startswith("{"):
        return ".json"
    if solomon_files.is_solomon(text):
        return ".txt"
    return ".vrp" if _VRPLIB.search(text) else ".csv"


def write_instance(instance: Instance, path: PathLike) -> None:
    """
    Write an instance to a .vrp, .csv, .xlsx or .json file.

    A format that cannot hold the whole instance is refused.
    """
    with _naming(path):
        _, writer = _choose(path, _INSTANCES, "an instance")
        _write(path, writer(instance))


def read_batch(
    path: PathLike, vehicles: int | None = None, capacity: int | None = None
) -> InstanceBatch:
    """
    Read a batch of instances of equal size from .npz, .pkl, .pt or .txt.

    Parameters
    ----------
    path
        A .npz file, with our names of arrays or RL4CO's; or a file in the format of the
        Attention Model (.pkl), POMO (.pt) or LEHD (.txt).
    vehicles
        The fleet of every instance. Default: the file's. Only our .npz files have one;
        for others it must be given.
    capacity
        The capacity of the vehicles of every instance. Default: the file's. If demands
        are divided by a capacity that the file does not have: the smallest whole number
        that makes all of them whole.
    """
    with _reading(path):
        return _choose(path, _BATCHES, "a batch")[0](path, vehicles, capacity)


def write_batch(path: PathLike, batch: InstanceBatch) -> None:
    """
    Write a batch to .npz, or to .pkl or .pt in the Attention Model's or POMO's format.

    These two cannot hold the fleet: give it again when reading the file. A .pt file
    holds 32 bits of each number, and demands divided by the capacity.
    """
    with _naming(path):
        _choose(path, _BATCHES, "a batch")[1](path, batch)


def read_plan(path: PathLike, instance: Instance | None = None) -> Plan:
    """
    Read a plan from a .sol, .json, .csv or .xlsx file.

    Parameters
    ----------
    path
        The file.
    instance
        The instance that the plan is to be used for, if its customers may have other
        numbers than in the file. Each stop is then found by the firm's own customer
        number, by name or by place. Only a stop that has none of these, as in .sol, is
        taken by its number.

    Raises
    ------
    InputError
        If something is wrong with the file; also if a stop is not among the customers
        of the instance, or if its name and customer number are those of two customers.
    """
    with _reading(path):
        return _choose(path, _PLANS, "a plan")(read_bytes(path), instance)


def write_plan(
    plan: Plan,
    instance: Instance,
    path: PathLike,
    dialect: Dialect | None = None,
    *,
    lines: Sequence[NDArray[np.float64]] = (),
    language: Language = "en",
) -> None:
    """
    Write a plan to a .sol, .json, .csv, .xlsx or .gpx file.

    Customers that the plan does not serve are in the file, too, and marked as such;
    GPX, which is for navigation apps, has the tours only.

    Parameters
    ----------
    plan, instance
        The plan, and the instance that it is for.
    path
        The file.
    dialect
        How to write .csv. Default: commas between cells, and decimal points.
    lines
        The lines of the tours along roads, for .gpx, as
        :func:`fixedfleet.roads.road_lines` returns them.
    language
        The language of the headings in .csv and .xlsx: "en" or "de".
    """
    with _naming(path):
        _choose(path, dict.fromkeys(PLAN_EXTENSIONS), "a plan")
        extension = Path(path).suffix.lower()
        _write(path, format_plan(plan, instance, extension, dialect, lines, language))


def format_plan(
    plan: Plan,
    instance: Instance,
    extension: str,
    dialect: Dialect | None = None,
    lines: Sequence[NDArray[np.float64]] = (),
    language: Language = "en",
) -> str | bytes:
    """Return the content of a plan's file: .sol, .json, .csv, .xlsx or .gpx."""
    plan.require_known(instance)
    if extension == ".sol":
        return sol_files.format_plan(plan, instance)
    if extension == ".json":
        return json_files.format_plan(plan, instance)
    if extension == ".gpx":
        return gpx_files.format_plan(plan, instance, lines=lines)
    rows = table_files.plan_rows(plan, instance, language)
    if extension == ".xlsx":
        totals = table_files.total_rows(plan, instance, language)
        return format_excel(rows, {translate("tours", language): totals})
    return format_csv(rows, dialect or Dialect())


def read_solution_cost(path: PathLike) -> float | None:
    """Return the cost that a .sol file states, unchecked; None if it states none."""
    with _reading(path):
        return sol_files.parse_cost(decode(read_bytes(path)))


def read_labels(path: PathLike) -> LabelFile:
    """Read a label file (npz): plans for instances that are drawn from a seed."""
    with _reading(path):
        return npz_files.read_labels(path)


def _write(path: PathLike, content: str | bytes) -> None:
    if isinstance(content, str):
        atomic.write_text(path, content)
    else:
        with atomic.replacing(path) as file:
            file.write(content)


@contextmanager
def _naming(path: PathLike) -> Iterator[None]:
    """Put the path before the message of an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from None


@contextmanager
def _reading(path: PathLike) -> Iterator[None]:
    """Raise InputError unless there is a regular file; name the path in all errors."""
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
    if extension in OTHER_TABLES:
        raise InputError(OTHER_TABLES[extension])
    if extension not in known:
        said = f"extension {extension!r}" if extension else "no extension"
        raise InputError(f"{said}, but {what} is a file {', '.join(known)}")
    return known[extension]
