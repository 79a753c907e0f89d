"""
Read and write instances, batches, plans and labels.

The extension of a path determines the format. Every InputError begins with the path.
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
    plan_tables,
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
    from fixedfleet.plan import Plan, PlanBatch

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
# An instance with the extension .txt is in Solomon's format, which can be read but not
# written. A batch with the same extension is in LEHD's format.
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
    ".csv": plan_tables.parse_plan,
    ".xlsx": plan_tables.parse_plan,
}
_RL4CO = ".rl4co.npz"  # written with other names and types than .npz
BATCH_EXTENSIONS = tuple(_BATCHES)
INSTANCE_EXTENSIONS = tuple(_INSTANCES)
PLAN_EXTENSIONS = (*_PLANS, ".gpx")  # GPX can be written but not read

# A file is recognised as VRPLIB by one of these headers or sections at the beginning of
# a line. The header NAME is not enough, because a table may have the heading "NAME:".
# The blanks before a header exclude line ends; otherwise many empty lines would take
# quadratic time.
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

    Notes on how the file was read are logged with level INFO to the logger
    ``fixedfleet``: for example, where the fleet comes from and how distances are
    rounded. Probable mistakes in the instance (:func:`fixedfleet.find_doubts`) are
    logged with level WARNING. :func:`fixedfleet.files.read_file` returns both instead.

    Parameters
    ----------
    path
        The file.
    vehicles
        The number of vehicles. Default: what the file says.
    capacity
        The capacity of each vehicle. Default: what the file says.
    rounding
        How each distance is rounded: ``none``, ``round``, ``ceil``, ``trunc`` or
        ``dimacs``. The last one rounds down to one decimal and stores the distances as
        a matrix. Default: what the file says, else ``round`` for VRPLIB's EUC_2D
        (CVRPLIB's convention) and GEO, and ``none`` for all others.
    depot
        The depot: the name of a row in a table, or the number of a node in VRPLIB.
        Default: in a table, the first row if it has no demand, otherwise the only row
        without a demand; in VRPLIB, the DEPOT_SECTION.
    columns
        Headings of a table that are not recognised, by the name of the column:
        ``{"demand": "Paletten"}``.
    geocode
        A function that returns latitude and longitude of the addresses in a table.
        :func:`fixedfleet.addresses.geocoder` makes such a function.
    vehicle_types
        The fleet, instead of vehicles and capacity. Default: what the file says.
    speed
        Distance per hour, such as 40 for 40 km/h. Without it, and without travel times
        in the file, service times, time windows and shifts are not considered.
    service_minutes
        The service time, in minutes, of customers for which the file states none.
    shift
        The shift of vehicles for which the file states none: (from, to), in minutes
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
    """
    Read an instance like :func:`read`, and return it with notes and doubts.

    Nothing is logged. A :class:`fixedfleet.Doubt` is a probable mistake in the file.
    """
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
    """Read an instance from a file's content, which also determines the format."""
    options = options or ReadOptions()
    return _READERS[_recognise(content)](content, options)


def _recognise(content: str | bytes) -> str:
    """Return the extension that suits a file's content; .csv if no other does."""
    text = content if isinstance(content, str) else content.decode("latin-1")
    if text.lstrip("\ufeff\xef\xbb\xbf \t\r\n").startswith("{"):
        return ".json"
    if solomon_files.is_solomon(text):
        return ".txt"
    return ".vrp" if _VRPLIB.search(text) else ".csv"


def write_instance(instance: Instance, path: PathLike) -> None:
    """
    Write an instance to a .vrp, .csv, .xlsx or .json file.

    Raise InputError if the format cannot hold the whole instance.
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
        A .npz file with the array names of this package or of RL4CO; or a file in the
        format of the Attention Model (.pkl), POMO (.pt) or LEHD (.txt).
    vehicles
        The number of vehicles of every instance. Default: what the file says. Only .npz
        files of this package state it; for other files it must be given.
    capacity
        The capacity of each vehicle. Default: what the file says. If the file has
        demands divided by a capacity, but not the capacity itself, the default is the
        smallest whole number that makes all demands whole.
    """
    with _reading(path):
        return _choose(path, _BATCHES, "a batch")[0](path, vehicles, capacity)


