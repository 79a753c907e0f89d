"""When a computation must end."""

from __future__ import annotations

import math
import time
from dataclasses import FrozenInstanceError

import pytest

import fixedfleet as ff
from fixedfleet.deadline import Deadline


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; add seconds to its only entry."""
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_a_time_limit_ends(clock):
    """A deadline is over when its seconds have passed."""
    deadline = Deadline(2)
    clock[0] += 1.5
    assert (deadline.elapsed(), deadline.left(), deadline.over()) == (1.5, 0.5, False)
    clock[0] += 0.5
    assert deadline.over()
    clock[0] += 5
    assert deadline.left() == 0


def test_without_a_time_limit_it_is_never_over(clock):
    """The iterations are counted by the search, not by the deadline."""
    deadline = Deadline(iterations=10)
    clock[0] += 1e9
    assert not deadline.over()
    assert (deadline.seconds, deadline.iterations) == (math.inf, 10)
    assert deadline.used() == 0


def test_another_clock():
    """The clock may be another one, and a deadline may have begun before."""
    deadline = Deadline(9, clock=lambda: 7.0, begin=4.0)
    assert (deadline.elapsed(), deadline.left()) == (3, 6)


def test_it_never_changes(clock):
    """What looks at a deadline cannot change it for others."""
    deadline = Deadline(10, iterations=5)
    deadline.until(0.5)
    deadline.within(1)
    deadline.or_when(lambda: True)
    assert deadline == Deadline(10, iterations=5)
    assert not deadline.over()
    with pytest.raises(FrozenInstanceError):
        deadline.seconds = 20


def test_the_user_is_asked():
    """A deadline is over as soon as the function returns True."""
    answers = iter([False, True])
    deadline = Deadline(60, stop=lambda: next(answers))
    assert not deadline.over()
    assert deadline.left() == 0


def test_a_part_ends_at_its_share(clock):
    """A part begins now and ends when its share of the whole time is used."""
    deadline = Deadline(10)
    clock[0] += 2
    part = deadline.until(0.5)
    assert (part.seconds, part.left(), part.elapsed()) == (3, 3, 0)
    clock[0] += 3
    assert part.over()
    assert not deadline.over()
    assert deadline.until(0.1).over()  # that share was used up before


def test_a_part_of_what_is_left(clock):
    """A part of a part is a share of the time that was left."""
    deadline = Deadline(10)
    clock[0] += 5
    assert deadline.until(1.0).until(0.2).seconds == 1


def test_a_part_keeps_iterations_and_stop(clock):
    """A part has no fewer iterations, and whoever stops the whole stops the part."""
    pressed = []
    deadline = Deadline(10, iterations=7, stop=lambda: bool(pressed))
    parts = deadline.until(0.5), deadline.within(3), deadline.until(1.0).within(3)
    assert [part.iterations for part in parts] == [7, 7, 7]
    assert not any(part.over() for part in parts)
    pressed.append(1)
    assert all(part.over() for part in parts)


def test_a_part_is_never_longer_than_what_is_left(clock):
    """Some seconds from now, but not beyond the end."""
    deadline = Deadline(10)
    clock[0] += 8
    assert (deadline.within(1).seconds, deadline.within(5).seconds) == (1, 2)
    clock[0] += 5
    assert deadline.within(5).seconds == 0
    assert Deadline(iterations=3).within(5).seconds == 5


def test_it_also_ends_for_another_reason():
    """Either function ends it; the first one alone ends the deadline it came from."""
    first, second = [], []
    deadline = Deadline(10, stop=lambda: bool(first))
    either = deadline.or_when(lambda: bool(second))
    assert not either.over()
    second.append(1)
    assert either.over()
    assert not deadline.over()
    second.clear()
    first.append(1)
    assert either.over()
    assert Deadline(10).or_when(lambda: True).over()


def test_the_share_that_is_used(clock):
    """The share is that of the seconds of each part, and at most 1."""
    deadline = Deadline(10)
    clock[0] += 2
    step = deadline.until(0.5)
    clock[0] += 0.75
    assert (deadline.used(), step.used()) == (0.275, 0.25)
    clock[0] += 100
    assert (deadline.used(), step.used()) == (1, 1)
    assert Deadline(0).used() == 1
    assert Deadline(0.5).used() == 0


def test_limits_of_a_user_begin_now(clock):
    """A limit that is not given is none."""
    clock[0] += 50
    timed, counted = Deadline.of(time_limit=3), Deadline.of(iterations=7)
    assert (timed.left(), timed.iterations) == (3, None)
    assert (counted.left(), counted.iterations) == (math.inf, 7)
    assert Deadline.of(3, 7, lambda: True).over()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "give a time limit or a number of iterations"),
        ({"stop": lambda: False}, "give a time limit or a number of iterations"),
        ({"time_limit": 0}, "time limit is 0, not a number above 0"),
        ({"time_limit": -1.0}, "time limit is -1"),
        ({"time_limit": math.nan}, "time limit is nan"),
        ({"time_limit": math.inf}, "time limit is inf"),
        ({"iterations": 0}, "iterations is 0, not a whole number of at least 1"),
        ({"iterations": 2.5}, "iterations is 2.5"),
        ({"time_limit": 1, "iterations": 0}, "iterations is 0"),
    ],
)
def test_a_limit_that_is_none_is_refused(limits, message):
    """Each wrong limit gets a line that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        Deadline.of(**limits)
