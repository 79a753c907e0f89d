"""An evaluation: run methods on sets within limits, and write a row per run."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.errors import InputError, at_least, check_seed, check_whole
from fixedfleet.evaluate.methods import get_methods
from fixedfleet.evaluate.origin import current, machine_name, made_with
from fixedfleet.evaluate.rows import Results
from fixedfleet.evaluate.trials import Patience, Skipped, Trial, failed, work
from fixedfleet.progress import Progress
from fixedfleet.workers import Done, Lost, Message, check_engine, run_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Key, Row
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.instance import Instance
    from fixedfleet.workers import Engine, Event

__all__ = ["EvaluationSummary", "evaluate"]

_log = logging.getLogger(__name__)

Limits = tuple[float | None, int | None]  # seconds, iterations


@dataclass(frozen=True)
class EvaluationSummary:
    """
    What a call of :func:`evaluate` did.

    Attributes
    ----------
    new
        Number of rows written.
    found
        Number of rows that were in the file before.
    faults
        Number of rows written without a plan that serves all customers.
    skipped
        Number of runs skipped because a package turned out to be missing.
    left
        Number of runs left for the next call because the minutes were over.
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
        """Whether the file now has every row that was asked for."""
        return not self.skipped and not self.left

    def __str__(self) -> str:
        parts = [f"{self.new:,} new rows, {self.found:,} found in the file"]
        if self.faults:
            parts.append(f"{self.faults:,} without a plan that serves all customers")
        if self.skipped:
            parts.append(f"{self.skipped:,} skipped because a package is missing")
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
    Run methods on sets of instances and append one row per run to a file.

    Runs that the file already holds are not repeated, so an evaluation that was
    interrupted, even by ``kill -9``, is resumed by the same call. A script that calls
    this must keep its code under ``if __name__ == "__main__"``, because the worker
    processes import it again. In a notebook no guard is needed, and methods, decoders
    and other parts that are defined in its cells reach the worker processes.

    Parameters
    ----------
    sets
        The sets of instances.
    methods
        Methods or their specs; see :func:`fixedfleet.evaluate.get_method`.
    time_limits
        Seconds per instance for everything. A method that takes a time limit runs once
        with each. Empty if ``iterations`` is given.
    results
        The file of rows.
    seeds
        Each run is repeated with each seed.
    iterations
        Limit methods by iterations instead of time, which gives the same plans on any
        machine.
    processes
        Number of worker processes, each with one thread and, if there are enough, a
        core of its own. Default: one per core, or what the cluster has. Methods that
        take batches or a GPU run before the others, in one process on any cores.
    engine
        ``processes`` for the cores of this machine, ``ray`` for a cluster.
    ray_address
        Address of the Ray cluster; see :func:`fixedfleet.labels.label`.
    grace
        A run that takes longer than twice its time limit plus this many seconds is
        stopped and recorded as a fault.
    longest
        The same in seconds for a run without a time limit, and for a warm-up.
    minutes
        Begin no run after this many minutes.
    display
        Called with a :class:`fixedfleet.progress.Progress` at the beginning and as
        rows arrive.

    Raises
    ------
    InputError
        If an argument is wrong, or the file holds something else: results of other
        instances by these names, of another machine or version, or no results.
    MissingPackageError
        If a method lacks a package, before anything runs.
    """
    begin = time.monotonic()
    chosen = get_methods(methods)
    _check(sets, chosen, time_limits, seeds, processes, engine, (grace, longest))
    limits = [_limits_of(method, time_limits, iterations) for method in chosen]
    for method in chosen:
        method.check()
    store = results if isinstance(results, Results) else Results(results)
    patience = Patience(grace, longest)
    end = math.inf if minutes is None else begin + 60 * minutes
    with store:  # locks the file: a second run into it is refused here
        agenda = _make_agenda(sets, chosen, limits, seeds, store.rows())
        tally = _Tally(store, agenda, begin, display)
        for trials, most in ((agenda.alone, 1), (agenda.parallel, processes)):
            events = run_jobs(
                work,
                _until(trials, end),
                shared=(tuple(methods), patience),
                engine=engine,
                processes=most,
                ray_address=ray_address,
                pinned=trials is agenda.parallel,
                seconds_for=patience.seconds_for_warm_up,
                gpus_for=lambda trial: int(chosen[trial.method].on_gpu),
            )
            if trials:
                with contextlib.closing(events):  # on Ctrl-C workers are ended at once
                    tally.follow(events)
    return tally.summary()


def _limits_of(
    method: Method, time_limits: Sequence[float], iterations: int | None
) -> list[Limits]:
    """
    Return the limits that a method is run with, as (seconds, iterations).

    Raises
    ------
    InputError
        If the method does not take the kind of limit that is given.
    """
    if not method.limits:
        return [(None, None)]
    if iterations is not None:
        check_whole("iterations", iterations, at_least(1))
        if time_limits:
            raise InputError("give either time limits or iterations, not both")
        if "iterations" not in method.limits:
            raise InputError(
                f"the method {method.name!r} cannot count iterations: give a time limit"
            )
        return [(None, iterations)]
    if not time_limits:
        raise InputError(f"the method {method.name!r} needs a time limit")
    if "time" not in method.limits:
        raise InputError(f"the method {method.name!r} takes iterations, not time")
    return [(float(seconds), None) for seconds in time_limits]


class _Agenda(NamedTuple):
    """
    The runs that the file lacks.

    Attributes
    ----------
    alone
        Trials of methods that take batches or a GPU, for one process.
    parallel
        Trials of all other methods.
    known
        Keys of the rows in the file.
    total, found
        Number of rows asked for, and how many of them are in the file.
    """

    alone: list[Trial]
    parallel: list[Trial]
    known: set[Key]
    total: int
    found: int


def _make_agenda(
    sets: Sequence[InstanceSet],
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seeds: Sequence[int],
    rows: Iterable[Row],
) -> _Agenda:
    """
    Return the runs that the file lacks.

    Instances come one after the other, each with all methods and limits, so that an
    interrupted run has compared all methods on the same instances.

    Parameters
    ----------
    sets, methods, seeds
        What to run.
    limits
        The limits of each method.
    rows
        The rows in the file. Rows of a network that has changed since do not count.

    Raises
    ------
    InputError
        If the file has a row of another instance with the same name or of another
        vehicle cost, or if two sets have different instances with the same name.
    """
    by_key = {row.key: row for row in current(rows, methods)}
    planned: dict[Key, tuple[Instance, float]] = {}
    alone: list[Trial] = []
    parallel: list[Trial] = []
    for chosen in sets:
        for seed in dict.fromkeys(seeds):
            for trial in _trials(chosen, methods, limits, seed):
                if _plan_keys(trial, planned) - by_key.keys():
                    method = methods[trial.method]
                    single = method.batch > 1 or method.on_gpu
                    (alone if single else parallel).append(trial)
    found = [key for key in planned if key in by_key]
    for key in found:
        _check_same(by_key[key], *planned[key])
    return _Agenda(alone, parallel, set(by_key), len(planned), len(found))


def _plan_keys(trial: Trial, planned: dict[Key, tuple[Instance, float]]) -> set[Key]:
    """Add a trial's rows to those planned; return the keys that are new."""
    new = set()
    for key, instance in zip(trial.keys(), trial.instances, strict=True):
        here = instance, trial.vehicle_cost
        if key in planned:  # sets share rows
            _check_alike(planned[key], here, trial.set)
        else:
            planned[key] = here
            new.add(key)
    return new


