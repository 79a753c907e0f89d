"""The command ``solve``, which plans tours for an instance."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fixedfleet.cli.console import IMPOSSIBLE, INTERRUPTED, NOT_FOUND, printable, warn
from fixedfleet.cli.options import (
    add_instance,
    add_options,
    add_outputs,
    check_outputs,
    read_instance,
)
from fixedfleet.cli.report import report_result
from fixedfleet.errors import InputError
from fixedfleet.files import read_plan, write_plan
from fixedfleet.plan import Plan
from fixedfleet.plotting import PICTURES, save_plan_picture
from fixedfleet.progress import ProgressPrinter
from fixedfleet.roads import road_lines, with_roads
from fixedfleet.search import SEARCHES
from fixedfleet.search.construct import StartName
from fixedfleet.solving.solve import solve
from fixedfleet.wording import count

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.files import Reading
    from fixedfleet.instance import Instance
    from fixedfleet.result import Result

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``solve`` to the parser."""
    parser = commands.add_parser("solve", help="plan tours for an instance")
    add_instance(parser)
    add_options(parser, "--roads", "--time-limit", "--cores", "--seed", "--json")
    add_options(parser, "--vehicle-cost")
    add_options(
        parser, "--quiet", help="print only warnings, errors and the result of --json"
    )
    add = parser.add_argument
    add(
        "--search",
        default="auto",
        metavar="NAME",
        help=f"how to improve the start: {', '.join(SEARCHES.names())}, none (default: "
        "auto), or your own as module.py:Name",
    )
    add(
        "--start",
        default="packing",
        metavar="START",
        help=f"first plan: {', '.join(get_args(StartName))}, or a file (default: "
        "packing)",
    )
    add(
        "--guarantee",
        action="store_true",
        help="if no plan for the fleet is found, plan for the smallest fleet that "
        "suffices",
    )
    add(
        "--prove",
        action="store_true",
        help="compute how far the plan is from the best possible one; the search has a "
        "tenth of the time at most, the lower bound the rest",
    )
    add(
        "--locked",
        metavar="PLAN",
        help="file of a plan whose tours are kept; only other customers are planned. "
        "Customers are found by name or number of their own, also in other rows",
    )
    add_outputs(parser, "plan")
    parser.set_defaults(run=_solve)


def _solve(arguments: Arguments) -> int:
    try:
        reading = read_instance(arguments)
        _check(arguments, reading.instance)
        if arguments.roads:
            reading = _by_road(arguments, reading)
        instance = reading.instance
        result = _search(arguments, instance)
    except InputError as error:
        if arguments.output and Path(arguments.output).exists():
            message = f"{error.args[0]}; {arguments.output} was not changed"
            raise InputError(message, error.field) from None
        raise
    # The plan is printed first, so that it is not lost if a file cannot be written.
    if arguments.json:
        from fixedfleet.documents import to_json

        print(to_json(result.document(reading.notes, reading.doubts)), end="")
    elif not arguments.quiet:
        print(report_result(result, instance, reading.notes))
    for line in _write_files(arguments, reading, result):
        if not (arguments.json or arguments.quiet):
            print(line)
    return _exit_code(result, instance)


def _write_files(arguments: Arguments, reading: Reading, result: Result) -> list[str]:
    """
    Write the plan and its picture; return one line to print for each file.

    If there is no plan for all customers, the best plan with unserved customers is
    written. Otherwise, the file of an earlier run could be mistaken for the result.
    """
    plan = result.plan or result.partial or Plan([])
    instance = result.instance
    files = list(filter(None, (arguments.output, arguments.plot)))
    lines = None
    if arguments.roads and any(map(_shows_lines, files)):
        lines = road_lines(plan, instance, arguments.roads)
    if arguments.output:
        path, dialect = arguments.output, reading.dialect
        write_plan(plan, instance, path, dialect, lines=lines or ())
    if arguments.plot:
        save_plan_picture(arguments.plot, instance, plan, lines)
    unserved, remark = len(plan.unserved(instance)), ""
    if unserved:
        verb = "is" if unserved == 1 else "are"
        customers = count(instance.num_customers, "customer")
        remark = f" (not a whole plan: {unserved} of {customers} {verb} not served)"
    return [f"written: {path}{remark}" for path in files]


def _shows_lines(path: str) -> bool:
    """Return whether a file with this extension shows the roads of a tour."""
    return Path(path).suffix.lower() in (*PICTURES, ".gpx")


