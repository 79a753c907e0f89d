"""The pipeline: verdict on the fleet, start, search. It has no logic of its own."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Literal, get_args

from fixedfleet.errors import InputError
from fixedfleet.progress import SearchRows
from fixedfleet.search import SearchName
from fixedfleet.search.start import check_vehicle_cost
from fixedfleet.solve.result import Objective, Result, Stage
from fixedfleet.solve.work import Work
from fixedfleet.starts import StartName, check_start, load_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["Objective", "Result", "Stage", "solve"]


def solve(
    instance: Instance,
    time_limit: float = 1.0,
    *,
    seed: int = 0,
    start: Plan | StartName = "auto",
    search: SearchName | Literal["none"] = "auto",
    objective: Objective = "length",
    vehicle_cost: float = 0.0,
    guarantee: bool = False,
    display: bool = False,
    on_improvement: Callable[[float, float, Plan], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """
    Plan tours for an instance's fleet.

    Where there is no plan for it, a fifth of the time, or all of it if no search for
    a plan follows, goes into :attr:`Result.partial`.

    Parameters
    ----------
    instance
        The instance to plan for.
    time_limit
        Seconds for everything: verdict, start and search. Loading compiled code and
        networks, the first time in a process, does not count.
    seed
        Seed of the search.
    start
        What the search starts from: ``packing``, ``savings``, ``sweep``, ``network``
        (a shipped network's plan), a plan of your own, or ``auto``, the one that
        measured best in the same total time: the packing.
    search
        What improves the start: ``auto`` takes the best known for size and time on a
        core, ``gpu`` fills a GPU with it, ``none`` leaves it as it is.
    objective
        ``length``, or ``cost-v``: length plus ``vehicle_cost`` for each vehicle used.
    vehicle_cost
        Fixed cost of each vehicle used.
    guarantee
        Where no plan for the fleet is found, plan for the smallest that suffices.
    display
        Whether to print rows as the best plan becomes better, and the result.
    on_improvement
        Called with (seconds, cost, plan) as the best plan becomes better.
    stop
        Asked now and then; the search ends when it answers True.
    """
    _check(instance, time_limit, start, search, objective, vehicle_cost)
    _load(instance, start, search)
    work = Work(instance, time_limit, seed, objective, vehicle_cost, stop)
    rows = SearchRows(sys.stdout, on_improvement) if display else None
    work.judge(guarantee)
    if rows is not None:
        rows.head(f"{instance!r}\n{work.verdict}")
    if work.plan is None and isinstance(start, str):
        work.leave_out(searched=search != "none")
    work.begin_with(start)
    if search != "none" and work.worth_a_search:
        work.improve(search, on_improvement if rows is None else rows.improved)
    result = work.result()
    if rows is not None:
        rows.end(str(result))
    return result


def _load(instance: Instance, start: Plan | StartName, search: str) -> None:
    """Load what takes seconds once in a process, before the clock starts."""
    if search in ("auto", "ruin_recreate"):
        from fixedfleet.search.ruin_recreate import warm_up

        warm_up()
    if isinstance(start, str):
        load_start(start, instance)


def _check(
    instance: Instance,
    time_limit: float,
    start: Plan | str,
    search: str,
    objective: str,
    vehicle_cost: float,
) -> None:
    if not time_limit > 0 or math.isinf(time_limit):
        raise InputError(f"time limit is {time_limit:g} s, not a time above 0")
    if search != "none" and search not in get_args(SearchName):
        raise InputError(
            f"unknown search {search!r}: choose from {', '.join(get_args(SearchName))} "
            "and none"
        )
    if objective not in get_args(Objective):
        raise InputError(f"unknown objective {objective!r}: choose from length, cost-v")
    check_vehicle_cost(vehicle_cost)
    if search == "gpu":
        from fixedfleet.search.gpu import require_gpu

        require_gpu()
    if isinstance(start, str):
        check_start(start)
    elif faults := start.check(instance):
        raise InputError(f"the start is no plan for this instance: {faults[0]}")
