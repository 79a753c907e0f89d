"""An evaluation: sets, methods and limits into rows, in processes or on a cluster."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from fixedfleet.errors import InputError, check_whole
from fixedfleet.evaluate.cluster import by_ray
from fixedfleet.evaluate.job import Job, Skipped
from fixedfleet.evaluate.methods import get_method
from fixedfleet.evaluate.processes import Patience, by_processes
from fixedfleet.evaluate.rows import Results
from fixedfleet.evaluate.schedule import Schedule, limits_of
from fixedfleet.progress import Progress
from fixedfleet.workers import available_cores

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fixedfleet.evaluate.protocol import Method
    from fixedfleet.evaluate.rows import Key, Row
    from fixedfleet.evaluate.sets import InstanceSet

__all__ = ["Engine", "EvaluationSummary", "evaluate"]

_log = logging.getLogger(__name__)

Engine = Literal["processes", "ray"]


@dataclass(frozen=True)
class EvaluationSummary:
    """
    What a call of :func:`evaluate` did.

    Attributes
    ----------
    new
        Rows written.
    found
        Rows asked for that were in the file before.
    faults
        Rows written whose plan does not serve everybody, or which have none.
    skipped
        Rows left out because a package they turned out to need is missing.
    left
        Rows left for the next time because the minutes were over.
    seconds
        Wall time.
    """

    new: int
    found: int
    faults: int
    skipped: int
    left: int
    seconds: float

    @property
    def finished(self) -> bool:
        """Whether every row asked for is in the file now."""
        return not self.skipped and not self.left

    def __str__(self) -> str:
        parts = [f"{self.new:,} rows new, {self.found:,} there before"]
        if self.faults:
            parts.append(f"{self.faults:,} without a plan that serves everybody")
        if self.skipped:
            parts.append(f"{self.skipped:,} skipped for want of a package")
        if self.left:
            parts.append(f"{self.left:,} left for the next time")
        return f"{'; '.join(parts)} ({self.seconds:.1f} s)"


def evaluate(
    sets: Sequence[InstanceSet],
    methods: Sequence[Method | str],
    time_limits: Sequence[float],
    results: Results | str | os.PathLike[str],
    *,
    seeds: Sequence[int] = (0,),
    iterations: int | None = None,
    processes: int | None = None,
    engine: Engine = "processes",
    ray_address: str | None = None,
    grace: float = 30.0,
    longest: float = 600.0,
    minutes: float | None = None,
    display: Callable[[Progress], None] | None = None,
) -> EvaluationSummary:
    """
    Run methods on sets of instances and append a row for each run to a file.

    Rows that the file holds already are not run again, so an evaluation that was
    ended, by Ctrl-C or a kill too, goes on where it was. A script that calls this must
    keep its code under ``if __name__ == "__main__"``: workers import it again.

    Parameters
    ----------
    sets
        The sets.
    methods
        Methods, or their specs; see :func:`fixedfleet.evaluate.get_method`.
    time_limits
        Seconds an instance, everything included; a method that takes a limit runs once
        with each. Empty where ``iterations`` is given.
    results
        The file of rows.
    seeds
        Each run is repeated with each of these.
    iterations
        Limit methods by iterations instead of time, which gives the same plans on any
        machine.
    processes
        Processes at work at once, one thread each, on a core of its own each where
        there are enough. Default: one a core, or what the cluster has. Methods that
        take instances in batches, and those on a GPU, run before the others in one
        process, on any cores.
    engine
        ``processes`` for the cores of this machine, ``ray`` for a cluster.
    ray_address
        Where the Ray cluster is; see :func:`fixedfleet.labels.label`.
    grace
        A run that takes longer than twice its time limit and so many seconds is ended
        and recorded as a fault.
    longest
        The same for a run without a time limit, and for a warm-up: so many seconds.
    minutes
        Begin no run after so many minutes.
    display
        Called with a :class:`Progress` when the run begins and as rows come.

    Raises
    ------
    InputError
        If an argument is wrong, or the file holds something else: other results by
        these names, another version, anything but results.
    MissingPackageError
        If a method lacks a package, before anything runs.
    """
    begin = time.monotonic()
    chosen = [get_method(m) if isinstance(m, str) else m for m in methods]
    _check(sets, chosen, time_limits, seeds, processes, engine, (grace, longest))
    limits = [limits_of(method, time_limits, iterations) for method in chosen]
    for method in chosen:
        method.check()
    store = results if isinstance(results, Results) else Results(results)
    patience = Patience(grace, longest)
    end = math.inf if minutes is None else begin + 60 * minutes
    with store:
        store.open()  # a second run into the same file is refused here
        schedule = Schedule(sets, chosen, limits, seeds, store.rows())
        tally = _Tally(store, schedule, begin, display)
        for jobs, most in ((schedule.alone, 1), (schedule.parallel, processes)):
            if not jobs:
                continue
            if engine == "ray":
                done = by_ray(_until(jobs, end), chosen, most, ray_address, patience)
            else:
                many = min(most or available_cores(), len(jobs))
                pinned = jobs is schedule.parallel
                done = by_processes(
                    _until(jobs, end), chosen, many, patience, pinned=pinned
                )
            with contextlib.closing(done):  # on Ctrl-C workers are ended at once
                tally.follow(done)
    return tally.summary()


class _Tally:
    """Writes rows as they come, and counts."""

    def __init__(
        self,
        store: Results,
        schedule: Schedule,
        begin: float,
        display: Callable[[Progress], None] | None,
    ) -> None:
        self.store, self.begin, self.display = store, begin, display
        self.total, self.found = schedule.total, schedule.found
        self.new = self.faults = 0
        self.known = schedule.known
        self.skipped: set[Key] = set()
        self._tell()

    def follow(self, done: Iterable[tuple[Job, list[Row] | Skipped]]) -> None:
        for job, rows in done:
            if isinstance(rows, Skipped):
                if not self.skipped:
                    _log.warning("skipped, and others like it: %s", rows.reason)
                self.skipped.update(set(job.keys()) - self.known)
                continue
            for row in rows:
                if row.key not in self.known:  # a batch may hold some already
                    self.known.add(row.key)
                    self.store.append(row)
                    self.new += 1
                    self.faults += not row.served
            self._tell()

    def _tell(self) -> None:
        if self.display is not None:
            seconds = time.monotonic() - self.begin
            done = self.found + self.new
            self.display(Progress(done, self.total, self.found, seconds, "rows"))

    def summary(self) -> EvaluationSummary:
        return EvaluationSummary(
            new=self.new,
            found=self.found,
            faults=self.faults,
            skipped=len(self.skipped),
            left=self.total - self.found - self.new - len(self.skipped),
            seconds=time.monotonic() - self.begin,
        )


def _until(jobs: Sequence[Job], end: float) -> Iterator[Job]:
    for job in jobs:
        if time.monotonic() >= end:
            return
        yield job


def _check(
    sets: Sequence[InstanceSet],
    methods: Sequence[Method],
    time_limits: Sequence[float],
    seeds: Sequence[int],
    processes: int | None,
    engine: str,
    patience: tuple[float, float],
) -> None:
    if not sets or not methods or not seeds:
        raise InputError("give at least one set, one method and one seed")
    names = [method.name for method in methods]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"the method {twice!r} is given twice")
    for limit in (*time_limits, *patience):
        if not 0 < limit < math.inf:
            raise InputError(f"a limit of {limit:g} s is not a time above 0")
    for seed in seeds:
        check_whole("seed", seed, least=0)
    if processes is not None:
        check_whole("processes", processes, least=1)
    if engine not in get_args(Engine):
        raise InputError(
            f"unknown engine {engine!r}: choose from {', '.join(get_args(Engine))}"
        )
