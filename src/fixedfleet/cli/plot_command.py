"""The command ``plot``, which draws an instance or a plan."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fixedfleet.cli.console import printable
from fixedfleet.cli.options import add_instance, check_writable, read_instance
from fixedfleet.files import read_plan
from fixedfleet.plotting import PICTURES, check_drawable, save_plan_picture

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``plot`` to the parser."""
    parser = commands.add_parser("plot", help="draw an instance or a plan")
    add_instance(parser)
    add = parser.add_argument
    add(
        "plan",
        metavar="PLAN",
        nargs="?",
        help="a plan for it: .sol, .json, .csv, .xlsx",
    )
    add("--output", metavar="PICTURE", required=True, help=".png, .svg or .pdf")
    parser.set_defaults(run=_plot)


def _plot(arguments: Arguments) -> int:
    inputs = (arguments.file, arguments.plan)
    check_writable("--output", arguments.output, PICTURES, inputs)
    reading = read_instance(arguments)
    instance = reading.instance
    check_drawable(instance)
    plan = read_plan(arguments.plan, instance) if arguments.plan else None
    faults = plan.check(instance) if plan is not None else []
    save_plan_picture(arguments.output, instance, plan)
    for note in reading.notes:
        print(f"note: {note}")
    for fault in faults:
        print(f"fault of the plan: {printable(fault)}", file=sys.stderr)
    print(f"written: {arguments.output}")
    return 0
