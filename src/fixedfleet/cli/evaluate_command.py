"""The command ``evaluate``, which compares methods on sets of instances."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.cli.console import INTERRUPTED, printable, say_error
from fixedfleet.cli.options import add_options, check_writable
from fixedfleet.errors import InputError, require
from fixedfleet.plotting import PICTURES, save_picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.evaluate import InstanceSet, Method, Summary

__all__ = ["add_command"]

_TABLES = (".md", ".csv", ".tex")


def add_command(commands: Commands) -> None:
    """Add the command ``evaluate`` to the parser."""
    parser = commands.add_parser(
        "evaluate", help="compare methods on sets of instances"
    )
    add = parser.add_argument
    add(
        "--set",
        nargs="+",
        action="append",
        required=True,
        metavar="SET",
        help="a test set (vrp20, strict20, kool20, …), a distribution (uniform20:SEED, "
        "clustered50:SEED, …), or files and folders: .vrp, .csv, .json, .npz, .pkl, "
        ".pt, .txt",
    )
    add(
        "--method",
        nargs="+",
        action="extend",
        required=True,
        metavar="SPEC",
        help="START, START+SEARCH, a solver, or module.py:Name; options follow as "
        ":key=value,…, and NAME= before it names it (docs/evaluation.md)",
    )
    add(
        "--results",
        required=True,
        metavar="FILE",
        help="JSON Lines file of results; an existing file is continued",
    )
    add_options(
        parser,
        "--time-limit",
        nargs="+",
        default=[],
        help="seconds per instance; every method runs once with each limit",
    )
    add_options(parser, "--iterations")
    add("--count", type=int, default=1000, help="instances per set (default: 1000)")
    add(
        "--reference",
        metavar="FILE",
        help="results whose best plans are the reference, for sets by name",
    )
    add_options(
        parser, "--vehicles", help="fleet of instances in files (default: the files')"
    )
    add_options(
        parser,
        "--vehicle-cost",
        help="fixed cost of each vehicle used (default: the set's)",
    )
    add(
        "--seeds",
        nargs="+",
        type=int,
        default=[0],
        metavar="SEED",
        help="every method runs once with each seed (default: 0)",
    )
    add_options(parser, "--processes", "--engine", "--parts", "--quiet")
    add("--base", metavar="SPEC", help="the method that WRAP compares with")
    add("--table", metavar="FILE", help="write the table: .md, .csv or .tex")
    add(
        "--pairs",
        nargs=2,
        action="append",
        default=[],
        metavar="SPEC",
        help="compare two of the methods instance by instance",
    )
    add(
        "--plot",
        metavar="PICTURE",
        help="draw quality against time: .png, .svg or .pdf",
    )
    parser.set_defaults(run=_evaluate)


def _evaluate(arguments: Arguments) -> int:
    from fixedfleet.evaluate import Results, compare, evaluate, get_method, summaries
    from fixedfleet.evaluate.tables import pairs_to_markdown
    from fixedfleet.progress import ProgressPrinter

    inputs = [value for values in arguments.set for value in values]
    if arguments.table:
        check_writable("--table", arguments.table, _TABLES, inputs)
    if arguments.plot:
        check_writable("--plot", arguments.plot, PICTURES, inputs)
        require("matplotlib", "plot", "--plot")
    methods = [get_method(spec) for spec in arguments.method]
    sets = _sets(arguments)
    base = _base(arguments, methods, sets)
    pairs = [[_named("--pairs", spec, methods) for spec in p] for p in arguments.pairs]
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
            display=None if arguments.quiet else ProgressPrinter(),
        )
    except KeyboardInterrupt:
        return say_error(
            f"interrupted: {arguments.results} holds {len(results.rows()):,} rows; the "
            "same command resumes the evaluation",
            INTERRUPTED,
        )
    places = [(method.name, method.objective) for method in methods]
    found = []
    for part in sets:
        of_set = summaries(done.rows, part, base=base)
        found += sorted(of_set, key=lambda s: places.index((s.method, s.objective)))
    _report(found, arguments)
    compared = [
        compare(done.rows, part, first.name, second.name)
        for part in sets
        for first, second in pairs
    ]
    if compared:
        text = pairs_to_markdown([pair for several in compared for pair in several])
        print("\n".join(["", *map(printable, text.splitlines()), ""]))
    print(f"{printable(arguments.results)}: {done}")
    return 0


def _sets(arguments: Arguments) -> list[InstanceSet]:
    """
    Return the sets of instances that the options ``--set`` name.

    Each name of a known set gives one set. The other values of an option are files; all
    files of one option form one set.
    """
    from fixedfleet.evaluate.sets import get_set, is_named

    options = {
        "count": arguments.count,
        "reference": arguments.reference,
        "vehicle_cost": arguments.vehicle_cost,
        "vehicles": arguments.vehicles,
    }
    sets = []
    for values in arguments.set:
        names = list(filter(is_named, values))
        sets += [get_set(name, **options) for name in names]
        if paths := [value for value in values if value not in names]:
            sets.append(get_set(paths, **options))
    return sets


def _base(
    arguments: Arguments, methods: Sequence[Method], sets: Sequence[InstanceSet]
) -> str | None:
    """
    Return the name of the method of --base, or None if the option is not given.

    This method is the base of WRAP, the Weighted Relative Average Performance.
    InputError is raised if WRAP cannot be computed with this method and these sets.
    """
    if arguments.base is None:
        return None
    base = _named("--base", arguments.base, methods)
    if not base.limits or arguments.iterations is not None:
        raise InputError(f"--base {base.name}: WRAP needs runs with a time limit")
    for part in sets:
        if not part.reference:
            raise InputError(f"--base needs a reference, and {part.name} has none")
    return base.name


def _named(option: str, spec: str, methods: Sequence[Method]) -> Method:
    """
    Return the method to which an option refers, by its name or its spec.

    InputError is raised if it is not one of ``methods``.
    """
    from fixedfleet.evaluate import get_method

    given = {method.name: method for method in methods}
    name = spec if spec in given else get_method(spec).name
    if name not in given:
        raise InputError(
            f"{option} {name} is not one of the methods: give it to --method too"
        )
    return given[name]


def _report(found: Sequence[Summary], arguments: Arguments) -> None:
    """Print the table of results; with --table and --plot, also write files."""
    from fixedfleet.evaluate import plot_anytime
    from fixedfleet.evaluate.tables import to_csv, to_latex, to_markdown
    from fixedfleet.files import atomic

    if arguments.table:
        written = dict(zip(_TABLES, (to_markdown, to_csv, to_latex), strict=True))
        make = written[Path(arguments.table).suffix.lower()]
        atomic.write_text(arguments.table, make(found))
    if arguments.plot:
        save_picture(arguments.plot, lambda ax: plot_anytime(found, ax))
    for line in to_markdown(found).splitlines():
        print(printable(line))
