"""When a search ends."""

from __future__ import annotations

import math
import pickle
import time

import pytest

import fixedfleet as ff
from fixedfleet.search import Stop


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; add seconds to its only entry."""
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_a_time_limit_ends(clock):
    """A stop is over when its seconds have passed."""
    stop = Stop(2)
    clock[0] += 1.5
    assert (stop.elapsed(), stop.left(), stop.over()) == (1.5, 0.5, False)
    clock[0] += 0.5
    assert stop.over()
    clock[0] += 5
    assert stop.left() == 0


def test_iterations_end(clock):
    """A stop without a time limit is over when the iterations are done."""
    stop = Stop(iterations=10)
    stop.count(9)
    clock[0] += 1e9
    assert not stop.over()
    stop.count(1)
    assert stop.over()
    assert stop.seconds == math.inf


def test_the_user_is_asked():
    """A stop is over as soon as the function returns True."""
    answers = iter([False, True])
    stop = Stop(60, asked=lambda: next(answers))
    assert not stop.over()
    assert stop.left() == 0


def test_a_part_ends_at_its_share(clock):
    """A part begins now and ends when its share of the whole time is used."""
    stop = Stop(10)
    clock[0] += 2
    part = stop.part(0.5)
    assert (part.seconds, part.left(), part.elapsed()) == (3, 3, 2)
    clock[0] += 3
    assert part.over()
    assert not stop.over()
    assert stop.part(0.1).over()  # that share was used up before


def test_a_part_of_what_is_left(clock):
    """A part of a part is a share of the time that was left."""
    stop = Stop(10)
    clock[0] += 5
    assert stop.part().part(0.2).seconds == 1


def test_iterations_of_a_part_count_for_the_whole():
    """What a step counts is counted for the search, too."""
    stop = Stop(10, iterations=100)
    stop.part().count(30)
    stop.part().count(3)
    assert stop.done == 33
    assert stop.part().done == 0


def test_loading_does_not_count_as_time(clock):
    """Time in a pause counts neither for a part nor for the whole."""
    stop = Stop(10)
    part = stop.part(0.5)
    clock[0] += 1
    with part.paused():
        clock[0] += 100
    assert (stop.elapsed(), stop.left(), part.left()) == (1, 9, 4)


def test_ctrl_c_ends_every_part():
    """An interrupt of one step ends the whole search."""
    stop = Stop(10)
    other = stop.part()
    stop.part().interrupt()
    assert stop.interrupted
    assert other.over()


def test_the_share_that_is_used(clock):
    """Iterations count if they are limited, and the seconds of a step otherwise."""
    stop = Stop(10)
    clock[0] += 2
    step = stop.part(0.5)
    clock[0] += 0.75
    assert (stop.used(), step.used()) == (0.275, 0.25)
    counted = Stop(10, iterations=8)
    counted.count(2)
    assert counted.used() == 0.25


def test_the_same_limits_start_again(clock):
    """A limit can be sent to a process and begins there."""
    limit = pickle.loads(pickle.dumps(Stop(10)))
    clock[0] += 50
    stop = limit.again(asked=lambda: False)
    assert stop.left() == 10
    assert Stop(iterations=7).again().iterations == 7


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "give a time limit or a number of iterations"),
        ({"seconds": 0}, "time limit is 0, not a number above 0"),
        ({"seconds": -1.0}, "time limit is -1"),
        ({"seconds": math.nan}, "time limit is nan"),
        ({"seconds": math.inf}, "time limit is inf"),
        ({"iterations": 0}, "iterations is 0, not a whole number of at least 1"),
        ({"iterations": 2.5}, "iterations is 2.5"),
    ],
)
def test_a_limit_that_is_none_is_refused(limits, message):
    """Each wrong limit gets a line that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        Stop(**limits)