def _trials(
    chosen: InstanceSet,
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seed: int,
) -> Iterator[Trial]:
    """Yield all trials of a set: whole batches first, then instance by instance."""
    kinds = list(zip(methods, limits, strict=True))

    @functools.cache
    def made(place: int, customers: int) -> Mapping[str, str]:
        return made_with(methods[place], customers)

    def trial(place: int, part: Sequence[Instance], limit: Limits) -> Trial:
        return Trial(
            method=place,
            name=methods[place].name,
            set=chosen.name,
            instances=tuple(part),
            vehicle_cost=chosen.vehicle_cost,
            time_limit=limit[0],
            iterations=limit[1],
            seed=seed,
            objective=methods[place].objective,
            made=made(place, part[0].num_customers),
        )

    for place, (method, wanted) in enumerate(kinds):
        if method.batch > 1:
            for limit in wanted:
                for part in _batches(chosen.instances, method.batch):
                    yield trial(place, part, limit)
    for instance in chosen.instances:
        for place, (method, wanted) in enumerate(kinds):
            if method.batch == 1:
                for limit in wanted:
                    yield trial(place, [instance], limit)


def _batches(instances: Sequence[Instance], size: int) -> Iterator[list[Instance]]:
    """Cut a set into batches of equal-sized instances, the same in every run."""
    groups: dict[int, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.num_customers, []).append(instance)
    for group in groups.values():
        for begin in range(0, len(group), size):
            yield group[begin : begin + size]


