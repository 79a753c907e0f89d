"""
Trials: calls of methods that are still to be made, and the rows that they produce.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, MissingPackageError, place_of
from fixedfleet.evaluate.calibration import core_seconds
from fixedfleet.evaluate.origin import instance_hash, machine_name, made_with
from fixedfleet.evaluate.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fixedfleet.evaluate.methods import Answer, Method
    from fixedfleet.evaluate.rows import Key, Trace
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.instance import Instance
    from fixedfleet.workers import Call

    Limits = tuple[float | None, int | None]  # seconds, iterations

__all__ = ["Trial", "failed", "missing_trials", "work"]

# The limits of a warm-up, whose plans are not used.
_WARM_SECONDS = 0.1
_WARM_ITERATIONS = 10
_LONGEST_FAULT = 200  # characters of a fault in a row

# (Method, objective, customers) for which this worker process has been warmed up.
_warm: set[tuple[str, str, int]] = set()


@dataclass(frozen=True, eq=False)
class Trial:
    """
    One call of a method, on one instance or on a batch.

    Attributes
    ----------
    method
        Position of the method in the list of methods.
    instances
        Instances of equal size, at most as many as :attr:`Method.batch`.
    rows
        The row of each instance, without results yet.
    """

    method: int
    instances: tuple[Instance, ...]
    rows: tuple[Row, ...]

    @property
    def time_limit(self) -> float | None:
        """The time limit in seconds per instance; None if there is no time limit."""
        return self.rows[0].time_limit


def missing_trials(
    sets: Sequence[InstanceSet],
    methods: Sequence[Method],
    limits: Sequence[Sequence[Limits]],
    seeds: Sequence[int],
    known: Mapping[Key, Row],
) -> tuple[list[Trial], dict[Key, Row]]:
    """
    Return the trials that are still to be run, and the rows of all requested runs.

    The rows are in a dict by their keys. Their results are not filled in, even if the
    file of results has them.

    In the list of trials, methods that take batches come first. Then each instance is
    run with all other methods and limits before the next one. So an interrupted
    evaluation has compared these methods on the same instances.

    Parameters
    ----------
    sets, methods, seeds
        What to run.
    limits
        The limits of each method, as pairs (seconds, iterations).
    known
        The rows in the file of results whose runs need not be repeated, by key.

    Raises
    ------
    InputError
        If two sets have different instances with the same name, or the same instance
        with different vehicle costs; or if a set differs in this way from a row in
        ``known``.
    """
    asked: dict[Key, tuple[Row, Instance]] = {}
    missing = []
    made = [made_with(method) for method in methods]
    for chosen in sets:
        hashes = {one.name: instance_hash(one) for one in chosen.instances}
        for seed in dict.fromkeys(seeds):
            for trial in _trials(chosen, hashes, methods, made, limits, seed):
                new = False
                for row, instance in zip(trial.rows, trial.instances, strict=True):
                    if row.key in asked:  # sets share rows
                        _check_alike(row, instance, *asked[row.key])
                        continue
                    asked[row.key] = row, instance
                    if row.key in known:
                        _check_same(known[row.key], row)
                    else:
                        new = True
                if new:
                    missing.append(trial)
    return missing, {key: row for key, (row, _) in asked.items()}


def _trials(
    chosen: InstanceSet,
    hashes: Mapping[str, str],
    methods: Sequence[Method],
    made: Sequence[Mapping[str, str]],
    limits: Sequence[Sequence[Limits]],
    seed: int,
) -> Iterator[Trial]:
    """
    Yield all trials of a set with one seed.

    Methods that take batches come first. Then all other methods follow, instance by
    instance. ``hashes`` are the hashes of the instances by name; ``made`` is what
    :func:`made_with` returns for each method.
    """

    def trials(place: int, instances: Sequence[Instance]) -> Iterator[Trial]:
        """Yield one trial for each limit of the method at this position."""
        for seconds, iterations in limits[place]:
            rows = [
                Row(
                    set=chosen.name,
                    instance=instance.name,
                    method=methods[place].name,
                    objective=methods[place].objective,
                    time_limit=seconds,
                    iterations=iterations,
                    seed=seed,
                    customers=instance.num_customers,
                    fleet=instance.vehicles,
                    vehicle_cost=chosen.vehicle_cost,
                    floor=instance.minimum_vehicles,
                    instance_hash=hashes[instance.name],
                    made=made[place],
                )
                for instance in instances
            ]
            yield Trial(place, tuple(instances), tuple(rows))

    for place, method in enumerate(methods):
        if method.batch > 1:
            for batch in _batches(chosen.instances, method.batch):
                yield from trials(place, batch)
    for instance in chosen.instances:
        for place, method in enumerate(methods):
            if method.batch == 1:
                yield from trials(place, [instance])


def _batches(instances: Sequence[Instance], size: int) -> Iterator[list[Instance]]:
    """
    Yield batches of at most ``size`` instances with equal numbers of customers.

    The batches are the same in every evaluation, also if it is resumed.
    """
    groups: dict[int, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.num_customers, []).append(instance)
    for group in groups.values():
        for begin in range(0, len(group), size):
            yield group[begin : begin + size]


def _check_alike(row: Row, instance: Instance, other: Row, twin: Instance) -> None:
    """
    Raise InputError if two instances with the same name, from two sets, differ.

    InputError is also raised if the vehicle costs of the two sets differ. ``row`` and
    ``instance`` are of one set, ``other`` and ``twin`` of the other set.
    """
    if other.vehicle_cost != row.vehicle_cost:
        raise InputError(
            f"{row.instance!r} of the set {row.set} is in another set too, where a "
            f"vehicle costs {other.vehicle_cost:g} instead of {row.vehicle_cost:g}: "
            "evaluate the sets into different files"
        )
    if twin is not instance and twin != instance:
        raise InputError(
            f"two sets have different instances named {row.instance!r}, one of them "
            f"{row.set}: evaluate the sets into different files"
        )


def _check_same(there: Row, here: Row) -> None:
    """
    Raise InputError if two rows with the same key are of different instances.

    ``there`` is a row of the file, and ``here`` a row that is requested. An older row
    may lack the hash of its instance; then only the numbers of customers and vehicles,
    the vehicle cost and the floor are compared.
    """
    for field, what in (
        ("customers", "customers"),
        ("fleet", "vehicles"),
        ("vehicle_cost", "as the cost of a vehicle"),
        ("floor", "vehicles that its demands need"),
    ):
        found, wanted = getattr(there, field), getattr(here, field)
        if found != wanted:
            raise InputError(
                f"the file of results has a row of {here.instance!r} with {found:g} "
                f"{what}, here it is {wanted:g}: choose another file"
            )
    if there.instance_hash and there.instance_hash != here.instance_hash:
        raise InputError(
            f"the file of results has a row of another instance {here.instance!r}: its "
            "coordinates, distances, demands or rounding differ; choose another file "
            "(a distribution may draw other instances for another count)"
        )


# ----------------------------------------------------------------- the work of a worker


def work(
    trial: Trial, call: Call, methods: Sequence[Method], grace: float, longest: float
) -> list[Row]:
    """
    Run a trial in a worker process and return its rows.

    If this process has not yet run the method on instances of this size, a warm-up
    comes first. After the warm-up, the trial may take twice the time limit of all its
    instances plus ``grace`` seconds, or ``longest`` seconds if it has no time limit.

    Raises
    ------
    InputError, MissingPackageError
        If the method cannot run in this process, for example because it needs a package
        that is not installed. No row is written then.
    """
    method, limit, first = methods[trial.method], trial.time_limit, trial.rows[0]
    kind = first.method, first.objective, first.customers
    if kind not in _warm:
        method.check()
        _warm_up(method, trial)
        _warm.add(kind)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)
        core_seconds()
    allowed = longest if limit is None else 2 * limit * len(trial.rows) + grace
    call.send("warm", seconds=allowed)
    return _run(method, trial)


def _warm_up(method: Method, trial: Trial) -> None:
    """
    Run the method briefly, so that it loads and compiles everything before the trial.
    """
    limit, iterations = trial.time_limit, trial.rows[0].iterations
    if limit is not None:
        limit = min(limit, _WARM_SECONDS / len(trial.rows))
    if iterations is not None:
        iterations = min(iterations, _WARM_ITERATIONS)
    with contextlib.suppress(Exception):  # the timed call will report the error
        _call(method, trial, limit, iterations)
        if planning := sys.modules.get("fixedfleet.planning"):
            planning.load_decoding()  # the trial may need code that the call did not


def _call(
    method: Method, trial: Trial, time_limit: float | None, iterations: int | None
) -> list[Answer]:
    first = trial.rows[0]
    return method.solve(
        trial.instances,
        vehicle_cost=first.vehicle_cost,
        time_limit=time_limit,
        iterations=iterations,
        seed=first.seed,
    )


def _run(method: Method, trial: Trial) -> list[Row]:
    """
    Run a trial and return its rows; errors of the method are recorded as faults.

    MissingPackageError is raised if a package cannot be imported.
    """
    machine = machine_name(method.on_gpu)
    rows = [replace(row, calibration=core_seconds()) for row in trial.rows]
    begin, cpu_begin = time.perf_counter(), _cpu_seconds()
    try:
        answers = _call(method, trial, trial.time_limit, trial.rows[0].iterations)
        wall = (time.perf_counter() - begin) / len(trial.rows)
        cpu = (_cpu_seconds() - cpu_begin) / len(trial.rows)
        timed = [
            replace(row, seconds=wall, cpu_seconds=cpu, machine=machine) for row in rows
        ]
        triples = zip(timed, trial.instances, answers, strict=True)
        return [_measure(*triple) for triple in triples]
    except ImportError as error:
        # No row is written, so that the same evaluation can continue after the package
        # has been installed.
        raise MissingPackageError(f"{trial.rows[0].method}: {error}") from error
    except Exception as error:  # a method may fail in any way
        spent, cpu = time.perf_counter() - begin, _cpu_seconds() - cpu_begin
        place = f" ({place_of(error)})"
        what = _short(f"{type(error).__name__}: {error}", len(place)) + place
        rows = [replace(row, cpu_seconds=cpu / len(rows)) for row in rows]
        return failed(replace(trial, rows=tuple(rows)), what, spent, machine)


def _cpu_seconds() -> float:
    """Return the processor time of this process and its programs, in seconds."""
    try:
        import resource
    except ImportError:  # on Windows, where programs are not counted
        return time.process_time()
    programs = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + programs.ru_utime + programs.ru_stime


def failed(trial: Trial, why: str, seconds: float, machine: str) -> list[Row]:
    """
    Return the rows of a call that failed or was stopped.

    ``why`` is recorded as their fault, ``seconds`` is the time of the whole call, and
    ``machine`` is the name of the processor or GPU.
    """
    share = seconds / len(trial.rows)
    return [
        replace(row, seconds=share, machine=machine, fault=_short(why))
        for row in trial.rows
    ]


def _measure(row: Row, instance: Instance, answer: Answer) -> Row:
    """
    Return the row with the results of an answer filled in.

    The plan of the answer is checked and measured here.
    """
    plan, start = answer.plan, answer.start
    details = answer.details
    if start is not None:
        details = {**start.details, **details}
        machines = dict.fromkeys((start.machine, row.machine))
        both = row.seconds + start.seconds
        row = replace(row, seconds=both, machine=" + ".join(machines))
    if plan is None:
        none = f"no plan: {answer.reason}" if answer.reason else "no plan"
        return replace(row, fault=_short(none))
    row = replace(row, details=dict(details), tours=plan.tours)
    row = replace(row, vehicle_types=plan.vehicle_types)
    within, mixed = plan.vehicles <= instance.vehicles, instance.has_mixed_fleet
    allowed = instance if within or mixed else instance.with_vehicles(plan.vehicles)
    if faults := plan.check(allowed):
        more = f" and {len(faults) - 1} more faults" if len(faults) > 1 else ""
        return replace(row, fault=_short(f"infeasible: {faults[0]}{more}"))
    row = replace(
        row,
        length=plan.cost(instance),
        cost_v=plan.cost_v(instance, row.vehicle_cost),
        vehicles=plan.vehicles,
        served=True,
        within=within,
        fault=None if within else f"{plan.vehicles} tours for {row.fleet} vehicles",
    )
    return replace(row, trace=_shorten(answer.trace, row.cost or 0.0, row.seconds))


def _short(fault: str, room: int = 0) -> str:
    """
    Return a fault as one line of at most _LONGEST_FAULT − ``room`` characters.

    Longer faults are cut off.
    """
    return " ".join(fault.split())[: _LONGEST_FAULT - room]


def _shorten(trace: Trace, final: float, seconds: float) -> Trace:
    """
    Return the improvements of a trace up to the one with the plan's true cost.

    Entries without improvement are dropped. If no entry reaches the true cost, the true
    cost is added as the last improvement, at the end of the call. A trace without
    entries stays empty. ``final`` is the true cost, and ``seconds`` the time of the
    call.
    """
    kept: list[tuple[float, float]] = []
    for moment, cost in trace:
        arrived = cost <= final * (1 + 1e-9)
        better = not kept or cost < kept[-1][1]
        if not (math.isfinite(cost) and better):
            continue
        kept.append((round(moment, 6), final if arrived else float(f"{cost:.9g}")))
        if arrived:
            return tuple(kept)
    return (*kept, (round(seconds, 6), final)) if kept else ()
