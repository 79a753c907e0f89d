"""The fixed computation that tells how fast a core is."""

from __future__ import annotations

from itertools import pairwise

from fixedfleet.evaluate import calibration


def test_small_numbers_in_random_order_are_sorted(monkeypatch):
    """The same 20,000 numbers are sorted five times; half of them precede a smaller."""
    seen = []
    monkeypatch.setattr(calibration, "sorted", seen.append, raising=False)
    calibration.core_seconds.__wrapped__()
    numbers, *others = seen
    assert others == [numbers] * 4
    assert len({*numbers}) == 20_000
    assert all(0 < number < 2**31 for number in numbers)
    assert 0.48 < sum(a > b for a, b in pairwise(numbers)) / 20_000 < 0.52
