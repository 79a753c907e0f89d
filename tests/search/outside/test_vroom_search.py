"""VROOM."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.search import improve

pytest.importorskip("vroom")


def test_leaves_out_whom_it_cannot_place(solve, impossible: ff.Instance) -> None:
    """A customer without a vehicle is missing from the plan, and the check says so."""
    plan = solve("vroom", impossible, time_limit=0.05)
    assert [fault.split()[-1] for fault in plan.check(impossible)] == ["missing"]


def test_none_placed(solve) -> None:
    """If no customer fits, there is no plan."""
    instance = ff.Instance(
        depot=(0, 0), customers=[[1, 0]], demands=[3], capacity=2, vehicles=1
    )
    assert solve("vroom", instance, time_limit=0.05) is None


def test_an_initial_plan_with_unserved_customers(solve, square: ff.Instance) -> None:
    """VROOM begins without such a plan, and serves all."""
    plan = solve("vroom", square, ff.Plan([[1, 3]]), time_limit=30)
    assert plan.is_feasible(square)


def test_an_initial_plan_that_it_cannot_count() -> None:
    """A plan that is full to the last of 16 digits is refused in one line."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 0], [0, 1]],
        demands=[3 * 10**15 + 1, 3 * 10**15 + 2],
        capacity=6 * 10**15 + 3,
        vehicles=2,
    )
    full = ff.Plan([[1, 2]])
    assert full.is_feasible(instance)
    with pytest.raises(ff.InputError, match="vroom cannot use the initial plan"):
        improve(instance, full, search="vroom", time_limit=0.05)


def test_a_time_limit_beyond_its_numbers(square: ff.Instance) -> None:
    """A limit that VROOM cannot count is as good as a shorter one that it can."""
    found = improve(square, search="vroom", time_limit=1e300)
    assert found.cost == pytest.approx(4 + 4 * 2**0.5)
