"""Run the methods of a table, and find the files that have its rows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from experiments import RESULTS
from experiments.kept_plans import ATTENTION_MODEL, is_kept
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.evaluate import Results, evaluate, get_method, get_set
from fixedfleet.progress import ProgressPrinter

if TYPE_CHECKING:
    from pathlib import Path

    from experiments.definitions import Options, Table
    from fixedfleet.evaluate import InstanceSet, Method, Row

__all__ = ["collect", "load_set", "read_rows", "row_files"]

# The vehicle cost for Uchoa's instances: 80 as for VRP100, times 1,000, because their
# square has a side of 1,000 instead of 1.
_UCHOA_COST = 80_000.0


def collect(table: Table, options: Options) -> dict[str, str]:
    """
    Run the methods of a table whose rows are missing.

    Return why lines cannot run here, as label → reason. Rows are written as they
    arrive, so the next call resumes an interrupted one.
    """
    groups: dict[tuple[str, int, tuple[float, ...]], list[Method]] = defaultdict(list)
    reasons: dict[str, str] = {}
    for name in table.sets:
        for line in table.lines_of(name):
            method = get_method(line.spec(name))
            try:
                method.check()
            except (InputError, MissingPackageError) as error:
                reasons[line.label] = str(error)
                continue
            group = groups[name, table.count(line, name, options), line.limits]
            known = {(one.name, one.objective) for one in group}
            if not is_kept(method) and (method.name, method.objective) not in known:
                group.append(method)
    for label, reason in reasons.items():
        options.say(f"not run here: {label}: {reason}")
    for (name, count, limits), methods in groups.items():
        if not methods:
            continue
        names = ", ".join(method.name for method in methods)
        options.say(f"{table.name}: {name}, {count:,} instances: {names}")
        evaluate(
            [load_set(name, count, options)],
            methods,
            limits,
            Results(options.work / "rows.jsonl"),
            seeds=range(options.seeds or 1),
            processes=options.processes,
            display=None if options.display is None else ProgressPrinter(),
        )
    return reasons


def row_files(table: Table, options: Options) -> list[Results]:
    """
    Return the existing files that may have rows of a table.

    In the working folder, these are ``rows.jsonl``, the kept rows of this table, and
    all other ``rows-….jsonl``, compressed or not: kept rows of other tables, and rows
    copied from other machines. The plans of the Attention Model follow. A table by
    version also uses the rows of former versions in ``results/``.
    """
    own = f"rows-{table.name}.jsonl.xz"
    others = sorted(options.work.glob("rows-*.jsonl*"))
    others.sort(key=lambda path: path.name != own)
    paths = [options.work / "rows.jsonl", *others, ATTENTION_MODEL]
    if table.by_version:
        paths.append(RESULTS / own)
    resolved = dict.fromkeys(path.resolve() for path in paths if path.exists())
    return [Results(path) for path in resolved]


def read_rows(results: Results) -> list[Row]:
    """Return the rows of a file; it is read again only if it has changed."""
    return _read(results.path, results.path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> list[Row]:
    return Results(path).rows()


def load_set(name: str, count: int, options: Options) -> InstanceSet:
    """
    Return the first ``count`` instances of a set.

    They have the costs of reference plans, except Uchoa's instances.
    """
    whole = _load(name, options.reference)
    return replace(whole, instances=whole.instances[:count])


@cache
def _load(name: str, reference: Path) -> InstanceSet:
    if name.startswith("uchoa"):
        return get_set(name, 1000, vehicle_cost=_UCHOA_COST)
    return get_set(name, None, reference)
