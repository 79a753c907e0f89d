"""The results of an evaluation: one row per run, in a file that a kill cannot spoil."""

from __future__ import annotations

import json
import lzma
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from fixedfleet.errors import InputError
from fixedfleet.evaluate.origin import machine_name
from fixedfleet.files import atomic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fixedfleet.evaluate.methods import Objective

__all__ = ["FORMAT", "VERSION", "Key", "Results", "Row", "Trace", "make_header"]

FORMAT = "fixedfleet results"
VERSION = 1
_COMPRESSED = ".xz"

# Instance, method, objective, time limit, iterations and seed.
Key = tuple[str, str, str, float | None, int | None, int]
Trace = tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """
    One run of a method on one instance, measured by :class:`fixedfleet.Plan`.

    Attributes
    ----------
    set, instance
        Name of the set that the row was made for, and of the instance, which is the
        same in every set that contains it.
    method, objective
        The method's name: the one that the user gave it, or its spec without paths and
        without the objective; and what it minimises.
    time_limit, iterations
        Seconds, or the number of iterations given instead. Both are None for a method
        that takes no limit.
    seed
        Seed of the run.
    customers, fleet
        Number of customers, N, and of vehicles, M, of the instance.
    vehicle_cost
        Fixed cost per vehicle in ``cost_v``.
    length, cost_v, vehicles
        Length, Cost_v and number of vehicles of the plan; None unless ``served``. If
        vehicles differ or have costs of their own, ``length`` is the cost of the plan,
        :meth:`fixedfleet.Plan.cost`.
    floor
        ⌈Σq/Q⌉, the smallest number of vehicles that any plan can have.
    served
        Whether the plan serves every customer once within capacity. It may use more
        vehicles than the fleet has, unless the fleet is mixed.
    within
        Whether the plan also uses no more vehicles than the fleet has.
    seconds
        Wall time of the whole call; for a batch, the instance's equal share of it.
    cpu_seconds
        Processor time of the same, of all threads and programs; None in rows of older
        files and of calls that were stopped.
    calibration
        Seconds that the core needed for a fixed computation, as a measure of its speed;
        see :mod:`fixedfleet.evaluate.calibration`. None in rows of older files and of
        calls that were stopped.
    fault
        What went wrong, in a sentence; None for a plan within the fleet.
    trace
        Improvements as (seconds since the call, cost of the objective), best last;
        empty for a method that reports none.
    machine
        Name of the processor or GPU that ran the method.
    instance_hash
        First digits of the SHA-256 of the instance: coordinates or matrix, metric,
        rounding, demands and capacity.
    made
        What the row was made with. Versions: ``fixedfleet``, ``commit`` (in a checkout,
        by ``git describe --dirty``), and the package of an outside solver. First digits
        of the SHA-256 of what made the plan: ``network`` (``network_file`` is the
        file's name), ``program`` of a command, and ``source``, the files of a method's
        own parts. ``spec``: what the method is, if the user gave it a name.
    details
        Figures about the call. For a network: the seconds of the parts ``network``,
        ``decoding`` and ``repair``, the ``bits`` of the numbers in its matrix products,
        and the number of customers that the decoder left out although a vehicle had
        room, ``left_early``, or because none had, ``left_full``. If a search ran with
        ``artificial``, its seconds, ``search``, and the length and the vehicles of the
        plan that it began with, ``start_length`` and ``start_vehicles``. With
        ``prove``, ``lower_bound``, which no plan undercuts, and ``is_optimal``, which
        is 1 if the plan is proven optimal, else 0.
    tours
        The plan's tours; None without a plan.
    vehicle_types
        The index of the vehicle type of each tour; None if vehicles are alike.
    """

    set: str
    instance: str
    method: str
    objective: Objective = "length"
    time_limit: float | None
    iterations: int | None
    seed: int
    customers: int
    fleet: int
    vehicle_cost: float
    length: float | None = None
    cost_v: float | None = None
    vehicles: int | None = None
    floor: int
    served: bool = False
    within: bool = False
    seconds: float = 0.0
    cpu_seconds: float | None = None
    calibration: float | None = None
    fault: str | None = None
    trace: Trace = ()
    machine: str = ""
    instance_hash: str = ""
    made: Mapping[str, str] = field(default_factory=dict, hash=False)
    details: Mapping[str, float] = field(default_factory=dict, hash=False)
    tours: tuple[tuple[int, ...], ...] | None = None
    vehicle_types: tuple[int, ...] | None = None

    @property
    def key(self) -> Key:
        """
        What identifies the run. The set is not a part of it, because sets share rows.
        """
        return (
            self.instance,
            self.method,
            self.objective,
            self.time_limit,
            self.iterations,
            self.seed,
        )

    @property
    def cost(self) -> float | None:
        """The plan's value of the method's objective."""
        return self.cost_v if self.objective == "cost-v" else self.length

    @property
    def excess(self) -> int:
        """Number of vehicles used beyond the fleet."""
        return max(0, (self.vehicles or 0) - self.fleet)

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(
            vars(self), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, line: str | bytes) -> Row:
        """Read a line of :meth:`to_json`."""
        try:
            found = json.loads(line)
            found["trace"] = tuple((time, cost) for time, cost in found["trace"])
            if found.get("tours") is not None:
                found["tours"] = tuple(map(tuple, found["tours"]))
            if found.get("vehicle_types") is not None:
                found["vehicle_types"] = tuple(found["vehicle_types"])
            return cls(**found)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a row of results: {error}") from None


