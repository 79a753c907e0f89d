"""The searches by their names."""

from __future__ import annotations

import math

import pytest

import fixedfleet as ff
from fixedfleet.search import improve

SEARCHES = ["auto", "ruin_recreate", "hgs"]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_start_too_full_never_comes_back(square, search):
    """A start that overloads a vehicle is short, but what is returned is a plan."""
    start = ff.Plan([[1, 2, 3, 4]])
    found = improve(square, start, search=search, time_limit=0.05)
    assert found.plan.check(square) == []
    assert found.cost == pytest.approx(4 + 4 * math.sqrt(2))


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("tours", "message"),
    [
        ([[1, 2, 1]], "customer 1 served twice"),
        ([[1], [9]], "customer 9 does not exist"),
    ],
)
def test_a_start_of_another_instance_is_refused(square, search, tours, message):
    """A start that serves somebody twice, or nobody there is, is named as such."""
    with pytest.raises(ff.InputError, match=message):
        improve(square, ff.Plan(tours), search=search, time_limit=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": "magic"}, "unknown search 'magic'"),
        ({"time_limit": 0}, "time limit is 0 s"),
        ({"vehicle_cost": -1.0}, "vehicle cost is -1"),
        ({"vehicle_cost": math.nan}, "vehicle cost is nan"),
    ],
)
def test_bad_arguments_are_named(square, arguments, message):
    """Each wrong argument gets a line that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        improve(square, ff.Plan([[1, 2], [3, 4]]), **arguments)
