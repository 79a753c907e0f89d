"""VROOM."""

from __future__ import annotations

import pytest

import fixedfleet as ff

pytest.importorskip("vroom")

from fixedfleet.search import Stop
from fixedfleet.solvers.vroom_adapter import Vroom


def test_leaves_out_whom_it_cannot_place(impossible: ff.Instance) -> None:
    """A customer without a vehicle is missing from the plan, and the check says so."""
    plan = Vroom().solve(impossible, stop=Stop(0.05))
    assert [fault.split()[-1] for fault in plan.check(impossible)] == ["missing"]


def test_none_placed() -> None:
    """If no customer fits, the plan is empty and every customer is missing."""
    instance = ff.Instance(
        depot=(0, 0), customers=[[1, 0]], demands=[3], capacity=2, vehicles=1
    )
    plan = Vroom().solve(instance, stop=Stop(0.05))
    assert plan.check(instance) == ["customer 1 missing"]


def test_overloaded_start() -> None:
    """A start that overloads a vehicle is refused in one line."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 0], [0, 1]],
        demands=[2, 2],
        capacity=3,
        vehicles=2,
    )
    with pytest.raises(ff.InputError, match="start cannot be used by vroom"):
        Vroom().solve(instance, stop=Stop(0.05), start=ff.Plan([[1, 2]]))