def _check_alike(
    there: tuple[Instance, float], here: tuple[Instance, float], name: str
) -> None:
    """Raise InputError unless an instance is the same in every set that has it."""
    if there[1] != here[1]:
        raise InputError(
            f"{here[0].name!r} of the set {name} is in another set too, where a "
            f"vehicle costs {there[1]:g} instead of {here[1]:g}: evaluate the sets "
            "into different files"
        )
    if there[0] is not here[0] and there[0] != here[0]:
        raise InputError(
            f"two sets have different instances named {here[0].name!r}, one of them "
            f"{name}: evaluate the sets into different files"
        )


def _check_same(row: Row, instance: Instance, vehicle_cost: float) -> None:
    """Raise InputError unless a row is of this instance, as far as the row tells."""
    for what, there, here in (
        ("customers", row.customers, instance.num_customers),
        ("vehicles", row.fleet, instance.vehicles),
        ("as the cost of a vehicle", row.vehicle_cost, vehicle_cost),
        ("vehicles that its demands need", row.floor, instance.minimum_vehicles),
    ):
        if there != here:
            raise InputError(
                f"the file of results has a row of {instance.name!r} with {there:g} "
                f"{what}, here it is {here:g}: choose another file"
            )


class _Tally:
    """Writes rows as they arrive, and counts them."""

    def __init__(
        self,
        store: Results,
        agenda: _Agenda,
        begin: float,
        display: Callable[[Progress], None] | None,
    ) -> None:
        self.store, self.begin, self.display = store, begin, display
        self.total, self.found = agenda.total, agenda.found
        self.new = self.faults = 0
        self.known = agenda.known
        self.skipped: set[Key] = set()
        self._report()

    def follow(self, events: Iterable[Event]) -> None:
        """Write the rows of trials until there are no more."""
        warm: set[Trial] = set()
        for event in events:
            match event:
                case Message(trial, _):
                    warm.add(trial)
                case Done(trial, Skipped(reason)):
                    if not self.skipped:
                        _log.warning("skipped, and others like it: %s", reason)
                    self.skipped.update(set(trial.keys()) - self.known)
                case Done(_, rows):
                    self._write(rows)
                case Lost(trial, reason, seconds):
                    why = reason if trial in warm else f"in the warm-up: {reason}"
                    # A GPU's name is not worth loading its driver in this process.
                    self._write(failed(trial, why, seconds, machine_name()))

    def _write(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if row.key not in self.known:  # a batch may hold some already
                self.known.add(row.key)
                self.store.append(row)
                self.new += 1
                self.faults += not row.served
        self._report()

    def _report(self) -> None:
        if self.display is not None:
            seconds = time.monotonic() - self.begin
            done = self.found + self.new
            self.display(Progress(done, self.total, self.found, seconds, "rows"))

    def summary(self) -> EvaluationSummary:
        """Return what was done."""
        return EvaluationSummary(
            new=self.new,
            found=self.found,
            faults=self.faults,
            skipped=len(self.skipped),
            left=self.total - self.found - self.new - len(self.skipped),
            seconds=time.monotonic() - self.begin,
        )


def _until(trials: Sequence[Trial], end: float) -> Iterator[Trial]:
    for trial in trials:
        if time.monotonic() >= end:
            return
        yield trial


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
    names = [(method.name, method.objective) for method in methods]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"the method {twice[0]!r} is given twice")
    for limit in (*time_limits, *patience):
        if not 0 < limit < math.inf:
            raise InputError(f"a limit of {limit:g} s is not a time above 0")
    for seed in seeds:
        check_seed(seed)
    check_engine(engine, processes)
