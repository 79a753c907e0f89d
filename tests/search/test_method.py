"""Which plan is the best, and what a search may start from."""

from __future__ import annotations

import time

import fixedfleet as ff
from fixedfleet.search import Stop, better, fit
from fixedfleet.search.method import Incumbent

GOOD, POOR = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])


def test_fewer_unassigned_customers_are_better(square):
    """A longer plan that serves more customers is better; on a tie the known one."""
    part = ff.Plan([[1], [2]])
    assert better(square, GOOD, POOR, 0.0) == GOOD
    assert better(square, part, POOR, 0.0) == POOR
    assert better(square, ff.Plan(GOOD), GOOD, 0.0) is GOOD


def test_only_complete_plans_are_reported(square, monkeypatch):
    """The trace has the time and cost of plans without unassigned customers."""
    told, now = [], [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    best = Incumbent(square, ff.Plan([]), Stop(9), 1.0, lambda *best: told.append(best))
    best.report()
    best.offer(ff.Plan([[1, 2]]))
    assert told == []
    assert best.unassigned == 2
    now[0] += 3
    best.offer(POOR)
    best.offer(POOR)
    assert told == [(3, POOR.cost_v(square, 1.0), POOR)]
    assert best.trace == [(3, best.cost)]


def test_a_start_is_cut_to_fleet_and_capacity(square):
    """Customers beyond the capacity and tours beyond the fleet are dropped."""
    assert fit(square, ff.Plan([[1, 2, 3, 4]])) == ff.Plan([[1, 2]])
    assert fit(square, ff.Plan([[1], [2, 3], [4]])) == ff.Plan([[2, 3], [1]])
    assert fit(square, GOOD) == GOOD
