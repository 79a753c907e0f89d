"""``label``: a teacher's plans for many instances; ``solvers``: who could be one."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from fixedfleet.cli.common import INTERRUPTED, say_error
from fixedfleet.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from fixedfleet.cli.common import Arguments, Commands
    from fixedfleet.instance import InstanceBatch

__all__ = ["add_commands"]

# The package on the index behind each solver; LKH is a program, exact our own.
_PACKAGES = {
    "hgs": "hybgensea",
    "pyvrp": "pyvrp",
    "ortools": "ortools",
    "vroom": "pyvroom",
}


def add_commands(commands: Commands) -> None:
    """Add the commands of this file."""
    parser = commands.add_parser("label", help="let a teacher plan many instances")
    add = parser.add_argument
    add("instances", nargs="?", metavar="INSTANCES", help="a batch: .npz or .pkl")
    add("--uniform", type=int, metavar="N", help="draw instances of N customers")
    add("--count", type=int, help="how many to draw")
    add("--vehicles", type=int, metavar="M", help="the fleet, else the file's")
    add("--capacity", type=int, metavar="Q", help="the capacity, else the file's")
    add(
        "--teacher",
        required=True,
        help="hgs, pyvrp, ortools or vroom (--time-limit), ruin_recreate (either "
        "limit), gpu (--iterations)",
    )
    add("--output", required=True, metavar="FOLDER", help="where the shards go")
    add("--time-limit", type=float, metavar="SECONDS", help="for each instance")
    add("--iterations", type=int, help="for each instance")
    add("--processes", type=int, help="default: one for each core")
    add("--engine", choices=("processes", "ray"), default="processes")
    add("--ray-address", metavar="ADDRESS", help="auto, local, host:port, ray://…")
    add("--shard-size", type=int, metavar="ROWS")
    add("--seed", type=int, default=0, help="of the teacher and of --uniform")
    add("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=_label)
    commands.add_parser("solvers", help="list the outside solvers").set_defaults(
        run=_solvers
    )


def _label(arguments: Arguments) -> int:
    from fixedfleet.labels import LabellingError, get_teacher, label
    from fixedfleet.progress import ProgressPrinter

    teacher = get_teacher(
        arguments.teacher,
        time_limit=arguments.time_limit,
        iterations=arguments.iterations,
    )
    try:
        summary = label(
            _instances(arguments),
            arguments.output,
            teacher=teacher,
            shard_size=arguments.shard_size,
            processes=arguments.processes,
            engine=arguments.engine,
            ray_address=arguments.ray_address,
            seed=arguments.seed,
            progress=None if arguments.quiet else ProgressPrinter(),
        )
    except LabellingError as error:
        raise InputError(str(error)) from error
    except KeyboardInterrupt:
        return say_error(
            f"interrupted: whole shards are kept in {arguments.output}, the same "
            "command goes on from there",
            INTERRUPTED,
        )
    print(f"{summary.folder}: {summary}")
    return 0


def _instances(arguments: Arguments) -> InstanceBatch:
    if (arguments.instances is None) == (arguments.uniform is None):
        raise InputError("give either a file of instances or --uniform N")
    if arguments.instances is not None:
        from fixedfleet.files import read_batch

        if arguments.count is not None:
            raise InputError("--count goes with --uniform, not with a file")
        return read_batch(arguments.instances, arguments.vehicles, arguments.capacity)
    from fixedfleet.generate import uniform

    if arguments.count is None:
        raise InputError("--uniform needs --count, the number of instances to draw")
    return uniform(
        arguments.uniform,
        arguments.count,
        seed=arguments.seed,
        capacity=arguments.capacity,
        vehicles=arguments.vehicles,
    )


def _solvers(_arguments: Arguments) -> int:
    from fixedfleet import solvers

    for name in solvers.SOLVERS:
        try:
            solver = solvers.get(name)
        except MissingPackageError as error:
            print(f"{name}: not available: {error}")
            continue
        takes = [
            f"takes {'a' if able else 'no'} {what}"
            for able, what in (
                (solver.takes_seed, "seed"),
                (solver.takes_start, "start"),
            )
        ]
        print(f"{name}: {_version(name)}; {', '.join(takes)}; limits: {solver.limits}")
    return 0


def _version(name: str) -> str:
    if name not in _PACKAGES:
        return "available"
    try:
        return f"{_PACKAGES[name]} {version(_PACKAGES[name])}"
    except PackageNotFoundError:  # importable, but not installed from the index
        print(f"the version of {_PACKAGES[name]} is not known", file=sys.stderr)
        return _PACKAGES[name]
