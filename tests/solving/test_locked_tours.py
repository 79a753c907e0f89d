"""Tours that a plan must keep."""

from __future__ import annotations

import pytest

import fixedfleet as ff

CROSSED = [[1, 3]]  # through the depot: no search would choose it


def test_locked_tours_stay_and_the_rest_is_planned(square):
    """A locked tour comes first, as it is; the others are planned around it."""
    costs = []
    result = ff.solve(
        square,
        0.05,
        locked=CROSSED,
        start=ff.Plan([[4, 2], [1, 3]]),
        on_improvement=lambda _seconds, cost, plan: costs.append(
            (cost, plan.length(square))
        ),
    )
    assert result.plan.tours[0] == (1, 3)
    assert set(result.plan.tours[1]) == {2, 4}
    assert result.feasible
    assert result.cost == pytest.approx(result.plan.length(square))
    assert result.stages[-1].cost == pytest.approx(result.cost)
    assert all(cost == pytest.approx(length) for cost, length in costs)
    assert "1 locked tour; for the rest, " in result.verdict.reason


def test_the_verdict_counts_locked_tours(square):
    """If the other vehicles do not suffice, the smallest fleet is said with locks."""
    locked = ff.Plan([[1]])
    result = ff.solve(square, 0.05, locked=locked)
    assert result.plan is None
    assert result.partial.tours[0] == (1,)
    assert result.verdict.vehicles == 2
    assert result.verdict.smallest == 3
    larger = ff.solve(square, 0.05, locked=locked, guarantee=True)
    assert larger.plan.tours[0] == (1,)
    assert larger.instance.vehicles == larger.plan.vehicles == 3


@pytest.mark.parametrize(
    ("locked", "words"),
    [
        ([[1, 9]], "customer 9 does not exist"),
        ([[1], [1, 2]], "customer 1 served twice"),
        ([[1, 2, 3]], "tour 1 carries 3 of 2"),
        ([[1], [2]], "the locked tours use all 2 vehicles, but 2 customers must still"),
        ([[1, 2], [3, 4]], "none is left to plan"),
    ],
)
def test_tours_that_cannot_be_locked_are_named(square, locked, words):
    """A fault of the locked tours is said before anything is searched."""
    with pytest.raises(ff.InputError, match=words):
        ff.solve(square, 0.05, locked=locked)


def test_a_start_must_have_the_locked_tours(square):
    """A start that breaks a locked tour is refused."""
    with pytest.raises(ff.InputError, match=r"does not have the locked tour \[1, 3\]"):
        ff.solve(square, 0.05, locked=CROSSED, start=ff.Plan([[1, 2], [3, 4]]))
