"""What users see of a lower bound."""

from __future__ import annotations

import math
from inspect import signature

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.bound import LowerBound, proving
from tests.loading import loaded_late


def test_a_good_plan_is_proven(square):
    """The sentence says that no plan is shorter."""
    plan = ff.Plan([[1, 2], [3, 4]])
    found = ff.lower_bound(square, plan)
    assert found.is_optimal
    assert found.plan == plan
    assert found.lower_bound == pytest.approx(4 + 4 * math.sqrt(2))
    assert 0 <= found.gap <= 1.1e-7
    assert str(found) == "length 9.65685, proven: no plan is shorter"
    assert repr(found) == "LowerBound(9.65685, cost 9.65685, optimal)"


def test_a_poor_plan_is_replaced(square):
    """A better plan that is found on the way is returned."""
    found = ff.lower_bound(square, ff.Plan([[1, 3], [2, 4]]))
    assert found.is_optimal
    assert found.cost == pytest.approx(4 + 4 * math.sqrt(2))


def test_without_a_plan_one_is_searched_for(square, monkeypatch):
    """An instance alone gives a plan, its bound and the proof."""
    monkeypatch.setattr(proving, "_SEARCH_SHARE", 1e-3)  # the proof may take a minute
    found = ff.lower_bound(square, time_limit=60, vehicle_cost=100.0)
    assert found.is_optimal
    assert found.cost == pytest.approx(204 + 4 * math.sqrt(2))
    assert str(found) == "cost 209.657, proven: no plan is cheaper"
    assert not found.interrupted


def test_the_code_that_finds_a_plan_is_loaded_before_the_clock(square, monkeypatch):
    """The time limit is not spent on compiling the search."""
    late = loaded_late(
        monkeypatch,
        proving,
        "Deadline",
        lambda: ff.lower_bound(square, time_limit=0.2),
    )
    assert late == set()


def test_a_limit_that_is_over_at_once_still_gives_a_plan(square):
    """A busy machine may use up the search's share of the time before it begins."""
    found = ff.lower_bound(square, time_limit=1e-9)
    assert found.plan.is_feasible(square)
    assert 0 <= found.lower_bound <= 4 + 4 * math.sqrt(2) + 1e-9


def test_a_bound_has_ten_seconds_unless_told_otherwise():
    """A call without a time limit takes as long as the reference of functions says."""
    assert signature(ff.lower_bound).parameters["time_limit"].default == 10


def test_an_open_gap_is_said_in_per_cent(square):
    """An unproven plan is at most some per cent longer than the shortest one."""
    plan = ff.Plan([[1, 2], [3, 4]])
    open_gap = LowerBound(square, plan, 9.6, is_optimal=False)
    assert str(open_gap) == (
        "length 9.65685, at most 0.60 % longer than the shortest possible plan"
    )
    assert repr(open_gap) == "LowerBound(9.6, cost 9.65685, gap 0.59%)"
    costly = LowerBound(square, plan, 200.0, is_optimal=False, vehicle_cost=100.0)
    assert str(costly) == (
        "cost 209.657, at most 4.9 % more expensive than the cheapest possible plan"
    )


def test_a_stop_ends_it_with_a_bound(square):
    """If it is to stop at once, there is a bound of zero."""
    found = ff.lower_bound(square, ff.Plan([[1, 3], [2, 4]]), stop=lambda: True)
    assert (found.lower_bound, found.is_optimal) == (0.0, False)
    assert math.isinf(found.gap)
    assert str(found).endswith("no lower bound found")


def test_customers_at_the_depot_need_no_way():
    """A plan of length zero is optimal, and its gap is zero."""
    instance = ff.Instance(
        depot=(1, 1), customers=[[1, 1]] * 3, demands=[1] * 3, capacity=2, vehicles=2
    )
    found = ff.lower_bound(instance, ff.Plan([[1, 2], [3]]))
    assert (found.is_optimal, found.gap, found.lower_bound) == (True, 0.0, 0.0)


def test_wrong_input_is_refused(square, impossible):
    """A plan with a fault, and a fleet without a plan, are errors that say why."""
    with pytest.raises(ff.InputError, match="customer 3 missing"):
        ff.lower_bound(square, ff.Plan([[1, 2], [4]]))
    with pytest.raises(ff.InputError, match="there is no plan to bound: 2 vehicles"):
        ff.lower_bound(impossible)
    with pytest.raises(ff.InputError, match="time limit is 0"):
        ff.lower_bound(square, time_limit=0)
    with pytest.raises(ff.InputError, match="at most 1,000 customers"):
        many = ff.Instance(
            depot=(0, 0),
            customers=np.ones((1001, 2)),
            demands=[1] * 1001,
            capacity=2000,
            vehicles=1,
        )
        ff.lower_bound(many, ff.Plan([range(1, 1002)]))
