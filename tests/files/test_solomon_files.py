"""Tests of Solomon's format."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.files import ReadOptions, parse

C101 = """C101

VEHICLE
NUMBER     CAPACITY
  25         200

CUSTOMER
CUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE   TIME

    0      40         50          0          0       1236          0
    1      45         68         10        912        967         90
    2      45         70         30        825        870         90
"""


def test_an_instance_of_solomon_is_read(tmp_path):
    """Distances are travel times, and the depot's window is the shift of vehicles."""
    path = tmp_path / "c101.txt"
    path.write_text(C101)
    instance = ff.read(path)
    assert instance.name == "C101"
    assert instance.fleet == (ff.VehicleType(count=25, capacity=200, shift=(0, 1236)),)
    assert instance.demands.tolist() == [10, 30]
    assert instance.windows.tolist() == [[912, 967], [825, 870]]
    assert instance.service_times.tolist() == [90, 90]
    assert instance.travel_times[1, 2] == instance.distances[1, 2] == 2
    assert parse(C101).instance == instance


def test_fleet_and_rounding_may_be_asked_for():
    """They win over the file."""
    options = ReadOptions(vehicles=3, capacity=50, rounding="dimacs")
    instance = parse(C101, options).instance
    assert (instance.vehicles, instance.capacity) == (3, 50)
    assert instance.distances[0, 1] == 18.6


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  25         200\n", "", "a .txt file is read in Solomon's format"),
        ("967         90", "967", "line 11: 6 values"),
        ("  25 ", "  x25 ", "a .txt file is read in Solomon's format"),
        ("68         10", "68         1o", "line 11: demand is '1o'"),
        ("  25   ", "  0    ", "line 5: the number of vehicles is '0', not a whole"),
        ("         200", "         2OO", "line 5: the capacity is '2OO', not a finite"),
        ("50          0  ", "50          7  ", "line 10: the depot has demand 7"),
    ],
)
def test_what_is_wrong_is_said(old, new, said):
    """With the line."""
    assert old in C101
    with pytest.raises(ff.InputError) as caught:
        parse(C101.replace(old, new, 1))
    assert str(caught.value).startswith(said)


def test_one_customer_is_enough_and_the_depot_alone_is_not():
    """The line of the vehicles is followed by the depot and the customers."""
    lines = C101.splitlines(keepends=True)
    assert parse("".join(lines[:-1])).instance.num_customers == 1
    with pytest.raises(ff.InputError, match="or no customers"):
        parse("".join(lines[:-2]))


def test_the_depot_is_not_among_the_customers_that_are_counted():
    """A limit of two customers allows this file, and a limit of one does not."""
    assert parse(C101, ReadOptions(max_customers=2)).instance.num_customers == 2
    with pytest.raises(ff.InputError, match="at most 1 are allowed"):
        parse(C101, ReadOptions(max_customers=1))


def test_times_without_a_unit_take_no_minutes_of_the_caller():
    """A speed in km/h would not fit to times in an unknown unit."""
    said = "states times without a unit: leave speed= and service_minutes= out"
    with pytest.raises(ff.InputError, match=said):
        parse(C101, ReadOptions(speed=40, service_minutes=5))
