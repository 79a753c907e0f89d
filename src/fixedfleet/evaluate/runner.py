"""Run methods on sets of instances within limits, and write one row per run."""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fixedfleet.errors import (
    InputError,
    above,
    at_least,
    check_number,
    check_seed,
    check_whole,
)
from fixedfleet.evaluate.method_specs import get_method
from fixedfleet.evaluate.metrics import describe_clocks
from fixedfleet.evaluate.origin import describe_mix, machine_name, without_outdated
from fixedfleet.evaluate.rows import Results
from fixedfleet.evaluate.trials import failed, missing_trials, work
from fixedfleet.progress import Progress
from fixedfleet.wording import count
from fixedfleet.workers import Done, Lost, Message, check_engine, run_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Key, Row
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.evaluate.trials import Limits, Trial
    from fixedfleet.workers import Engine, Event

__all__ = ["EvaluationSummary", "evaluate"]

_log = logging.getLogger("fixedfleet")

# A call that takes longer than this many seconds is stopped and recorded as a fault:
# _WARMING for the warm-up before a run with a time limit; twice the limit plus _GRACE
# for that run; _LONGEST for a call without a time limit.
_WARMING, _GRACE, _LONGEST = 150.0, 30.0, 600.0


@dataclass(frozen=True)
class EvaluationSummary:
    """
    The result of a call of :func:`evaluate`.

    Attributes
    ----------
    rows
        The rows of all requested runs: those written by this call, and those that were
        in the file before.
    new, found
        Number of rows written by this call, and of those that were in the file before.
    faults
        Number of rows written by this call without a plan that serves all customers.
    seconds
        Wall time of the call, in seconds.
    """

    rows: list[Row] = field(repr=False)
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
    interrupted, even by ``kill -9``, is resumed by the same call. Runs are repeated if
    the program, the source file or the network of a method has changed.

    A warning is logged if runs are repeated for this reason, if rows of the file were
    made with other versions, and if the wall time of a method's runs differs from their
    processor time.

    A run that takes longer than twice its time limit plus 30 seconds, or 600 seconds if
    it has no limit, is stopped and recorded as a fault. Methods, decoders and other
    parts may be defined in a script or a notebook: they are sent to the worker
    processes.

    Parameters
    ----------
    sets
        The sets of instances.
    methods
        Methods or their specs; see :func:`fixedfleet.evaluate.get_method`.
    time_limits
        Time limits in seconds per instance; a limit includes making the start. A method
        that takes a time limit is run once with each of them. Empty if ``iterations``
        is given, or if no method takes a limit.
    results
        The file to which rows are appended.
    seeds
        Each run is repeated with each seed.
    iterations
        Limit methods by iterations instead of time. Then every machine finds the same
        plans.
    processes
        Number of worker processes. Each has one thread and, if there are enough cores,
        a core of its own. Default: one per core, or as many as the cluster can run.
        Methods that take batches or a GPU run before the others, in one process that
        may use all cores.
    engine
        ``processes`` for the cores of this machine, ``ray`` for a cluster; see
        :func:`fixedfleet.labels.label`.
    display
        Called with a :class:`fixedfleet.progress.Progress` at the beginning and
        whenever rows are written.

    Raises
    ------
    InputError
        If an argument is wrong, or if the file cannot be continued: it is not a file of
        results, or its results are of another machine, of another version of the
        format, or of other instances with the same names.
    MissingPackageError
        If a package of a method is missing. Most methods report this before anything
        runs.
    """
    begin = time.monotonic()
    chosen = [get_method(method) for method in methods]
    _check(sets, chosen, time_limits, seeds, processes, engine)
    limits = [_limits_of(method, time_limits, iterations) for method in chosen]
    for method in chosen:
        method.check()
    store = results if isinstance(results, Results) else Results(results)
    new = faults = 0

    with store:  # locks the file: a second run into it is refused here
        there = store.rows()
        known = {row.key: row for row in without_outdated(there, chosen)}
        trials, asked = missing_trials(sets, chosen, limits, seeds, known)
        found = sum(key in known for key in asked)
        _warn(store, there, known, asked)

        def report() -> None:
            if display is not None:
                done, seconds = found + new, time.monotonic() - begin
                display(Progress(done, len(asked), found, seconds, "rows"))

        report()
        # `closing` ends the workers at once on Ctrl-C.
        with contextlib.closing(_run(trials, chosen, processes, engine)) as answers:
            for rows in answers:
                for row in rows:
                    if row.key not in known:  # a batch may hold known rows
                        known[row.key] = row
                        store.append(row)
                        new += 1
                        faults += not row.served
                report()
    rows = [known[key] for key in asked]
    on_cores = {(m.name, m.objective) for m in chosen if not m.on_gpu}
    timed = (row for row in rows if (row.method, row.objective) in on_cores)
    for said in describe_clocks(timed):
        _log.warning("%s", said)
    return EvaluationSummary(rows, new, found, faults, time.monotonic() - begin)


def _warn(
    store: Results, there: list[Row], known: dict[Key, Row], asked: dict[Key, Row]
) -> None:
    """
    Log warnings about requested rows of the file that were made with other code.

    If the method of a row has changed since, its run is repeated. If only the version
    of a package differs, the row counts as done.

    Parameters
    ----------
    store, there
        The file, and all its rows.
    known
        The rows of the file whose methods have not changed, by key.
    asked
        The rows of all requested runs, by key; their results are not filled in.
    """
    changed = {row.key for row in there if row.key in asked and row.key not in known}
    if changed:
        methods = ", ".join(sorted({method for _, method, *_ in changed}))
        _log.warning(
            "%s: %s of %s will be repeated, because the program, source file, network "
            "or spec of the method has changed since",
            store.path,
            count(len(changed), "run"),
            methods,
        )
    pairs = ((known[key], row) for key, row in asked.items() if key in known)
    for said in describe_mix(pairs):
        _log.warning("%s: %s; they count as done", store.path, said)


def _run(
    trials: Sequence[Trial],
    methods: Sequence[Method],
    processes: int | None,
    engine: Engine,
) -> Generator[list[Row]]:
    """
    Run all trials in worker processes, and yield the rows of each trial when it ends.

    Trials with batches or a GPU come first, in a single process. ``processes`` is the
    number of processes for the other trials.
    """

    def alone(trial: Trial) -> bool:
        method = methods[trial.method]
        return method.batch > 1 or method.on_gpu

    single = [trial for trial in trials if alone(trial)]
    parallel = [trial for trial in trials if not alone(trial)]
    for jobs, most in ((single, 1), (parallel, processes)):
        if not jobs:
            continue
        events = run_jobs(
            work,
            jobs,
            shared=(tuple(methods), _GRACE, _LONGEST),
            engine=engine,
            processes=most,
            pinned=jobs is parallel,
            seconds_for=_warm_up_seconds,
            gpus_for=lambda trial: int(methods[trial.method].on_gpu),
        )
        with contextlib.closing(events):
            yield from _answers(events)


def _warm_up_seconds(trial: Trial) -> float:
    return _LONGEST if trial.time_limit is None else _WARMING


def _answers(events: Iterable[Event]) -> Iterator[list[Row]]:
    """
    Yield the rows of each trial that ends, from the events of worker processes.

    If a worker died or was stopped, the rows record this as a fault.
    """
    warm: set[Trial] = set()
    for event in events:
        match event:
            case Message(trial, _):
                warm.add(trial)
            case Done(_, rows):
                yield rows
            case Lost(trial, reason, seconds):
                why = reason if trial in warm else f"in the warm-up: {reason}"
                # The row has the processor's name even for a GPU: to know the GPU's
                # name, this process would have to load its driver.
                yield failed(trial, why, seconds, machine_name())


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
        raise InputError(
            f"the method {twice[0]!r} is given twice: leave one out, or name both, "
            f"as in one={twice[0]}"
        )
    for limit in time_limits:
        check_number("a time limit", limit, above(0))
    for seed in seeds:
        check_seed(seed)
    check_engine(engine, processes)


def _limits_of(
    method: Method, time_limits: Sequence[float], iterations: int | None
) -> list[Limits]:
    """
    Return the limits with which a method is run, each as (seconds, iterations).

    In each pair, one number is None. Both are None for a method that takes no limit.

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
