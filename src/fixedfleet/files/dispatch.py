"""Which format a file has, and the place in every message about it."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from fixedfleet.errors import InputError
from fixedfleet.files import (
    atomic,
    csv_format,
    json_format,
    npz_format,
    pickle_format,
    solution,
    vrplib_format,
)
from fixedfleet.files.text import Caller, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fixedfleet.distances import Rounding
    from fixedfleet.files.npz_format import LabelFile, ReferenceFile
    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.plan import Plan

__all__ = [
    "Format",
    "read",
    "read_batch",
    "read_labels",
    "read_plan",
    "read_reference",
    "read_solution_cost",
    "read_with_notes",
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
    "vrplib": (vrplib_format.parse, vrplib_format.format_vrplib),
    "csv": (csv_format.parse_instance, csv_format.format_instance),
    "json": (json_format.parse_instance, json_format.format_instance),
}
_BATCHES = {
    ".npz": (npz_format.read_batch, npz_format.write_batch),
    ".pkl": (pickle_format.read_batch, pickle_format.write_batch),
}
_PLANS = {
    ".sol": (solution.parse_plan, solution.format_plan),
    ".json": (json_format.parse_plan, json_format.format_plan),
    ".csv": (csv_format.parse_plan, csv_format.format_plan),
}


def read(
    path: PathLike,
    vehicles: int | None = None,
    *,
    capacity: float | None = None,
    rounding: Rounding | None = None,
    depot: str | int | None = None,
    format: Format | None = None,
) -> Instance:
    """
    Read an instance from a VRPLIB, CSV or JSON file.

    What was decided in reading (where the fleet comes from, how distances are
    rounded, …) is logged to the logger ``fixedfleet`` at level INFO;
    :func:`read_with_notes` returns it.

    Parameters
    ----------
    path
        The file.
    vehicles
        The number of vehicles there are. Default: what the file says of it.
    capacity
        What one vehicle carries. Default: what the file says of it.
    rounding
        What happens to each distance: ``none``, ``round``, ``ceil`` or ``trunc``.
        Default: what the file says, else ``round`` for VRPLIB's EUC_2D (CVRPLIB's
        convention) and GEO, and ``none`` for all others.
    depot
        The depot: the name of a row in CSV (default: the first row), the number of a
        node in VRPLIB (default: its DEPOT_SECTION).
    format
        ``vrplib``, ``csv`` or ``json``. Default: by extension (.vrp, .csv, .json).

    Raises
    ------
    InputError
        If something is wrong with the file, with the place.
    OSError
        If there is no such file, or it cannot be read.
    """
    instance, notes = read_with_notes(
        path,
        vehicles,
        capacity=capacity,
        rounding=rounding,
        depot=depot,
        format=format,
    )
    for note in notes:
        _log.info("%s: %s", os.fspath(path), note)
    return instance


def read_with_notes(
    path: PathLike,
    vehicles: int | None = None,
    *,
    capacity: float | None = None,
    rounding: Rounding | None = None,
    depot: str | int | None = None,
    format: Format | None = None,
) -> tuple[Instance, list[str]]:
    """Read an instance as :func:`read` does; return what is to be said of it too."""
    with _placed(path):
        _require_file(path)
        chosen = format or _choose(path, _FORMATS, "an instance")
        if chosen not in _INSTANCES:
            raise InputError(
                f"unknown format {chosen!r}: choose from {', '.join(_INSTANCES)}"
            )
        caller = Caller(vehicles, capacity, rounding, depot)
        # The letters of VRPLIB that matter are ASCII; those of names in CSV are not.
        text = read_text(path, latin=chosen == "vrplib")
        return _INSTANCES[chosen][0](text, caller)


def write_instance(instance: Instance, path: PathLike) -> None:
    """
    Write an instance to a .vrp, .csv or .json file.

    Raises
    ------
    InputError
        If the format cannot hold the whole instance.
    """
    with _placed(path):
        chosen = _choose(path, _FORMATS, "an instance")
        atomic.write_text(path, _INSTANCES[chosen][1](instance))


def read_batch(
    path: PathLike, vehicles: int | None = None, capacity: int | None = None
) -> InstanceBatch:
    """
    Read a batch of equal-sized instances: npz, or the Attention Model's pickle.

    Parameters
    ----------
    path
        A file .npz or .pkl.
    vehicles
        The fleet of every instance. Default: the file's, which a pickle has not.
    capacity
        The capacity of every instance's vehicles. Default: the file's.
    """
    with _placed(path):
        _require_file(path)
        return _choose(path, _BATCHES, "a batch")[0](path, vehicles, capacity)


def write_batch(path: PathLike, batch: InstanceBatch) -> None:
    """
    Write a batch as .npz, or as .pkl in the Attention Model's format.

    A pickle has no place for the fleet: its reader must be given it.
    """
    with _placed(path):
        _choose(path, _BATCHES, "a batch")[1](path, batch)


def read_plan(path: PathLike) -> Plan:
    """Read a plan from a .sol, .json or .csv file."""
    with _placed(path):
        _require_file(path)
        return _choose(path, _PLANS, "a plan")[0](read_text(path))


def write_plan(plan: Plan, instance: Instance, path: PathLike) -> None:
    """
    Write a plan to a .sol, .json or .csv file.

    Raises
    ------
    InputError
        If the plan serves a customer the instance has not.
    """
    with _placed(path):
        chosen = _choose(path, _PLANS, "a plan")
        plan.require_known(instance)
        atomic.write_text(path, chosen[1](plan, instance))


def read_solution_cost(path: PathLike) -> float | None:
    """Read the cost a .sol file states, if it does; it is the file's word only."""
    with _placed(path):
        _require_file(path)
        return solution.parse_cost(read_text(path))


def read_labels(path: PathLike) -> LabelFile:
    """Read a file of labels (npz): plans for instances that a seed brings back."""
    with _placed(path):
        _require_file(path)
        return npz_format.read_labels(path)


def read_reference(path: PathLike) -> ReferenceFile:
    """Read a file of reference plans (npz) for rows of a test set."""
    with _placed(path):
        _require_file(path)
        return npz_format.read_reference(path)


@contextmanager
def _placed(path: PathLike) -> Iterator[None]:
    """Put the file's name before what is wrong with it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from None


def _choose(path: PathLike, known: Mapping[str, T], what: str) -> T:
    """The entry for a path's extension."""
    extension = Path(path).suffix.lower()
    if extension not in known:
        said = f"extension {extension!r}" if extension else "no extension"
        raise InputError(f"{said}, but {what} is a file {', '.join(known)}")
    return known[extension]


def _require_file(path: PathLike) -> None:
    """Say that a file is missing or no file before looking at its extension."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise InputError("a folder, not a file")
    if not stat.S_ISREG(mode):  # a device may never end
        raise InputError("not a regular file")
