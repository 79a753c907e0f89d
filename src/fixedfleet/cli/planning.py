"""``solve`` and ``fleet``: plans, and whether there can be one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fixedfleet.cli import report
from fixedfleet.cli.common import (
    IMPOSSIBLE,
    INTERRUPTED,
    NOT_FOUND,
    add_reading,
    check_target,
    printable,
    read_instance,
)
from fixedfleet.cli.live import LiveLine
from fixedfleet.documents import describe_fleet, to_json
from fixedfleet.errors import InputError
from fixedfleet.files import read_plan, write_plan
from fixedfleet.fleet import assess_fleet
from fixedfleet.plan import Plan
from fixedfleet.plotting import PICTURES, check_drawable, save_plan_picture
from fixedfleet.progress import ProgressPrinter
from fixedfleet.search import SearchName
from fixedfleet.search.partial import serve_most
from fixedfleet.solve import Objective, Result, solve
from fixedfleet.starts import StartName

if TYPE_CHECKING:
    from fixedfleet.cli.common import Arguments, Commands
    from fixedfleet.fleet import FleetVerdict
    from fixedfleet.instance import Instance

__all__ = ["add_commands"]

_PLANS = (".json", ".sol", ".csv")
_EXITS = {"feasible": 0, "impossible": IMPOSSIBLE, "undecided": NOT_FOUND}


def add_commands(commands: Commands) -> None:
    """Add the commands of this file."""
    _add_solve(commands)
    parser = commands.add_parser("fleet", help="say whether the fleet suffices")
    add_reading(parser)
    parser.add_argument(
        "--time-limit",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="for the exact search, where quick ones leave it open (default: 1)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_fleet)


def _add_solve(commands: Commands) -> None:
    parser = commands.add_parser("solve", help="plan tours for an instance")
    add_reading(parser)
    add = parser.add_argument
    add("--time-limit", type=float, default=1.0, metavar="SECONDS", help="default: 1")
    add("--objective", choices=get_args(Objective), default="length")
    add("--vehicle-cost", type=float, metavar="C", help="of each vehicle used")
    add("--search", choices=(*get_args(SearchName), "none"), default="auto")
    add(
        "--start",
        default="auto",
        metavar="START",
        help=f"{', '.join(get_args(StartName))} (default: auto), or a plan's file",
    )
    add(
        "--guarantee",
        action="store_true",
        help="where the fleet has no plan, plan for the smallest that suffices",
    )
    add("--seed", type=int, default=0, help="default: 0")
    add("--output", metavar="PLAN", help="write the plan: .json, .sol or .csv")
    add("--plot", metavar="PICTURE", help="draw the plan: .png, .svg or .pdf")
    add("--json", action="store_true", help="print one JSON document")
    add("--quiet", action="store_true", help="print errors only, and --json's document")
    parser.set_defaults(run=_solve)


def _fleet(arguments: Arguments) -> int:
    instance, notes = read_instance(arguments)
    verdict = assess_fleet(instance, time_limit=arguments.time_limit)
    _require_carriable(arguments, verdict)
    if arguments.json:
        print(to_json(describe_fleet(instance, verdict, notes)), end="")
    else:
        print(
            *(f"note: {note}" for note in notes), printable_verdict(verdict), sep="\n"
        )
    return _EXITS[verdict.status]


def _solve(arguments: Arguments) -> int:
    instance, notes = read_instance(arguments)
    _check(arguments, instance)
    result = _search(arguments, instance)
    if result.plan is not None:
        if arguments.output:
            write_plan(result.plan, result.instance, arguments.output)
        if arguments.plot:
            save_plan_picture(arguments.plot, result.instance, result.plan)
    elif arguments.output or arguments.plot:
        notes.append("there is no plan, so no file was written")
    if arguments.json:
        print(to_json(result.document(notes)), end="")
    elif not arguments.quiet:
        print(report.report_result(result, instance, notes))
        for path in filter(None, (arguments.output, arguments.plot)):
            if result.plan is not None:
                print(f"written: {path}")
    return _exit_code(result, instance)


def _check(arguments: Arguments, instance: Instance) -> None:
    """Refuse, before the search, what would be refused after it."""
    if instance.demand_units.max() > instance.capacity_units:
        _require_carriable(arguments, assess_fleet(instance, time_limit=0))
    if arguments.objective == "cost-v" and arguments.vehicle_cost is None:
        raise InputError("--objective cost-v needs --vehicle-cost, a number from 0")
    if arguments.output:
        check_target("--output", arguments.output, _PLANS)
    if arguments.plot:
        check_target("--plot", arguments.plot, PICTURES)
        check_drawable(instance)


def _search(arguments: Arguments, instance: Instance) -> Result:
    shown = sys.stderr.isatty() and not arguments.quiet
    printer = ProgressPrinter(interval=0.1) if shown else None
    line = LiveLine(printer, instance.vehicles)
    start: Plan | StartName = arguments.start
    if arguments.start not in get_args(StartName):
        start = read_plan(arguments.start)
    try:
        return solve(
            instance,
            arguments.time_limit,
            seed=arguments.seed,
            start=start,
            search=arguments.search,
            objective=arguments.objective,
            vehicle_cost=arguments.vehicle_cost or 0.0,
            guarantee=arguments.guarantee,
            on_improvement=line.improved,
            stop=line.tick,
        )
    except KeyboardInterrupt:  # outside the searches that return their best plan
        plan = line.plan
        if plan is None and isinstance(start, Plan) and start.is_feasible(instance):
            plan = start
        return _interrupted(arguments, instance, plan)
    finally:
        line.clear()


def _interrupted(arguments: Arguments, instance: Instance, plan: Plan | None) -> Result:
    """Return what is known at once: the plan there is, a packing, or whom it serves."""
    verdict = assess_fleet(instance, time_limit=0)
    plan = plan or verdict.packing
    if plan is None and arguments.guarantee:
        plan = verdict.smallest_packing
    within = plan is not None and plan.vehicles <= instance.vehicles
    partial = None if within else serve_most(instance)
    if plan is not None and not within:
        instance = instance.with_vehicles(plan.vehicles)
    return Result(
        instance=instance,
        plan=plan,
        verdict=verdict,
        stages=(),
        objective=arguments.objective,
        vehicle_cost=arguments.vehicle_cost or 0.0,
        interrupted=True,
        partial=partial,
    )


def _exit_code(result: Result, asked: Instance) -> int:
    if result.interrupted:
        return INTERRUPTED
    if result.plan is not None and result.plan.is_feasible(asked):
        return 0
    return IMPOSSIBLE if result.verdict.status == "impossible" else NOT_FOUND


def _require_carriable(arguments: Arguments, verdict: FleetVerdict) -> None:
    """A customer that no vehicle can serve is an error of the input, not the fleet."""
    if verdict.upper_bound is None:
        raise InputError(f"{Path(arguments.file)}: {verdict.reason}; no fleet suffices")


def printable_verdict(verdict: FleetVerdict) -> str:
    """Return the verdict's two lines, names in it made safe for a terminal."""
    return "\n".join(map(printable, str(verdict).splitlines()))
