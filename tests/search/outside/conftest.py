"""Fixtures of the outside solvers."""

from __future__ import annotations

import time

import pytest

import fixedfleet as ff
from fixedfleet.deadline import Deadline
from fixedfleet.search import SearchTask, load_search


@pytest.fixture
def solve():
    """Return a function that runs a solver; it returns its plan, feasible or not."""

    def solve(
        name: str,
        instance: ff.Instance,
        initial_plan: ff.Plan | None = None,
        *,
        time_limit: float = float("inf"),
        iterations: int | None = None,
        seed: int = 0,
        clock=time.perf_counter,
    ) -> ff.Plan | None:
        search = load_search(name, instance)
        deadline = Deadline(time_limit, iterations=iterations, clock=clock)
        task = SearchTask(instance, initial_plan or ff.Plan([]), deadline, seed=seed)
        plans = list(search(task))
        return plans[-1] if plans else None

    return solve
