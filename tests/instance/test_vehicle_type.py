"""Tests of VehicleType."""

from __future__ import annotations

import pytest

import fixedfleet as ff


def test_a_vehicle_type_costs_its_distance_unless_told_otherwise():
    """Only the capacity must be given; then one vehicle costs the distance."""
    one = ff.VehicleType(capacity=850.0)
    assert (one.name, one.count, one.capacity) == ("", 1, 850)
    assert (one.fixed_cost, one.cost_per_distance, one.shift) == (0, 1, None)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"capacity": 0}, "capacity of vehicle type 'van' is 0, not a number above 0"),
        ({"count": 0}, "count of vehicle type 'van' is 0"),
        ({"count": 1.5}, "count of vehicle type 'van' is 1.5"),
        ({"fixed_cost": -1}, "fixed_cost of vehicle type 'van' is -1"),
        ({"cost_per_distance": -1}, "cost_per_distance of vehicle type 'van' is -1"),
        ({"shift": (480, 480)}, "ends at 480, not after its begin, 480"),
        ({"shift": (-1, 480)}, r"shift of vehicle type 'van'\[0\] is -1"),
        ({"shift": (480,)}, "has shape"),
    ],
)
def test_a_wrong_vehicle_type_is_refused(wrong, message):
    """What is wrong is said, with the name of the type."""
    with pytest.raises(ff.InputError, match=message):
        ff.VehicleType(**{"name": "van", "capacity": 850} | wrong)


def test_types_that_differ_in_name_and_number_only_are_of_one_kind():
    """Two vans with names are interchangeable; a van with a shift is another kind."""
    anna = ff.VehicleType(name="Anna", capacity=850)
    bert = ff.VehicleType(name="Bert", capacity=850, count=2)
    late = ff.VehicleType(name="late", capacity=850, shift=(600, 900))
    assert anna.kind == bert.kind != late.kind