class Results:
    """
    Rows in a file: one line of JSON each, after a header line.

    Rows are appended one whole line at a time. If a process is killed while it writes
    a line, the torn line is ignored on reading and removed before the next append.
    A ``with`` block or the first append makes the file if there is none, and locks it
    until :meth:`close`; another process is then refused (not on Windows). All rows of a
    file are made on one machine, whose name is in the header, so that their times can
    be compared. A file compressed by ``xz`` can be read, not appended to.

    Parameters
    ----------
    path
        The file. It need not exist: the first append creates it.

    Raises
    ------
    InputError
        If the file holds something else, or results of another version of the format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: IO[bytes] | None = None
        self.machine = ""  # as the header names it; empty until there is a file
        if self.path.exists():
            with _open_to_read(self.path) as file:
                self._read_header(file.readline())

    def rows(self) -> list[Row]:
        """Read all rows, in the order they were written."""
        rows: list[Row] = []
        if not self.path.exists():
            return rows
        with _open_to_read(self.path) as file:
            self._read_header(file.readline())
            for number, line in enumerate(file, 2):
                if not line.endswith(b"\n"):
                    break  # being written, or torn by a kill
                try:
                    rows.append(Row.from_json(line))
                except InputError as error:
                    raise InputError(f"{self.path}: line {number}: {error}") from None
        return rows

    def append(self, row: Row) -> None:
        """Write one row and flush it."""
        self._file = self._file or self._open()
        self._file.write(f"{row.to_json()}\n".encode())
        self._file.flush()

    def close(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        self._file = self._file or self._open()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _open(self) -> IO[bytes]:
        """Open the file for appending, and lock it until :meth:`close`."""
        if self.path.suffix == _COMPRESSED:
            raise InputError(f"{self.path} is compressed: choose another file")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # The file is created and locked before anything is written. If two runs start
        # at once, one of them is refused.
        file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            atomic.lock(
                file,
                f"another run is writing to {self.path}: wait for it, or choose "
                "another file",
            )
            self._read_header(file.readline())
            if self.machine not in ("", machine_name()):
                raise InputError(
                    f"{self.path} holds runs of another machine ({self.machine}; this "
                    f"is {machine_name()}), and their times do not compare: choose "
                    "another file"
                )
            file.seek(0)
            _cut_torn_line(file)
            if not file.tell():
                self.machine = machine_name()
                file.write(f"{make_header(self.machine)}\n".encode())
                file.flush()
        except BaseException:
            file.close()
            raise
        return file

    def _read_header(self, line: bytes) -> None:
        """
        Check the first line; a file without a complete first line counts as empty.
        """
        try:
            header: Any = json.loads(line)
        except ValueError:
            torn = not line.endswith(b"\n")
            if torn and _BEGINNING.startswith(line[: len(_BEGINNING)]):
                self.machine = ""  # a run has yet to write it, or was killed before
                return
            header = None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise InputError(
                f"{self.path} is not a file of results: its first line is not the "
                f"header of the format {FORMAT!r}"
            )
        if header.get("version") != VERSION or "machine" not in header:
            raise InputError(
                f"{self.path} holds results of version {header.get('version')!r} or of "
                f"an unnamed machine; this version of fixedfleet reads {VERSION}: "
                "choose another file"
            )
        self.machine = header["machine"]


_BEGINNING = json.dumps({"format": FORMAT})[:-1].encode()  # how every header begins


def make_header(machine: str) -> str:
    """Return the first line of a file whose rows were made on this machine."""
    return json.dumps({"format": FORMAT, "version": VERSION, "machine": machine})


def _open_to_read(path: Path) -> IO[bytes]:
    """Open a file of rows, compressed or not."""
    return lzma.open(path) if path.suffix == _COMPRESSED else path.open("rb")


def _cut_torn_line(file: IO[bytes]) -> None:
    """Truncate the file after its last complete line, and go to its end."""
    whole = file.read().rfind(b"\n") + 1
    file.truncate(whole)
    file.seek(whole)