def _by_road(arguments: Arguments, reading: Reading) -> Reading:
    """Return the reading with distances and travel times by road in its instance."""
    url, printer = arguments.roads, None
    if sys.stderr.isatty() and not arguments.quiet:
        printer = ProgressPrinter()
    instance = with_roads(reading.instance, url, on_progress=printer)
    notes = [
        *reading.notes,
        f"distances and travel times by road, from {printable(url)}",
    ]
    given = {"--speed": arguments.speed, "--detour": arguments.detour}
    if unused := [option for option, value in given.items() if value is not None]:
        verb = "are" if len(unused) > 1 else "is"
        notes.append(f"{' and '.join(unused)} {verb} not used: the plan is by road")
    return replace(reading, instance=instance, notes=notes)


def _check(arguments: Arguments, instance: Instance) -> None:
    """Raise InputError if the output files cannot be written, before the search."""
    start, locked = arguments.start, arguments.locked
    inputs = (arguments.file, start, locked, arguments.vehicle_types)
    check_outputs(arguments, instance, inputs)


class _LiveLine:
    """
    A line on the terminal that shows the progress of a search.

    It has the time, the best cost and its number of vehicles, and the lower bound.
    """

    def __init__(self, printer: ProgressPrinter | None, vehicles: int) -> None:
        self.printer, self.vehicles = printer, vehicles
        self.begin = time.perf_counter()
        self.said, self.bound = "no plan yet", ""

    def improved(self, _seconds: float, cost: float, plan: Plan) -> None:
        """Show the cost and the vehicles of a better plan."""
        used = f"vehicles {plan.vehicles} of {self.vehicles}"
        self.said = f"best cost {cost:.6g}, {used}"
        self.tick()

    def bounded(self, _seconds: float, lower_bound: float) -> None:
        """Show a better lower bound."""
        self.bound = f", at least {lower_bound:.6g}"
        self.tick()

    def tick(self) -> bool:
        """
        Show the time.

        The search calls this as its ``stop``, so it returns False: do not stop.
        """
        if self.printer is not None:
            seconds = time.perf_counter() - self.begin
            self.printer.show(f"{seconds:6.1f} s  {self.said}{self.bound}")
        return False


def _search(arguments: Arguments, instance: Instance) -> Result:
    shown = sys.stderr.isatty() and not arguments.quiet
    printer = ProgressPrinter(interval=0.1) if shown else None
    line = _LiveLine(printer, instance.vehicles)
    start: Plan | StartName = arguments.start
    if arguments.start not in get_args(StartName):
        start = _complete(read_plan(arguments.start, instance), instance)
    try:
        return solve(
            instance,
            arguments.time_limit,
            seed=arguments.seed,
            start=start,
            search=arguments.search,
            vehicle_cost=arguments.vehicle_cost or 0.0,
            guarantee=arguments.guarantee,
            locked=read_plan(arguments.locked, instance) if arguments.locked else (),
            prove=arguments.prove,
            cores=arguments.cores,
            on_improvement=line.improved,
            on_bound=line.bounded,
            stop=line.tick,
        )
    finally:
        if printer is not None:
            printer.clear()


def _complete(start: Plan, instance: Instance) -> Plan:
    """
    Return the start plan with the customers that it does not serve inserted.

    The customer with the largest demand comes first. Each is inserted where the detour
    is shortest. The start is returned unchanged if a customer fits into no tour, if the
    start breaks a constraint, or if the instance has a mixed fleet or limited times.
    """
    tours = [list(tour) for tour in start]
    units = instance.demand_units
    missing = start.unserved(instance)
    if start.check(instance, partial=True) or not instance.is_plain:
        return start  # the search will refuse it and say why
    for customer in sorted(missing, key=lambda customer: -units[customer]):
        spare = len(tours) < instance.vehicles
        best: tuple[float, list[int], int] | None = None
        for tour in (*tours, *([[]] if spare else [])):
            if units[[*tour, customer]].sum() > instance.capacity_units:
                continue
            way = [0, *tour, 0]
            legs = instance.between(way[:-1], way[1:])
            there = instance.between(way[:-1], [customer] * len(legs))
            back = instance.between([customer] * len(legs), way[1:])
            detours = there + back - legs
            place = int(detours.argmin())
            if best is None or detours[place] < best[0]:
                best = float(detours[place]), tour, place
        if best is None:
            return start
        _, tour, place = best
        if not tour:
            tours.append(tour)
        tour.insert(place, customer)
    if missing:
        names = ", ".join(printable(instance.label_of(c)) for c in missing)
        warn(f"{count(len(missing), 'customer')} added to the start: {names}")
    return Plan(tours)


def _exit_code(result: Result, asked: Instance) -> int:
    if result.interrupted:
        return INTERRUPTED
    if result.plan is not None and result.plan.is_feasible(asked):
        return 0
    return IMPOSSIBLE if result.verdict.status == "impossible" else NOT_FOUND
