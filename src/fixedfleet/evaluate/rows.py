"""The results of an evaluation: one row per run, appended to a file."""

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

# A run is identified by instance, method, objective, time limit, iterations and seed.
Key = tuple[str, str, str, float | None, int | None, int]
# The improvements of a run: pairs of seconds and cost.
Trace = tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """
    The result of one run of a method on one instance.

    Lengths and feasibility are computed by :class:`fixedfleet.Plan`, not by the method.

    Attributes
    ----------
    set, instance
        Name of the set that the row was made for, and name of the instance. An instance
        has the same name in every set that contains it.
    method
        The method's name: the one that the user gave it, or its spec without paths and
        without the objective.
    objective
        What the method minimises.
    time_limit, iterations
        The limit in seconds or in iterations. Both are None for a method without a
        limit.
    seed
        Seed of the run.
    customers, fleet
        Number of customers, N, and of vehicles, M, of the instance.
    vehicle_cost
        Fixed cost per vehicle used. ``cost_v`` is the length plus these costs.
    length, cost_v, vehicles
        Length, Cost_v and number of vehicles of the plan; None unless ``served``. If
        vehicles differ or have costs of their own, ``length`` is the cost of the plan,
        :meth:`fixedfleet.Plan.cost`.
    floor
        ⌈Σq/Q⌉, a lower bound on the number of vehicles of any plan.
    served
        Whether the plan serves every customer once within capacity. It may use more
        vehicles than the fleet has, unless the fleet is mixed.
    within
        Whether the plan also uses no more vehicles than the fleet has.
    seconds
        Wall time of the whole call; for a batch, the instance's equal share of it.
    cpu_seconds
        Processor time of the call, summed over all its threads and the programs that it
        runs. None in rows of older files and of calls that were stopped.
    calibration
        Seconds that the core needed for a fixed computation, as a measure of its speed;
        see :mod:`fixedfleet.evaluate.calibration`. None in rows of older files and of
        calls that were stopped.
    fault
        What went wrong, in a sentence; None for a plan within the fleet.
    trace
        The improvements during the run as (seconds since the call, cost), the best one
        last. Empty for a method that does not report them.
    machine
        Name of the processor or GPU that ran the method.
    instance_hash
        First digits of the SHA-256 of the instance: coordinates or matrix, metric,
        rounding, demands and capacity.
    made
        What the row was made with. Versions: ``fixedfleet``, ``commit`` (in a checkout,
        by ``git describe --dirty``), the package of an outside solver, and ``ortools``
        with the option ``prove=yes``. First digits of the SHA-256 of what made the
        plan: ``network`` (``network_file`` is the file's name), ``program`` of a
        command, and ``source``, the files of the user's own code.
        ``spec``: the spec of the method, if the user gave it a name.
    details
        Numbers about the call. For a network: the seconds of its steps ``network``,
        ``decoding`` and ``repair``; the ``bits`` of the numbers in its matrix products,
        16 or 32; and how many customers the decoder left unserved
        although a vehicle had room (``left_early``), or because none had
        (``left_full``). For a method with the option ``artificial=yes``, by which a
        search may begin with a plan beyond the fleet: the seconds of the search
        (``search``), and the length and the number of vehicles of its initial plan
        (``start_length``, ``start_vehicles``). With the option ``prove=yes``: a lower
        bound on the cost of any plan (``lower_bound``), and 1 if the plan is proven
        optimal, otherwise 0 (``is_optimal``).
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
        The key that identifies the run of this row in a file.

        It does not contain the set, because sets with the same instance share its rows.
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
        """
        The cost that the method minimises: Cost_v or the length; None without a plan.
        """
        return self.cost_v if self.objective == "cost-v" else self.length

    @property
    def excess(self) -> int:
        """The number of vehicles that the plan uses beyond the fleet."""
        return max(0, (self.vehicles or 0) - self.fleet)

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(
            vars(self), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, line: str | bytes) -> Row:
        """
        Return the row in a line that :meth:`to_json` has written.

        InputError is raised if the line is not a row.
        """
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
    A file of rows: a header line, then one line of JSON per row.

    Rows are appended one whole line at a time. If a process is killed while it writes
    a line, the incomplete line is ignored on reading and removed before the next
    append.

    A ``with`` block or the first append creates the file if necessary, and locks it
    until :meth:`close`. Meanwhile, other processes cannot append to it (except on
    Windows). All rows that are appended must come from one machine, whose name is in
    the header, so that their times can be compared. A file compressed by ``xz`` can be
    read, but not appended to; it may have rows of several machines, which each row
    names.

    Parameters
    ----------
    path
        The file. It need not exist: the first append creates it.

    Raises
    ------
    InputError
        If the file is not a file of results, or has another version of the format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: IO[bytes] | None = None
        self.machine = ""  # the machine in the header; empty until there is a file
        if self.path.exists():
            with _open_to_read(self.path) as file:
                self._read_header(file.readline())

    def rows(self) -> list[Row]:
        """Return all rows of the file, in the order they were written."""
        rows: list[Row] = []
        if not self.path.exists():
            return rows
        with _open_to_read(self.path) as file:
            self._read_header(file.readline())
            for number, line in enumerate(file, 2):
                if not line.endswith(b"\n"):
                    break  # a process is writing it, or was killed while it did
                try:
                    rows.append(Row.from_json(line))
                except InputError as error:
                    raise error.within(f"{self.path}: line {number}") from None
        return rows

    def append(self, row: Row) -> None:
        """Append one row to the file and flush it."""
        self._file = self._file or self._open()
        self._file.write(f"{row.to_json()}\n".encode())
        self._file.flush()

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        self._file = self._file or self._open()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _open(self) -> IO[bytes]:
        """
        Return the file, opened for appending and locked until :meth:`close`.

        InputError is raised if the file is compressed, is locked by another run, or has
        rows of another machine.
        """
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
        Check the header line, and set ``self.machine`` to the machine's name in it.

        A file without a complete first line counts as empty. InputError is raised for
        any other line that is not a header of this version.
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
    """Return the header line of a file whose rows were made on the named machine."""
    return json.dumps({"format": FORMAT, "version": VERSION, "machine": machine})


def _open_to_read(path: Path) -> IO[bytes]:
    """Return a file of rows, opened for reading; it may be compressed."""
    return lzma.open(path) if path.suffix == _COMPRESSED else path.open("rb")


def _cut_torn_line(file: IO[bytes]) -> None:
    """Remove an incomplete last line from a file, and go to the end of the file."""
    whole = file.read().rfind(b"\n") + 1
    file.truncate(whole)
    file.seek(whole)
