"""The command ``label``, which makes plans for many instances, to train networks on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.cli.console import INTERRUPTED, say_error
from fixedfleet.cli.options import add_options
from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``label`` to the parser."""
    parser = commands.add_parser("label", help="make labels: plans to train on")
    add = parser.add_argument
    add("instances", metavar="INSTANCES", help="a batch: .npz, .pkl, .pt or .txt")
    add_options(parser, "--vehicles")
    add_options(parser, "--capacity", type=int)
    add(
        "--method",
        required=True,
        metavar="SPEC",
        help="what makes the plans, as in evaluate: packing+ruin_recreate, hgs, "
        "packing+gpu:batch=10000, or your own as module.py:Name",
    )
    add("--output", required=True, metavar="FOLDER", help="folder of the label files")
    add_options(parser, "--time-limit", default=None, help="seconds per instance")
    add_options(parser, "--iterations", help="iterations per instance")
    add_options(parser, "--seed", "--processes", "--engine", "--parts", "--quiet")
    parser.set_defaults(run=_label)


def _label(arguments: Arguments) -> int:
    from fixedfleet.evaluate import get_method
    from fixedfleet.files import read_batch
    from fixedfleet.labels import LabellingError, label
    from fixedfleet.progress import ProgressPrinter

    method = get_method(arguments.method)
    try:
        summary = label(
            read_batch(arguments.instances, arguments.vehicles, arguments.capacity),
            arguments.output,
            method=method,
            time_limit=arguments.time_limit,
            iterations=arguments.iterations,
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
