"""Numbers as people read them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fixedfleet.wording import count, decimals, length_unit, with_unit


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
