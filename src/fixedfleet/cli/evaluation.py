"""``evaluate``: methods compared on sets; ``reproduce``: the paper's tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fixedfleet.cli.console import BAD_INPUT, INTERRUPTED, printable, say_error
from fixedfleet.cli.options import check_target
from fixedfleet.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.evaluate import InstanceSet, Method, Row, Summary

__all__ = ["add_command"]

_TABLES = (".md", ".csv")


def add_command(commands: Commands) -> None:
    """Add the commands of this file."""
    _add_evaluate(commands)
    _add_reproduce(commands)


def _add_evaluate(commands: Commands) -> None:
    parser = commands.add_parser("evaluate", help="compare methods on sets")
    add = parser.add_argument
    add(
        "--set",
        nargs="+",
        action="append",
        required=True,
        metavar="SET",
        help="vrp20, vrp50, vrp100, kool20 …, fresh20:SEED …, uchoa100, or .vrp files",
    )
    add(
        "--method",
        nargs="+",
        action="append",
        required=True,
        metavar="SPEC",
        help="START, START+SEARCH or a solver, with :key=value,… (docs/evaluation.md)",
    )
    add("--results", required=True, metavar="FILE", help="rows: .jsonl, gone on with")
    add("--time-limit", nargs="+", type=float, default=[], metavar="SECONDS")
    add("--iterations", type=int, help="instead of a time limit")
    add("--count", type=int, default=1000, help="instances of a set (default: 1000)")
    add("--reference", metavar="FOLDER", help="reference plans of the test sets")
    add("--vehicle-cost", type=float, metavar="C", help="default: the set's")
    add("--seeds", nargs="+", type=int, default=[0], metavar="SEED", help="default: 0")
    add("--processes", type=int, help="default: one for each core")
    add("--engine", choices=("processes", "ray"), default="processes")
    add("--ray-address", metavar="ADDRESS", help="auto, local, host:port, ray://…")
    add("--grace", type=float, default=30.0, metavar="SECONDS")
    add("--longest", type=float, default=600.0, metavar="SECONDS")
    add("--minutes", type=float, help="begin no run after so many")
    add("--base", metavar="SPEC", help="method that WRAP is relative to")
    add("--table", metavar="FILE", help="write the table: .md or .csv")
    add("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=_evaluate)


def _add_reproduce(commands: Commands) -> None:
    parser = commands.add_parser("reproduce", help="make the paper's tables again")
    add = parser.add_argument
    add("name", nargs="+", metavar="NAME", help="a table, or all")
    add("--instances", type=int, default=1000, help="of each set (default: 1000)")
    add("--out", default="results", metavar="FOLDER", help="default: results")
    add("--work", default="runs/reproduce", metavar="FOLDER", help="rows, weights, …")
    add("--processes", type=int, help="default: one for each core")
    add("--seed", type=int, default=0, help="default: 0")
    add("--device", choices=("cpu", "cuda"), help="of networks")
    add("--attention-model", metavar="FOLDER", help="weights of the Attention Model")
    add("--reference", metavar="FOLDER", help="reference plans of the test sets")
    add("--labels", metavar="FOLDER", help="labels, where a network is trained")
    add("--minutes", type=float, help="budget of each training")
    add("--epochs", type=int, help="the same in epochs (default: the preset's)")
    add("--scale", type=float, default=1.0, help="factor on time limits (default: 1)")
    add(
        "--render-only", action="store_true", help="run nothing, use the rows there are"
    )
    add("--collect-only", action="store_true", help="run what is missing, no more")
    add("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=_reproduce)


def _evaluate(arguments: Arguments) -> int:
    from fixedfleet.evaluate import Results, evaluate, get_method, summaries
    from fixedfleet.progress import ProgressPrinter

    if arguments.table:
        check_target("--table", arguments.table, _TABLES)
    methods = [get_method(spec) for specs in arguments.method for spec in specs]
    sets = _sets(arguments)
    base = _base(arguments, methods, sets)
    results = Results(arguments.results)
    try:
        done = evaluate(
            sets,
            methods,
            arguments.time_limit,
            results,
            seeds=arguments.seeds,
            iterations=arguments.iterations,
            processes=arguments.processes,
            engine=arguments.engine,
            ray_address=arguments.ray_address,
            grace=arguments.grace,
            longest=arguments.longest,
            minutes=arguments.minutes,
            display=None if arguments.quiet else ProgressPrinter(),
        )
    except KeyboardInterrupt:
        return say_error(
            f"interrupted: {arguments.results} holds {len(results.rows()):,} rows, the "
            "same command goes on from there",
            INTERRUPTED,
        )
    rows = _asked_for(results.rows(), methods, arguments)
    places = {method.name: place for place, method in enumerate(methods)}
    found = []
    for part in sets:
        names = set(part.names)
        # A run that was cut short may have no rows of the base yet.
        has_base = any(row.method == base and row.instance in names for row in rows)
        by_name = summaries(rows, part, base=base if has_base else None)
        found += sorted(by_name, key=lambda summary: places[summary.method])
    _report(found, arguments)
    print(f"{printable(arguments.results)}: {done}")
    return 0


def _sets(arguments: Arguments) -> list[InstanceSet]:
    """Read the sets: one for each name, one for all files given together."""
    from fixedfleet.evaluate.sets import get_set, is_named

    sets = []
    for values in arguments.set:
        for name in filter(is_named, values):
            sets.append(
                get_set(
                    name, arguments.count, arguments.reference, arguments.vehicle_cost
                )
            )
        if paths := [value for value in values if not is_named(value)]:
            cost = arguments.vehicle_cost
            sets.append(get_set(paths, arguments.count, vehicle_cost=cost))
    return sets


def _base(
    arguments: Arguments, methods: Sequence[Method], sets: Sequence[InstanceSet]
) -> str | None:
    """Name of the method that WRAP is relative to, which must be there to be run."""
    from fixedfleet.evaluate import get_method

    if arguments.base is None:
        return None
    base = get_method(arguments.base)
    if base.name not in {method.name for method in methods}:
        raise InputError(
            f"--base {base.name} is none of the methods: give it to --method too"
        )
    if not base.limits or arguments.iterations is not None:
        raise InputError(f"--base {base.name}: WRAP needs runs with a time limit")
    for part in sets:
        if not part.reference:
            raise InputError(f"--base needs a reference, and {part.name} has none")
    return base.name


def _asked_for(
    rows: Sequence[Row], methods: Sequence[Method], arguments: Arguments
) -> list[Row]:
    """Leave out what the file holds besides: other methods, limits and seeds."""
    from fixedfleet.evaluate.made import current

    names = {method.name: method for method in methods}
    limits = {None, *arguments.time_limit}
    return [
        row
        for row in current(rows, names)
        if row.method in names
        and row.time_limit in limits
        and row.iterations in (None, arguments.iterations)
        and row.seed in arguments.seeds
    ]


def _report(found: Sequence[Summary], arguments: Arguments) -> None:
    """Print the table, and write it where that was asked for."""
    from fixedfleet.evaluate.tables import to_csv, to_markdown
    from fixedfleet.files import atomic

    if arguments.table:
        as_csv = arguments.table.lower().endswith(".csv")
        text = to_csv(found) if as_csv else to_markdown(found)
        atomic.write_text(arguments.table, text)
    for line in to_markdown(found).splitlines():
        print(printable(line))


def _reproduce(arguments: Arguments) -> int:
    from fixedfleet.evaluate.reproduce import NAMES, reproduce

    names = list(NAMES) if arguments.name == ["all"] else arguments.name
    if unknown := [name for name in names if name not in NAMES]:
        raise InputError(
            f"no table {unknown[0]!r}: choose from {', '.join(NAMES)}, or all"
        )
    code = 0
    for name in names:
        try:
            written = reproduce(
                name,
                instances=arguments.instances,
                out=arguments.out,
                work=arguments.work,
                processes=arguments.processes,
                seed=arguments.seed,
                device=arguments.device,
                attention_model=arguments.attention_model,
                reference=arguments.reference,
                labels=arguments.labels,
                minutes=arguments.minutes,
                epochs=arguments.epochs,
                scale=arguments.scale,
                render_only=arguments.render_only,
                collect_only=arguments.collect_only,
                display=None if arguments.quiet else _say,
            )
        except (InputError, MissingPackageError) as error:
            code = say_error(f"{name}: {error}", BAD_INPUT)  # the others all the same
            continue
        for path in written:
            print(f"written: {path}")
    return code


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
