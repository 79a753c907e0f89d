"""What an evaluation writes down: a row a run, in a file that survives a kill."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from fixedfleet.errors import InputError
from fixedfleet.files import atomic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from fixedfleet.solve import Objective

__all__ = ["FORMAT", "VERSION", "Key", "Results", "Row", "Trace"]

FORMAT = "fixedfleet results"
VERSION = 1

Key = tuple[str, str, float | None, int | None, int]
Trace = tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """
    One method's run on one instance, measured by :class:`fixedfleet.Plan`.

    Attributes
    ----------
    set
        Name of the set the instance was taken from when the row was made.
    instance
        Name of the instance, the same in every set that has it.
    method
        The method's canonical spec, without paths.
    time_limit
        Seconds the method was given; None for one that takes no such limit.
    iterations
        Iterations it was given instead; else None.
    seed
        The seed it was given.
    customers, fleet
        Size of the instance, N, and the vehicles there are, M.
    vehicle_cost
        Fixed cost of a vehicle in ``cost_v``.
    length, cost_v, vehicles
        Length, Cost_v and vehicles of the plan; None unless it is ``served``.
    floor
        ⌈Σq/Q⌉, the vehicles that no plan can do without.
    served
        Whether the plan serves everybody once within capacity, whatever the fleet.
    within
        Whether it does so within the fleet.
    seconds
        Wall time of the method's whole call; for a batch, its share of it.
    fault
        What went wrong, in a sentence; None for a plan within the fleet.
    trace
        Improvements as (seconds since the call, cost), best last, the cost being what
        the method minimises. Empty for a method that reports none.
    machine
        Name of the processor, or of the GPU, that did the work.
    objective
        What the method minimises; None stands for what its name says, for files
        that were written without it.
    made
        What the row was made with: the version of ``fixedfleet`` and, where there is
        one, the first digits of the SHA-256 of the ``network``'s file. Empty where
        that was not recorded.
    """

    set: str
    instance: str
    method: str
    time_limit: float | None
    iterations: int | None
    seed: int
    customers: int
    fleet: int
    vehicle_cost: float
    length: float | None
    cost_v: float | None
    vehicles: int | None
    floor: int
    served: bool
    within: bool
    seconds: float
    fault: str | None = None
    trace: Trace = ()
    machine: str = ""
    objective: Objective | None = None
    made: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.objective is None:
            named = "objective=cost-v" in self.method
            object.__setattr__(self, "objective", "cost-v" if named else "length")

    @property
    def key(self) -> Key:
        """What tells a run from others. The set is not in it: sets share rows."""
        return (
            self.instance,
            self.method,
            self.time_limit,
            self.iterations,
            self.seed,
        )

    @property
    def cost(self) -> float | None:
        """What the method minimises, of its plan."""
        return self.cost_v if self.objective == "cost-v" else self.length

    @property
    def excess(self) -> int:
        """Vehicles used beyond the fleet."""
        return max(0, (self.vehicles or 0) - self.fleet)

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(vars(self), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Row:
        """Read a line of :meth:`to_json`."""
        try:
            found = json.loads(line)
            found["trace"] = tuple((time, cost) for time, cost in found["trace"])
            return cls(**found)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a row of results: {error}") from None


class Results:
    """
    Rows in a file, a line of JSON each after a line that says what the file is.

    Rows are appended one whole line at a time. Where a process was killed while it
    wrote one, the torn line is left out on reading and cut off before the next append.
    While one process appends, another's append is refused (not on Windows).

    Parameters
    ----------
    path
        The file. It need not exist: the first append makes it.

    Raises
    ------
    InputError
        If there is a file that holds something else, or results of another version.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: IO[bytes] | None = None
        self._rows: list[Row] = []  # what was read so far: lines are only ever added
        self._end = self._line = 0  # where that ends, in bytes and in lines
        if self.path.exists():
            with self.path.open("rb") as file:
                self._check_header(file.readline())

    def rows(self) -> list[Row]:
        """Read all rows, in the order they were written."""
        if self.path.exists():
            with self.path.open("rb") as file:
                self._read_on(file)
        return list(self._rows)

    def keys(self) -> set[Key]:
        """Read the keys of all rows."""
        return {row.key for row in self.rows()}

    def open(self) -> None:
        """
        Keep others from appending until :meth:`close`; an append does so by itself.

        Raises
        ------
        InputError
            If another process is appending.
        """
        self._file = self._file or self._open()

    def append(self, row: Row) -> None:
        """Write one row, and hand it to the system at once."""
        self._file = self._file or self._open()
        self._file.write(f"{row.to_json()}\n".encode())
        self._file.flush()

    def take(self, other: Results) -> int:
        """
        Append the rows of another file that are not here; return how many.

        A row is here if one of its key is, unless both tell of different networks.
        """
        known: dict[Key, set[str | None]] = {}
        for row in self.rows():
            known.setdefault(row.key, set()).add(row.made.get("network"))
        taken = 0
        for row in other.rows():
            network, there = row.made.get("network"), known.setdefault(row.key, set())
            if not there or not (network is None or {None, network} & there):
                there.add(network)
                self.append(row)
                taken += 1
        return taken

    def close(self) -> None:
        """Let others append."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _read_on(self, file: IO[bytes]) -> None:
        """Read the lines that were added since the last time."""
        if file.seek(0, os.SEEK_END) < self._end:  # another file by this name
            self._rows, self._end, self._line = [], 0, 0
        file.seek(self._end)
        for line in file:
            if not line.endswith(b"\n"):
                return  # being written, or torn by a kill
            if self._line == 0:
                self._check_header(line)
            else:
                self._rows.append(self._parse(line))
            self._end += len(line)
            self._line += 1

    def _parse(self, line: bytes) -> Row:
        try:
            return Row.from_json(line)
        except InputError as error:
            raise InputError(f"{self.path}: line {self._line + 1}: {error}") from None

    def _open(self) -> IO[bytes]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            header = json.dumps({"format": FORMAT, "version": VERSION})
            atomic.write_text(self.path, f"{header}\n")
        file = self.path.open("r+b")
        try:
            self._lock(file)
            _cut_torn_line(file)
        except BaseException:
            file.close()
            raise
        return file

    def _lock(self, file: IO[bytes]) -> None:
        if sys.platform == "win32":
            return
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing to {self.path}: wait for it, or choose "
                "another file"
            ) from None

    def _check_header(self, line: bytes) -> None:
        try:
            header: Any = json.loads(line)
        except ValueError:
            header = None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise InputError(
                f"{self.path} is no file of results: its first line is not the header "
                f"of the format {FORMAT!r}"
            )
        if header.get("version") != VERSION:
            raise InputError(
                f"{self.path} holds results of version {header.get('version')!r}; "
                f"this version reads {VERSION}: choose another file"
            )


def _cut_torn_line(file: IO[bytes]) -> None:
    """Put the end of the file behind its last whole line."""
    end = file.seek(0, os.SEEK_END)
    whole = end
    while whole > 0:
        begin = max(0, whole - 2**16)
        file.seek(begin)
        place = file.read(whole - begin).rfind(b"\n")
        if place >= 0:
            whole = begin + place + 1
            break
        whole = begin
    if whole < end:
        file.truncate(whole)
    file.seek(whole)
