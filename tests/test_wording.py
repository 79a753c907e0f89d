"""Numbers as people read them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fixedfleet.wording import (
    count,
    decimals,
    describe_proof,
    length_unit,
    with_unit,
)


def test_one_thing_and_several():
    """One thing is singular, any other number is plural, thousands have a comma."""
    said = [count(number, "vehicle") for number in (0, 1, 2, 1900)]
    assert said == ["0 vehicles", "1 vehicle", "2 vehicles", "1,900 vehicles"]


@pytest.mark.parametrize(
    ("length", "places"),
    [(172.794, 3), (27591, 1), (1234567, 0), (1e-9, 6), (0, 0), (math.inf, 0)],
)
def test_a_length_has_six_digits_in_all(length, places):
    """A length has as many decimals as its digits before the point leave."""
    assert decimals(length, 6) == places


def test_the_unit_of_lengths(square):
    """On the globe lengths are kilometres or miles; elsewhere what one says."""
    globe = replace(square, metric="great_circle")
    told = [square, globe, replace(globe, length_unit="mi")]
    assert [length_unit(one) for one in told] == ["", "km", "mi"]
    assert [with_unit("7", length_unit(one)) for one in told] == ["7", "7 km", "7 mi"]


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (0.006, "0.60 %"),
        (0.00601, "0.61 %"),
        (0.0123, "1.3 %"),
        (0.1, "10 %"),
        (0.1201, "13 %"),
        (1e-9, "0.01 %"),
        (25.0, "2,500 %"),
    ],
)
def test_a_gap_is_never_rounded_down(gap, said):
    """A plan is at most so much longer, so the last of two digits is rounded up."""
    sentence = f"at most {said} longer than the shortest possible plan"
    assert describe_proof(gap, is_optimal=False) == sentence


def test_a_gap_names_what_was_minimised_and_what_was_locked():
    """With a vehicle cost plans are cheap, not short; locked tours are named."""
    assert describe_proof(0.5, is_optimal=False, vehicle_cost=35, locked=2) == (
        "at most 50 % more expensive than the cheapest possible plan that keeps the "
        "locked tours"
    )
    assert describe_proof(0, is_optimal=True) == "proven: no plan is shorter"
