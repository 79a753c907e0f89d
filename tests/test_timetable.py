"""When a vehicle is where on its tour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.timetable import is_late, time_tour


def street(**changes):
    """Four customers along a street, 1, 2, 3 and 4 away, at a speed of 1."""
    return ff.Instance(
        **{
            "depot": (0, 0),
            "customers": [(1, 0), (2, 0), (3, 0), (4, 0)],
            "demands": [1] * 4,
            "capacity": 4,
            "vehicles": 1,
            "speed": 1,
        }
        | changes
    )


def test_without_shift_windows_and_service_only_the_legs_take_time():
    """The tour begins at 0, nobody waits, and no time is too late."""
    times = time_tour([2, 4], street(), None)
    assert (times.departure, times.end, times.duration) == (0, 8, 8)
    assert [stop.customer for stop in times.stops] == [2, 4]
    assert [stop.arrival for stop in times.stops] == [2, 4]
    assert [stop.departure for stop in times.stops] == [2, 4]
    assert (times.waiting, times.is_late) == (0, False)
    assert not any(stop.is_late for stop in times.stops)


def test_nobody_waits_for_windows_that_are_not_given():
    """A customer may be served as soon as the vehicle can be there."""
    times = time_tour([1, 2], street(speed=4), None)
    assert [stop.begin for stop in times.stops] == [0.25, 0.5]
    assert (times.departure, times.end, times.waiting) == (0, 1, 0)


def test_a_vehicle_waits_until_the_window_opens():
    """The service begins then and takes its time; the wait is not part of it."""
    day = street(windows=[(0, 1), (5, 9), None, None], service_times=[0, 2, 0, 0])
    times = time_tour([1, 2], day, (0, 9))
    first, second = times.stops
    assert (first.arrival, first.waiting, first.departure) == (1, 0, 1)
    assert (second.arrival, second.begin, second.departure) == (2, 5, 7)
    assert second.waiting == times.waiting == 3
    assert (times.departure, times.end, times.is_late) == (0, 9, False)


def test_all_waits_together_let_a_vehicle_leave_later():
    """It leaves 2 + 5 later, and is back at the same time."""
    windows = [(3, 90), (9, 90), None, None]
    times = time_tour([1, 2], street(windows=windows), (0, 90))
    assert (times.departure, times.end, times.waiting) == (7, 11, 0)
    # The first customer leaves less room, so that some waiting remains.
    windows = [(3, 4), (9, 90), None, None]
    times = time_tour([1, 2], street(windows=windows), (0, 90))
    assert (times.departure, times.end, times.waiting) == (3, 11, 4)


@pytest.mark.parametrize("seed", range(20))
def test_no_later_departure_is_as_good(seed):
    """One unit later, the vehicle is back later or late at one more customer."""
    rng = np.random.default_rng(seed)
    opens = rng.integers(0, 15, 4)
    windows = np.column_stack((opens, opens + rng.integers(0, 8, 4)))
    services = rng.integers(0, 3, 4)
    tour = (rng.permutation(4) + 1).tolist()

    def follow(time):
        place, late = 0, set()
        for customer in tour:
            time += abs(customer - place)
            if time > windows[customer - 1, 1]:
                late.add(customer)
            time = max(time, windows[customer - 1, 0]) + services[customer - 1]
            place = customer
        return time + place, late

    times = time_tour(tour, street(windows=windows, service_times=services), (1, 20))
    late = {stop.customer for stop in times.stops if stop.is_late}
    assert (times.end, late) == follow(1) == follow(times.departure)
    assert times.is_late == (times.end > 20)
    assert late or follow(times.departure + 1) != (times.end, late)


def test_only_more_than_a_rounding_error_is_late():
    """At the last moment a vehicle is in time, also after a sum of many legs."""
    for latest in (0.0, 1.0, 1e6):
        assert not is_late(latest, latest)
        assert not is_late(latest * (1 + 9e-10), latest)
        assert is_late(latest * (1 + 1.1e-9) + 1e-12, latest)
    assert not is_late(1e300, math.inf)
