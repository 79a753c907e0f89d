"""PyVRP's iterated local search."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import fixedfleet as ff

pytest.importorskip("pyvrp")

from fixedfleet.search import Stop
from fixedfleet.solvers.pyvrp_adapter import Pyvrp


def test_same_seed_same_plan(make_instance) -> None:
    """Limited by iterations, the same seed gives the same plan."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = [Pyvrp().solve(instance, stop=Stop(iterations=20), seed=3) for _ in "ab"]
    assert plans[0] is not None
    assert plans[0] == plans[1]


def test_keeps_a_start(make_instance) -> None:
    """One iteration from a good plan gives a plan at least as good."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    good = Pyvrp().solve(instance, stop=Stop(iterations=300))
    assert good is not None
    plan = Pyvrp().solve(instance, stop=Stop(iterations=1), start=good)
    assert plan is not None
    assert plan.length(instance) <= good.length(instance) * (1 + 1e-6)


def test_no_warning(impossible: ff.Instance) -> None:
    """A fleet that cannot be packed is a fault of the plan, not a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = Pyvrp().solve(impossible, stop=Stop(iterations=2000))
    assert plan is not None
    assert plan.check(impossible)
