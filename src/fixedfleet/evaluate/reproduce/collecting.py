"""Rows that a table lacks: what they will take, then the runs themselves."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.evaluate.job import machine_name
from fixedfleet.evaluate.made import current
from fixedfleet.evaluate.methods import get_method
from fixedfleet.evaluate.reproduce.definitions import customers_of
from fixedfleet.evaluate.reproduce.provenance import note_run
from fixedfleet.evaluate.rows import Results
from fixedfleet.evaluate.run import evaluate
from fixedfleet.evaluate.sets import InstanceSet, get_set
from fixedfleet.progress import ProgressPrinter
from fixedfleet.workers import available_cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.reproduce.definitions import Line, Options, Table
    from fixedfleet.evaluate.rows import Key, Row

__all__ = ["Group", "all_rows", "collect", "group_runs", "load_set", "open_store"]

_STORE = "rows.jsonl"
_ELSEWHERE = "rows-*.jsonl"  # from other machines
# A vehicle of Uchoa's instances costs what one of VRP100 does, for a square whose
# side is 1,000 instead of 1.
_UCHOA_COST = 80_000.0

# Seconds an instance of methods that take no limit, by the number of customers: rough,
# from one core, and only for the forecast.
_ROUGH = {
    "network": {20: 0.03, 50: 0.05, 100: 0.1},
    "am-greedy": {20: 0.01, 50: 0.01, 100: 0.03},
    "am-sampling": {20: 0.4, 50: 1.5, 100: 4.0},
}


@dataclass(frozen=True)
class Group:
    """Methods that run on the same instances with the same limit."""

    instance_set: InstanceSet
    time_limit: float
    methods: tuple[Method, ...]

    def __str__(self) -> str:
        names = ", ".join(method.name for method in self.methods)
        return (
            f"{self.instance_set.name}, {len(self.instance_set):,} instances, "
            f"{self.time_limit:g} s: {names}"
        )

    def missing(self, known: set[Key], seed: int) -> dict[str, int]:
        """Count the runs that are not in the store, by the methods that have any."""
        counts = {}
        for method in self.methods:
            counts[method.name] = len(self.keys(method, seed) - known)
        return {name: count for name, count in counts.items() if count}

    def keys(self, method: Method, seed: int) -> set[Key]:
        """Keys of all runs of a method."""
        limit = self.time_limit if "time" in method.limits else None
        return {
            (name, method.name, limit, None, seed) for name in self.instance_set.names
        }

    def seconds(self, method: Method) -> float:
        """Time that a method will take for an instance, roughly."""
        if "time" in method.limits:
            return self.time_limit
        rough = _ROUGH.get(method.name.partition(":")[0], {})
        return rough.get(customers_of(self.instance_set.name), self.time_limit)


def open_store(options: Options) -> Results:
    """Open the file that all tables share; rows of files beside it are taken in."""
    store = Results(options.work / _STORE)
    with store:
        for path in sorted(options.work.glob(_ELSEWHERE)):
            store.take(Results(path))
    return store


def all_rows(options: Options) -> list[Row]:
    """
    Read the rows of the store, and those of the files beside it.

    The store has a run once; from another machine it may be there again, so that a
    table can be of one machine.
    """
    rows = open_store(options).rows()
    for path in sorted(options.work.glob(_ELSEWHERE)):
        rows += Results(path).rows()
    return rows


def load_set(name: str, count: int, options: Options) -> InstanceSet:
    """Return the first instances of a set, with references where there are any."""
    whole = _load(name, max(count, options.instances), options.reference)
    return replace(whole, instances=whole.instances[:count])


@cache
def _load(name: str, count: int, reference: Path | None) -> InstanceSet:
    if name.startswith("uchoa"):
        return get_set(name, count, vehicle_cost=_UCHOA_COST)
    return get_set(name, count, reference)


def collect(table: Table, options: Options) -> dict[str, str]:
    """
    Run what a table lacks; say of which lines, by their labels, why they cannot run.

    Rows go into the store as they come, so whatever ends a run, the next one goes on.
    """
    groups, reasons = group_runs(table, options)
    for label, reason in reasons.items():
        options.say(f"not run here: {label}: {reason}")
    store = open_store(options)
    methods = {method.name: method for group in groups for method in group.methods}
    rows = current(store.rows(), methods)
    known = {row.key for row in rows}
    groups = [group for group in groups if group.missing(known, options.seed)]
    _announce(table.name, groups, known, options)
    if groups:
        note_run(table, options)
    for warning in _mixed(groups, rows, options.seed):
        options.say(f"warning: {warning}")
    for group in groups:
        options.say(str(group))
        evaluate(
            [group.instance_set],
            group.methods,
            [group.time_limit],
            store,
            seeds=(options.seed,),
            processes=options.processes,
            display=None if options.display is None else ProgressPrinter(),
        )
    return reasons


def group_runs(table: Table, options: Options) -> tuple[list[Group], dict[str, str]]:
    """Group what can run by set, number of instances and limit; say what cannot."""
    able, reasons = _able(table.lines)
    groups: dict[tuple[str, int, float], dict[str, Method]] = defaultdict(dict)
    for name in table.sets:
        for line in table.lines_of(name):
            if line.method in able:
                count = line.count(name, options.instances)
                limit = line.time_limit(name, options.scale)
                method = able[line.method]
                groups[name, count, limit][method.name] = method
    return [
        Group(load_set(name, count, options), limit, tuple(methods.values()))
        for (name, count, limit), methods in groups.items()
    ], reasons


def _announce(
    name: str, groups: Sequence[Group], known: set[Key], options: Options
) -> None:
    """Say how many runs are to be done, and how long they will take."""
    processes = options.processes or available_cores()
    runs, seconds = 0, 0.0
    for group in groups:
        missing = group.missing(known, options.seed)
        for method in group.methods:
            count = missing.get(method.name, 0)
            alone = method.batch > 1 or method.on_gpu  # these have one process for all
            runs += count
            seconds += count * group.seconds(method) / (1 if alone else processes)
    if not runs:
        options.say(f"{name}: all its rows are in the store")
        return
    options.say(
        f"{name}: {runs:,} runs to do, about {seconds:,.0f} s on {processes} cores"
    )


def _mixed(groups: Sequence[Group], rows: Sequence[Row], seed: int) -> Iterator[str]:
    """Say of which methods the rows will come from several machines."""
    known = {row.key: row.machine for row in rows}
    for group in groups:
        for method in group.methods:
            keys = group.keys(method, seed)
            there = {known[key] for key in keys & known.keys()}
            others = sorted(there - {machine_name(method.on_gpu)})
            if others and not keys <= known.keys():
                yield (
                    f"{method.name} on {group.instance_set.name} has rows from "
                    f"{'; '.join(others)}, and those it lacks will be from "
                    f"{machine_name(method.on_gpu)}: times are not to be compared"
                )


def _able(lines: Sequence[Line]) -> tuple[dict[str, Method], dict[str, str]]:
    """Methods that can run here by their specs, and by label why others cannot."""
    able: dict[str, Method] = {}
    reasons: dict[str, str] = {}
    for line in lines:
        if line.method in able:
            continue
        try:
            method = get_method(line.method)
            method.check()
            able[line.method] = method
        except (InputError, MissingPackageError) as error:
            reasons[line.label] = str(error)
    return able, reasons
