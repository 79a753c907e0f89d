"""A solver that calls back, as an iterator of plans."""

from __future__ import annotations

import threading

import pytest

from fixedfleet import Plan
from fixedfleet.deadline import Deadline
from fixedfleet.search.outside.callback_plans import plans_of_callback


def make_clock():
    """A clock that stands still until it is set."""
    now = [0.0]
    return now, Deadline(9.0, clock=lambda: now[0])


def test_plans_arrive_in_order_while_the_solver_waits():
    """The solver goes on only when the plan before has been dealt with."""
    _, deadline = make_clock()
    steps = []

    def run(report, _deadline):
        for number in (1, 2, 3):
            steps.append(f"found {number}")
            report(lambda number=number: Plan([[number]]))

    for plan in plans_of_callback(run, deadline):
        steps.append(f"checked {plan.tours[0][0]}")
    assert steps == [f"{what} {n}" for n in (1, 2, 3) for what in ("found", "checked")]


def test_plans_in_quick_succession_are_held_back():
    """Of plans that come while the pace forbids a report, the last one is kept."""
    now, deadline = make_clock()

    def run(report, _deadline):
        report(lambda: Plan([[1]]))  # takes a second to check: the next waits 49 s
        for number in (2, 3):
            report(lambda number=number: Plan([[number]]))
        report()
        now[0] = 60.0
        report()
        report(lambda: Plan([[4]]))

    plans = []
    for plan in plans_of_callback(run, deadline):
        now[0] += 1.0
        plans.append(plan.tours[0][0])
    assert plans == [1, 3, 4]


def test_an_error_of_the_solver_is_raised():
    """What goes wrong in the solver's thread reaches the caller."""

    def run(_report, _deadline):
        raise ValueError("no route")

    with pytest.raises(ValueError, match="no route"):
        list(plans_of_callback(run, Deadline(9.0)))


def test_a_closed_iterator_ends_the_solver():
    """The solver's own deadline is over when nobody asks for plans any more."""
    ended = threading.Event()

    def run(report, deadline):
        report(lambda: Plan([[1]]))
        while not deadline.over():
            pass
        ended.set()

    plans = plans_of_callback(run, Deadline(1e9))
    assert next(plans) == Plan([[1]])
    plans.close()
    assert ended.wait(10)


def test_a_stop_ends_the_iterator():
    """A solver that reports nothing does not keep the caller waiting."""
    never = threading.Event()
    deadline = Deadline(1e9, stop=lambda: True)
    assert list(plans_of_callback(lambda *_: never.wait(10), deadline)) == []
    never.set()
