"""PyVRP's iterated local search."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import fixedfleet as ff

pytest.importorskip("pyvrp")

from fixedfleet.deadline import Deadline
from fixedfleet.search.outside.pyvrp_search import _stopping_criterion


def test_same_seed_same_plan(solve, make_instance) -> None:
    """Limited by iterations, the same seed gives the same plan."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = [solve("pyvrp", instance, iterations=20, seed=3) for _ in "ab"]
    assert plans[0] is not None
    assert plans[0] == plans[1]


def test_keeps_an_initial_plan(solve, make_instance) -> None:
    """One iteration from a good plan gives a plan at least as good."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    good = solve("pyvrp", instance, iterations=300)
    assert good is not None
    plan = solve("pyvrp", instance, good, iterations=1)
    assert plan is not None
    assert plan.length(instance) <= good.length(instance) * (1 + 1e-6)


def test_no_warning(solve, impossible: ff.Instance) -> None:
    """A fleet that cannot be packed is a fault of the plan, not a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = solve("pyvrp", impossible, iterations=2000)
    assert plan is not None
    assert plan.check(impossible)


def test_it_ends_after_iterations_or_seconds() -> None:
    """PyVRP asks before each iteration, also before the first."""
    clock = [0.0]
    is_over = _stopping_criterion(Deadline(9.0, iterations=3, clock=lambda: clock[0]))
    assert [is_over(1.0) for _ in range(4)] == [False, False, False, True]
    is_over = _stopping_criterion(Deadline(9.0, clock=lambda: clock[0]))
    assert not is_over(1.0)
    clock[0] = 9.0
    assert is_over(1.0)
