"""HGS-CVRP in one run with its authors' parameters, as others would call it."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.search.genetic import hgs_plans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.plan import Plan
    from fixedfleet.search.task import SearchTask

__all__ = ["hgs_search"]

_POLL_SECONDS = 0.05  # after which the task's ``stop`` is called again


def hgs_search(task: SearchTask) -> Iterator[Plan]:
    """
    Yield the best plan of HGS-CVRP, if it finds a feasible one.

    HGS-CVRP cannot be stopped before its limit. It has a thread of its own, so that
    the search ends when ``stop`` returns True; the thread then runs on until its limit,
    and its plan is lost.
    """
    found: Future[list[Plan]] = Future()
    threading.Thread(target=_run, args=(task, found), daemon=True).start()
    stop = task.deadline.stop
    while not found.done():
        if stop is not None and stop():
            return
        wait([found], timeout=_POLL_SECONDS)
    yield from found.result()


def _run(task: SearchTask, found: Future[list[Plan]]) -> None:
    """Run HGS-CVRP, and put its plans or its error into a future."""
    complete = not task.initial_plan.unserved(task.instance)
    try:
        plans = hgs_plans(
            task.instance,
            deadline=replace(task.deadline, stop=None),
            seed=task.seed,
            initial_plans=[task.initial_plan] if complete else [],
        )
    except BaseException as error:
        found.set_exception(error)
    else:
        found.set_result(plans)
