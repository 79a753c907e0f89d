"""An evaluation: run methods on sets within limits, and write a row per run."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, check_seed
from fixedfleet.evaluate.agenda import limits_of, make_agenda
from fixedfleet.evaluate.method_specs import get_methods
from fixedfleet.evaluate.origin import machine_name
from fixedfleet.evaluate.rows import Results
from fixedfleet.evaluate.trials import failed, work
from fixedfleet.progress import Progress
from fixedfleet.workers import Done, Lost, Message, check_engine, run_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fixedfleet.evaluate.agenda import Agenda
    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Key, Row
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.evaluate.trials import Trial
    from fixedfleet.workers import Engine, Event

__all__ = ["EvaluationSummary", "evaluate"]

# Seconds after which a call is stopped and recorded as a fault: a warm-up before a run
# with a time limit, that run beyond twice its limit, and a call without a time limit.
_WARMING, _GRACE, _LONGEST = 150.0, 30.0, 600.0


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
    seconds
        Wall time.
    """

    new: int
    found: int
    faults: int
    seconds: float

    def __str__(self) -> str:
        parts = [f"{self.new:,} new rows, {self.found:,} found in the file"]
        if self.faults:
            parts.append(f"{self.faults:,} without a plan that serves all customers")
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
    display: Callable[[Progress], None] | None = None,
) -> EvaluationSummary:
    """
    Run methods on sets of instances and append one row per run to a file.

    Runs that the file already holds are not repeated, so an evaluation that was
    interrupted, even by ``kill -9``, is resumed by the same call. A run that takes
    longer than twice its time limit plus 30 seconds, or 600 seconds if it has no limit,
    is stopped and recorded as a fault. A script that calls
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
        ``processes`` for the cores of this machine, ``ray`` for a cluster; see
        :func:`fixedfleet.labels.label`.
    display
        Called with a :class:`fixedfleet.progress.Progress` at the beginning and as
        rows arrive.

    Raises
    ------
    InputError
        If an argument is wrong, or the file holds something else: results of other
        instances by these names, of another machine or version, or no results.
    MissingPackageError
        If a method lacks a package. Most methods say so before anything runs.
    """
    begin = time.monotonic()
    chosen = get_methods(methods)
    _check(sets, chosen, time_limits, seeds, processes, engine)
    limits = [limits_of(method, time_limits, iterations) for method in chosen]
    for method in chosen:
        method.check()
    store = results if isinstance(results, Results) else Results(results)

    with store:  # locks the file: a second run into it is refused here
        agenda = make_agenda(sets, chosen, limits, seeds, store.rows())
        done = EvaluationSummary(0, agenda.found, 0, 0.0)
        _report(done, agenda, begin, display)
        for trials, most in ((agenda.single, 1), (agenda.parallel, processes)):
            if not trials:
                continue
            events = run_jobs(
                work,
                trials,
                shared=(tuple(chosen), _GRACE, _LONGEST),
                engine=engine,
                processes=most,
                pinned=trials is agenda.parallel,
                seconds_for=_warm_up_seconds,
                gpus_for=lambda trial: int(chosen[trial.method].on_gpu),
            )
            with contextlib.closing(events):  # on Ctrl-C workers are ended at once
                for rows in _answers(events):
                    done = _keep(rows, store, agenda.known, done)
                    _report(done, agenda, begin, display)
    return replace(done, seconds=time.monotonic() - begin)


def _warm_up_seconds(trial: Trial) -> float:
    return _LONGEST if trial.time_limit is None else _WARMING


def _answers(events: Iterable[Event]) -> Iterator[list[Row]]:
    """Yield the rows of each trial."""
    warm: set[Trial] = set()
    for event in events:
        match event:
            case Message(trial, _):
                warm.add(trial)
            case Done(_, rows):
                yield rows
            case Lost(trial, reason, seconds):
                why = reason if trial in warm else f"in the warm-up: {reason}"
                # A GPU's name is not worth loading its driver in this process.
                yield failed(trial, why, seconds, machine_name())


def _keep(
    rows: list[Row], store: Results, known: set[Key], done: EvaluationSummary
) -> EvaluationSummary:
    """Write the rows that are not known yet; return what is done with them."""
    new = [row for row in rows if row.key not in known]  # a batch may hold some
    for row in new:
        known.add(row.key)
        store.append(row)
    faults = sum(not row.served for row in new)
    return replace(done, new=done.new + len(new), faults=done.faults + faults)


def _report(
    done: EvaluationSummary,
    agenda: Agenda,
    begin: float,
    display: Callable[[Progress], None] | None,
) -> None:
    if display is not None:
        rows, seconds = done.found + done.new, time.monotonic() - begin
        display(Progress(rows, agenda.total, done.found, seconds, "rows"))


def _check(
    sets: Sequence[InstanceSet],
    methods: Sequence[Method],
    time_limits: Sequence[float],
    seeds: Sequence[int],
    processes: int | None,
    engine: str,
) -> None:
    if not sets or not methods or not seeds:
        raise InputError("give at least one set, one method and one seed")
    names = [(method.name, method.objective) for method in methods]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"the method {twice[0]!r} is given twice")
    for limit in time_limits:
        if not 0 < limit < math.inf:
            raise InputError(f"a limit of {limit:g} s is not a time above 0")
    for seed in seeds:
        check_seed(seed)
    check_engine(engine, processes)
