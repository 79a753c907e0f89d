"""A search is divided into rounds by the clock or by iterations."""

from __future__ import annotations

import pytest

from fixedfleet.deadline import Deadline
from fixedfleet.search.rounds import rounds


@pytest.fixture
def clock():
    """The present time, in its only entry."""
    return [0.0]


def timed(clock, seconds, **limits) -> Deadline:
    return Deadline(seconds, clock=lambda: clock[0], **limits)


def test_rounds_by_the_clock_end_with_the_limit(clock):
    """Rounds that take their time are as many as planned, and the last ends cold."""
    seen = []
    for one in rounds(timed(clock, 8.0), 4):
        seen.append((one.number, one.begin, one.end, one.deadline.seconds))
        clock[0] += one.deadline.seconds
    assert seen == [
        (0, 0.0, 0.25, 2.0),
        (1, 0.25, 0.5, 2.0),
        (2, 0.5, 0.75, 2.0),
        (3, 0.75, 1.0, 2.0),
    ]


def test_a_round_that_takes_too_long_leaves_fewer(clock):
    """The next round begins where the clock is, not where it was planned to be."""
    seen = []
    for one in rounds(timed(clock, 8.0), 4):
        seen.append((one.begin, one.end, one.deadline.seconds))
        clock[0] += 5.0
    assert seen == [(0.0, 0.25, 2.0), (0.625, 0.875, 2.0)]


def test_rounds_that_end_early_are_more(clock):
    """Nothing of the time limit is lost."""
    for one in rounds(timed(clock, 8.0), 4):
        clock[0] += 0.5
        assert one.deadline.seconds > 0
    assert (one.number, clock[0]) == (15, 8.0)


def test_a_round_has_the_seconds_that_it_needs(clock):
    """What a round needs at least may change from round to round."""
    needed, seen = iter([0.0, 3.0, 9.0]), []
    for one in rounds(timed(clock, 8.0), 4, lambda: next(needed)):
        seen.append((one.begin, one.end, one.deadline.seconds))
        clock[0] += one.deadline.seconds
    assert seen == [(0.0, 0.25, 2.0), (0.25, 0.625, 3.0), (0.625, 1.0, 3.0)]


@pytest.mark.parametrize(
    ("iterations", "count", "each", "ends"),
    [
        (100, 4, [25, 25, 25, 25], [0.25, 0.5, 0.75, 1.0]),
        (10, 4, [3, 3, 3, 1], [0.3, 0.6, 0.9, 1.0]),
        (2, 4, [1, 1], [0.5, 1.0]),
    ],
)
def test_rounds_of_equally_many_iterations(clock, iterations, count, each, ends):
    """Iterations are divided evenly, whatever the clock says, and not exceeded."""
    seen, numbers = [], []
    for one in rounds(timed(clock, 1e9, iterations=iterations), count):
        numbers.append(one.deadline.iterations)
        seen.append((one.number, one.begin, one.end))
        clock[0] += 7.0
    assert numbers == each
    assert seen == [(i, ([0.0, *ends])[i], end) for i, end in enumerate(ends)]


@pytest.mark.parametrize("limits", [{}, {"iterations": 100}])
def test_no_round_begins_after_a_stop(clock, limits):
    """A search that is stopped begins no round, by the clock or by iterations."""
    begun = []
    deadline = timed(clock, 8.0, stop=lambda: len(begun) == 2, **limits)
    for one in rounds(deadline, 10):
        begun.append(one.number)
        clock[0] += 0.1
    assert begun == [0, 1]


def test_no_round_begins_after_the_time_limit(clock):
    """With iterations, too, the time limit ends the search."""
    numbers = []
    for one in rounds(timed(clock, 8.0, iterations=100), 10):
        numbers.append(one.number)
        clock[0] += 3.0
    assert numbers == [0, 1, 2]
    assert not list(rounds(timed(clock, 0.0), 3))


def test_the_temperature_falls_from_round_to_round(clock):
    """Each round begins as hot as the last one ended, and all fall by one factor."""
    (first, second) = rounds(timed(clock, 1.0, iterations=2), 2)
    assert first.between(16.0, 1.0) == (16.0, 4.0)
    assert second.between(16.0, 1.0) == (4.0, 1.0)
