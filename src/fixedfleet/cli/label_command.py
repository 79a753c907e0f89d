"""``label``: the plans of a teacher for many instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.cli.console import INTERRUPTED, say_error
from fixedfleet.cli.options import add_options
from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.instance import InstanceBatch

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``label``."""
    parser = commands.add_parser("label", help="make labels: plans of a teacher")
    add = parser.add_argument
    add("instances", nargs="?", metavar="INSTANCES", help="a batch: .npz or .pkl")
    add(
        "--uniform",
        type=int,
        metavar="N",
        help="draw uniform instances with N customers",
    )
    add("--count", type=int, help="number of instances to draw")
    add_options(parser, "--vehicles")
    add_options(parser, "--capacity", type=int)
    add(
        "--teacher",
        required=True,
        help="what makes the plans: hgs, pyvrp, ortools or vroom (with --time-limit), "
        "gpu (with --iterations), ruin_recreate (with either), or your own as "
        "module.py:Name",
    )
    add("--output", required=True, metavar="FOLDER", help="folder of the label files")
    add_options(parser, "--time-limit", default=None, help="seconds per instance")
    add_options(parser, "--iterations", help="iterations per instance")
    add("--shard-size", type=int, metavar="ROWS", help="instances per file")
    add_options(
        parser, "--seed", help="seed of the teacher and of --uniform (default: 0)"
    )
    add_options(parser, "--processes", "--engine", "--quiet")
    parser.set_defaults(run=_label)


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
            seed=arguments.seed,
            progress=None if arguments.quiet else ProgressPrinter(),
        )
    except LabellingError as error:
        raise InputError(str(error)) from error
    except KeyboardInterrupt:
        return say_error(
            f"interrupted: {arguments.output} keeps the finished shards; the same "
            "command continues from there",
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
