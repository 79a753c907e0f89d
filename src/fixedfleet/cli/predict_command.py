"""The command ``predict``, which plans by a network without a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.cli.console import NOT_FOUND, printable
from fixedfleet.cli.options import (
    add_instance,
    add_options,
    add_outputs,
    check_outputs,
    read_instance,
)
from fixedfleet.cli.report import report_tours
from fixedfleet.errors import require
from fixedfleet.files import write_plan
from fixedfleet.plotting import save_picture

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``predict`` to the parser."""
    parser = commands.add_parser("predict", help="let a network plan, without a search")
    add_instance(parser)
    add = parser.add_argument
    add(
        "--model",
        default="universal",
        metavar="NETWORK",
        help="a shipped network or a file (default: universal)",
    )
    add(
        "--decoding",
        default="membership",
        metavar="NAME",
        help="membership (default), greedy, authors, edges, beam, beam200, or your own "
        "as module.py:Name",
    )
    add(
        "--repair",
        default="room",
        metavar="NAME",
        help="how customers that the decoding leaves out are put back: room (default), "
        "paper, likeliest, none",
    )
    add(
        "--guarantee",
        action="store_true",
        help="add tours beyond the fleet for customers that fit nowhere else",
    )
    add_options(parser, "--device", "--parts")
    add_outputs(parser, "prediction")
    parser.set_defaults(run=_predict)


def _predict(arguments: Arguments) -> int:
    reading = read_instance(arguments)
    instance = reading.instance
    check_outputs(arguments, instance, [arguments.file])
    require("torch", "network", "a network")
    from fixedfleet.planning import RepairOptions, decode, predict

    repair = RepairOptions(arguments.repair, arguments.guarantee)
    prediction = predict(instance, arguments.model, device=arguments.device)
    plan = decode(prediction, arguments.decoding, repair)[0]
    for note in reading.notes:
        print(f"note: {note}")
    print("\n".join(report_tours(plan, instance)))
    faults = plan.check(instance)
    for fault in faults:
        print(f"fault of the plan: {printable(fault)}")
    if arguments.output:
        write_plan(plan, instance, arguments.output, reading.dialect)
        print(f"written: {arguments.output}")
    if arguments.plot:
        save_picture(arguments.plot, prediction.plot)
        print(f"written: {arguments.plot}")
    return NOT_FOUND if faults else 0
