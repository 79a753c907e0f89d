"""Rows that a table lacks: the forecast of their time, then the runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from experiments.definitions import customers_of
from experiments.kept_plans import ATTENTION_MODEL
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.evaluate import Results, evaluate, get_set
from fixedfleet.evaluate.origin import without_outdated
from fixedfleet.progress import ProgressPrinter
from fixedfleet.workers import available_cores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from experiments.definitions import Line, Options, Table
    from fixedfleet.evaluate import InstanceSet, Method, Row
    from fixedfleet.evaluate.rows import Key

__all__ = ["Group", "collect", "group_runs", "load_set", "read_rows", "row_files"]

# A vehicle of Uchoa's instances costs what one of VRP100 does, for a square whose
# side is 1,000 instead of 1.
_UCHOA_COST = 80_000.0

# Seconds per instance of methods that take no limit, by the number of customers. They
# are rough, from one core, and only for the forecast.
_ROUGH = {
    "network": {20: 0.03, 50: 0.05, 100: 0.1},
}


@dataclass(frozen=True)
class Group:
    """Methods that run on the same instances with the same time limits."""

    instance_set: InstanceSet
    time_limits: tuple[float, ...]
    methods: tuple[Method, ...]

    def __str__(self) -> str:
        names = ", ".join(method.name for method in self.methods)
        limits = ", ".join(f"{limit:g}" for limit in self.time_limits)
        return (
            f"{self.instance_set.name}, {len(self.instance_set):,} instances, "
            f"{limits} s: {names}"
        )

    def keys(self, method: Method, seed: int) -> set[Key]:
        """Return the keys of all runs of a method."""
        limits = self.time_limits if "time" in method.limits else (None,)
        return {
            (name, method.name, method.objective, limit, None, seed)
            for name in self.instance_set.names
            for limit in limits
        }

    def seconds(self, method: Method) -> float:
        """Return a rough forecast of a method's seconds per run."""
        mean = sum(self.time_limits) / len(self.time_limits)
        if "time" in method.limits:
            return mean
        rough = _ROUGH.get(method.name.partition(":")[0], {})
        return rough.get(customers_of(self.instance_set.name), mean)


def row_files(options: Options, name: str = "") -> list[Results]:
    """
    Return the files of rows in the working folder, each of one machine.

    All tables share ``rows.jsonl``, which this machine appends to; ``rows-….jsonl``
    beside it, compressed or not, were made on other machines or are kept for a page.
    The one that is kept for the table ``name`` comes first of these. The last file has
    the plans of the Attention Model.
    """
    elsewhere = sorted(options.work.glob("rows-*.jsonl*"))
    elsewhere.sort(key=lambda path: path.name != f"rows-{name}.jsonl.xz")
    paths = dict.fromkeys((options.work / "rows.jsonl", *elsewhere, ATTENTION_MODEL))
    return [Results(path) for path in paths]


def read_rows(results: Results) -> list[Row]:
    """Read a file of rows once for all tables, and again if it has changed."""
    path = results.path
    return _read(path, path.stat().st_mtime_ns) if path.exists() else []


@cache
def _read(path: Path, _changed: int) -> list[Row]:
    return Results(path).rows()


def load_set(name: str, count: int, options: Options) -> InstanceSet:
    """Return the first instances of a set, with reference plans but for Uchoa's."""
    whole = _load(name, max(count, options.instances), options.reference)
    return replace(whole, instances=whole.instances[:count])


@cache
def _load(name: str, count: int, reference: Path) -> InstanceSet:
    if name.startswith("uchoa"):
        return get_set(name, count, vehicle_cost=_UCHOA_COST)
    return get_set(name, count, reference)


def collect(table: Table, options: Options) -> dict[str, str]:
    """
    Run what a table lacks; return the labels of lines that cannot run here, and why.

    Rows are written as they arrive, so the next call resumes an interrupted one.
    """
    # Lines that begin with kept plans run after the lines that make these plans.
    kept = [line for line in table.lines if line.begins_with_kept(options)]
    first = [line for line in table.lines if line not in kept]
    reasons: dict[str, str] = {}
    for lines in filter(None, (first, kept)):
        reasons |= _collect(replace(table, lines=tuple(lines)), options)
    return reasons


def _collect(table: Table, options: Options) -> dict[str, str]:
    groups, reasons = group_runs(table, options)
    for label, reason in reasons.items():
        options.say(f"not run here: {label}: {reason}")
    groups, missing, seconds = _without_finished(groups, options)
    if not groups:
        options.say(f"{table.name}: all its rows are there")
        return reasons
    processes = options.processes or available_cores()
    options.say(
        f"{table.name}: {missing:,} runs to do, about {seconds:,.0f} s on "
        f"{processes} cores"
    )
    store = row_files(options)[0]
    for group in groups:
        options.say(str(group))
        evaluate(
            [group.instance_set],
            group.methods,
            group.time_limits,
            store,
            seeds=(options.seed,),
            processes=options.processes,
            display=None if options.display is None else ProgressPrinter(),
        )
    return reasons


def group_runs(table: Table, options: Options) -> tuple[list[Group], dict[str, str]]:
    """Group the lines that can run by set, instances and limits; say which cannot."""
    able, reasons = _able(table.lines, options)
    groups: dict[tuple[str, int, tuple[float, ...]], dict[str, Method]]
    groups = defaultdict(dict)
    for name in table.sets:
        for line in table.lines_of(name):
            spec = line.spec(options)
            if spec in able:
                limits = table.limits_of(line, name)
                groups[name, line.count(name, options), limits][spec] = able[spec]
    return [
        Group(load_set(name, count, options), limits, tuple(methods.values()))
        for (name, count, limits), methods in groups.items()
    ], reasons


def _without_finished(
    groups: Sequence[Group], options: Options
) -> tuple[list[Group], int, float]:
    """Drop methods with all their rows in one file; count the other runs."""
    processes = options.processes or available_cores()
    methods = [method for group in groups for method in group.methods]
    known = [
        {row.key for row in without_outdated(read_rows(results), methods)}
        for results in row_files(options)
    ]
    kept: list[Group] = []
    runs, seconds = 0, 0.0
    for group in groups:
        unfinished = []
        for method in group.methods:
            keys = group.keys(method, options.seed)
            if any(keys <= there for there in known):
                continue
            unfinished.append(method)
            missing = len(keys - known[0])
            alone = method.batch > 1 or method.on_gpu  # these share one process
            runs += missing
            seconds += missing * group.seconds(method) / (1 if alone else processes)
        if unfinished:
            kept.append(replace(group, methods=tuple(unfinished)))
    return kept, runs, seconds


def _able(
    lines: Sequence[Line], options: Options
) -> tuple[dict[str, Method], dict[str, str]]:
    """Return the methods that can run here by their specs, and why others cannot."""
    able: dict[str, Method] = {}
    reasons: dict[str, str] = {}
    for line in lines:
        spec = line.spec(options)
        untrained = line.training and not line.training.finished(options.work)
        if spec in able or untrained:
            continue
        try:
            method = line.build(options)
            method.check()
            able[spec] = method
        except (InputError, MissingPackageError) as error:
            reasons[line.label] = str(error)
    return able, reasons
