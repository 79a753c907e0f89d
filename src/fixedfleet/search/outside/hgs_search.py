"""HGS-CVRP in one run with its authors' parameters, as others would call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.search.genetic import hgs_plans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.plan import Plan
    from fixedfleet.search.task import SearchTask

__all__ = ["hgs_search"]


def hgs_search(task: SearchTask) -> Iterator[Plan]:
    """Yield the best plan of HGS-CVRP, if it finds a feasible one."""
    initial_plan = task.initial_plan
    complete = not initial_plan.unserved(task.instance)
    yield from hgs_plans(
        task.instance,
        deadline=task.deadline,
        seed=task.seed,
        initial_plans=[initial_plan] if complete else [],
    )
