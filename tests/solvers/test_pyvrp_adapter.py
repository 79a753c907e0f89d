"""PyVRP's iterated local search."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    import fixedfleet as ff

pytest.importorskip("pyvrp")

from fixedfleet.solvers.pyvrp_adapter import Pyvrp


def test_same_seed_same_plan(make_instance) -> None:
    """Limited by iterations, the same seed gives the same plan."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = [Pyvrp(iterations=20).solve(instance, time_limit=60, seed=3) for _ in "ab"]
    assert plans[0] is not None
    assert plans[0] == plans[1]


def test_keeps_a_start(make_instance) -> None:
    """One iteration from a good plan gives a plan at least as good."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    good = Pyvrp(iterations=300).solve(instance, time_limit=60)
    assert good is not None
    plan = Pyvrp(iterations=1).solve(instance, time_limit=60, start=good)
    assert plan is not None
    assert plan.length(instance) <= good.length(instance) * (1 + 1e-6)


def test_no_warning(impossible: ff.Instance) -> None:
    """A fleet that cannot be packed is a fault of the plan, not a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = Pyvrp(iterations=2000).solve(impossible, time_limit=60)
    assert plan is not None
    assert plan.check(impossible)


def test_iterations_are_checked() -> None:
    """No iterations at all are refused."""
    with pytest.raises(InputError, match="iterations is 0"):
        Pyvrp(iterations=0)
