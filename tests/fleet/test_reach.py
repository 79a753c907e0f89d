"""Tests of what windows and shifts rule out."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.fleet import assess_fleet
from fixedfleet.fleet.reach import find_unreachable, order_by_time


def day(windows=None, shift=(480, 600), **changes):
    """Customers 30 and 50 minutes away; 10 minutes of service."""
    return ff.Instance(
        **{
            "depot": (0, 0),
            "customers": [(30, 0), (50, 0)],
            "demands": [1, 1],
            "names": ["Mill", "Farm"],
            "vehicle_types": [ff.VehicleType(capacity=2, count=2, shift=shift)],
            "speed": 1,
            "service_times": [10, 10],
            "windows": windows,
            "time_unit": "min",
        }
        | changes
    )


def test_a_packing_that_is_in_time_shows_that_the_fleet_suffices():
    """The stops are ordered by the ends of their windows."""
    instance = day(windows=[(480, 580), (480, 530)], shift=(480, 610))
    verdict = assess_fleet(instance)
    assert verdict.status == "feasible"
    assert verdict.packing.check(instance) == []
    assert "meets all windows and shifts" in verdict.reason


@pytest.mark.parametrize(
    ("windows", "shift", "reason"),
    [
        (
            [None, (480, 529)],
            (480, 600),
            "customer Farm cannot be reached before 08:50, but its window closes at",
        ),
        (
            None,
            (480, 589),
            "customer Farm is too far for any shift: a vehicle would be back at 09:50, "
            "after 09:49",
        ),
        ([None, (500, None)], (480, 590), ""),
        ([None, (531, None)], (480, 590), "customer Farm is too far for any shift"),
    ],
)
def test_a_customer_that_no_vehicle_serves_in_time_is_named(windows, shift, reason):
    """The proof has the times; a window or shift that is just met proves nothing."""
    assert find_unreachable(day(windows, shift)).startswith(reason)
    verdict = assess_fleet(day(windows, shift))
    assert (verdict.status == "impossible") == bool(reason)
    if reason:
        assert verdict.upper_bound is None
        assert "no number of such vehicles suffices" in str(verdict)


def test_without_service_times_only_the_ways_count():
    """A shift as long as the way there and back is long enough."""
    assert find_unreachable(day(service_times=None, shift=(480, 580))) == ""
    said = find_unreachable(day(service_times=None, shift=(480, 579)))
    assert "would be back at 09:40, after 09:39" in said


def test_each_customer_has_its_own_service_time():
    """The last one's 20 minutes make its tour too long, the first one's do not."""
    fields = {"shift": (480, 600), "customers": [(50, 0), (50, 0)]}
    assert find_unreachable(day(service_times=[20, 20], **fields)) == ""
    assert "Farm" in find_unreachable(day(service_times=[20, 21], **fields))
    assert "Mill" in find_unreachable(day(service_times=[21, 20], **fields))


def test_vehicles_without_a_shift_may_leave_at_any_time():
    """A customer 50 minutes away can be reached 50 minutes after midnight."""
    plain = {"shift": None, "service_times": None}
    assert find_unreachable(day(windows=[None, (0, 50)], **plain)) == ""
    said = find_unreachable(day(windows=[None, (0, 49)], **plain))
    assert "cannot be reached before 00:50, but its window closes at 00:49" in said


def test_windows_that_are_not_given_are_open_from_the_start():
    """Half a minute suffices for a customer a quarter of a minute away."""
    near = {"customers": [(0.25, 0), (0, 0.25)], "service_times": None}
    assert find_unreachable(day(shift=(0, 0.5), **near)) == ""


def test_stops_without_windows_are_ordered_by_the_way_from_the_depot():
    """The nearest comes first, and then the nearest to it."""
    places = {"customers": [(50, 0), (30, 0), (0, 35)], "names": None}
    fields = {"demands": [1] * 3, "service_times": None}
    types = [ff.VehicleType(capacity=3, shift=(0, 900))]
    instance = day(vehicle_types=types, **places, **fields)
    assert order_by_time(ff.Plan([[3, 1, 2]]), instance).tours == ((2, 1, 3),)


def test_all_customers_out_of_reach_are_counted():
    """The sentence names one, and says how many more."""
    assert find_unreachable(day(shift=(480, 500))).endswith(
        "; the same holds for 1 more"
    )


def test_a_large_customer_needs_a_large_vehicle_in_time():
    """A shift that is long enough does not help if its vehicle is too small."""
    types = [
        ff.VehicleType(capacity=1, shift=(0, 900)),
        ff.VehicleType(capacity=5, shift=(0, 60)),
    ]
    assert "Farm" in find_unreachable(day(demands=[1, 3], vehicle_types=types))


def test_a_faster_way_over_other_customers_counts():
    """Nothing is claimed from the direct way if it is not the fastest."""
    times = np.array([[0, 10, 200], [10, 0, 10], [200, 10, 0]])
    fields = {"speed": None, "time_matrix": times, "shift": (0, 60)}
    assert find_unreachable(day(**fields)) == ""


def test_what_is_not_proven_is_said():
    """If the demands fit but no plan in time is known, the verdict is undecided."""
    one = [ff.VehicleType(capacity=2, shift=(480, 590))]
    verdict = assess_fleet(day(vehicle_types=one))
    assert verdict.status == "undecided"
    assert "whether windows and shifts can be met is not proven" in str(verdict)
    assert verdict.packing is None


def test_loads_that_do_not_fit_are_still_a_proof():
    """Times cannot make a fleet large enough."""
    verdict = assess_fleet(
        day(
            demands=[2, 2], vehicle_types=[ff.VehicleType(capacity=2, shift=(480, 600))]
        )
    )
    assert verdict.status == "impossible"
    assert "the demands sum to 4" in verdict.reason


def test_additions_for_loads_do_not_prove_that_times_are_met():
    """The advice says both."""
    types = [
        ff.VehicleType(name="small", capacity=1, shift=(480, 600)),
        ff.VehicleType(name="large", capacity=2, shift=(480, 600)),
    ]
    verdict = assess_fleet(day(demands=[2, 2], vehicle_types=types))
    assert verdict.status == "impossible"
    assert "1 more vehicle of type 'large', the demands fit; whether" in verdict.advice