def write_batch(
    path: PathLike, batch: InstanceBatch, plans: PlanBatch | None = None
) -> None:
    """
    Write a batch of instances to a file, in our format or in one of the field.

    Only our format holds the fleet: give it again when you read the other ones. A .pt
    or .rl4co.npz file holds 32 bits of each number, and .pt divides demands by the
    capacity.

    Parameters
    ----------
    path
        A file .npz (our format), .rl4co.npz (RL4CO's), .pkl (the Attention Model's),
        .pt (POMO's) or .txt (LEHD's).
    batch
        The instances.
    plans
        A plan of each instance that serves all of its customers. LEHD's files need
        plans; RL4CO's may have them, as ``actions`` and ``reward``; the other formats
        have no place for them.
    """
    with _naming(path):
        _, writer = _choose(path, _BATCHES, "a batch")
        if plans is not None:
            _check_plans(batch, plans)
        if Path(path).name.lower().endswith(_RL4CO):
            npz_files.write_rl4co(path, batch, plans)
        elif writer is txt_files.write_batch:
            txt_files.write_batch(path, batch, plans)
        elif plans is not None:
            raise InputError(f"this format has no plans: write {_RL4CO} or .txt")
        else:
            writer(path, batch)


def _check_plans(batch: InstanceBatch, plans: PlanBatch) -> None:
    """Raise InputError unless there is a plan of each instance without a fault."""
    if len(plans) != len(batch):
        raise InputError(f"{len(plans)} plans for {len(batch)} instances")
    for row in (~plans.feasible(batch)).nonzero()[0].tolist():
        raise InputError(f"plan {row}: {plans[row].check(batch[row])[0]}")


def read_plan(path: PathLike, instance: Instance | None = None) -> Plan:
    """
    Read a plan from a .sol, .json, .csv or .xlsx file.

    Parameters
    ----------
    path
        The file.
    instance
        The instance that the plan is to be used for, if its customers may have other
        numbers than in the file. Each stop is then matched to a customer by the firm's
        own customer number, by name or by place. A stop for which the file states none
        of these, as in .sol files, is matched by its number.

    Raises
    ------
    InputError
        If something is wrong with the file; also if a stop is not among the customers
        of the instance, or if its name and its customer number belong to different
        customers.
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

    The file also lists the customers that the plan does not serve, and marks them as
    unserved. A .gpx file, which is for navigation apps, has the tours only.

    Parameters
    ----------
    plan, instance
        The plan, and the instance that it is for.
    path
        The file.
    dialect
        How to write .csv. Default: commas between cells, and decimal points.
    lines
        For .gpx: the line of each tour along the roads, as
        :func:`fixedfleet.roads.road_lines` returns them. Default: a .gpx file has no
        lines, only the stops.
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
    """Return a plan as the content of a .sol, .json, .csv, .xlsx or .gpx file."""
    plan.require_known(instance)
    if extension == ".sol":
        return sol_files.format_plan(plan, instance)
    if extension == ".json":
        return json_files.format_plan(plan, instance)
    if extension == ".gpx":
        return gpx_files.format_plan(plan, instance, lines=lines)
    rows = plan_tables.plan_rows(plan, instance, language)
    if extension == ".xlsx":
        totals = plan_tables.total_rows(plan, instance, language)
        return format_excel(rows, {translate("tours", language): totals})
    return format_csv(rows, dialect or Dialect())


def read_solution_cost(path: PathLike) -> float | None:
    """Return the cost that a .sol file states, unchecked; None if it states none."""
    with _reading(path):
        return sol_files.parse_cost(decode(read_bytes(path)))


def read_labels(path: PathLike) -> LabelFile:
    """Read a label file (.npz): plans for random instances, and the instances' seed."""
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
    """
    Context manager that puts the path before the message of an InputError in its block.
    """
    try:
        yield
    except InputError as error:
        raise error.within(os.fspath(path)) from None


@contextmanager
def _reading(path: PathLike) -> Iterator[None]:
    """
    Context manager for reading a file: check first that it is a regular file.

    InputError is raised if it is not. The path is put before this message, and before
    the message of any InputError raised in the block.
    """
    with _naming(path):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InputError("a folder, not a file")
        if not stat.S_ISREG(mode):  # reading a device may never end
            raise InputError("not a regular file")
        yield


def _choose(path: PathLike, known: Mapping[str, T], what: str) -> T:
    """
    Return the value in ``known``, whose keys are extensions, for the path's extension.

    InputError is raised for any other extension; ``what`` says in its message what the
    file should hold, such as "a plan".
    """
    extension = Path(path).suffix.lower()
    if extension in OTHER_TABLES:
        raise InputError(OTHER_TABLES[extension])
    if extension not in known:
        said = f"extension {extension!r}" if extension else "no extension"
        raise InputError(f"{said}, but {what} is a file {', '.join(known)}")
    return known[extension]
