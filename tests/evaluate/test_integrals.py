"""The primal integral and WRAP, by hand."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.evaluate.integrals import primal_integral, wrap


@pytest.mark.parametrize(
    ("trace", "value"),
    [
        ([], 10.0),  # nothing: 1.1 R all the time
        ([(0.0, 100.0)], 0.0),  # the reference at once
        ([(5.0, 100.0)], 5.0),  # half of the time at 10 %
        ([(2.0, 105.0), (6.0, 101.0)], (2 * 10 + 4 * 5 + 4 * 1) / 10),
        ([(1.0, 200.0), (5.0, 100.0)], 5.0),  # worse than 1.1 R does not count
        ([(4.0, 100.0), (11.0, 50.0)], 4.0),  # after the limit it does not count
        ([(0.0, 90.0)], -10.0),  # better than the reference
    ],
)
def test_the_primal_integral_is_the_mean_percentage(trace, value):
    """It averages how far above the reference the best plan is, 10 % at most."""
    found = primal_integral(tuple(trace), 100.0, 10.0)
    assert found == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("trace", "base", "value"),
    [
        ([], [(0.0, 110.0)], 1.0),  # never a plan
        ([(0.0, 100.0)], [(0.0, 110.0)], 0.0),  # the reference at once
        ([(5.0, 105.0)], [(0.0, 110.0)], 0.75),  # 1 for half the time, then 1/2
        ([(0.0, 130.0)], [(0.0, 110.0)], 1.0),  # never better than the base
        # The base comes closer at 4: 5/10 before, 5/5 after.
        ([(0.0, 105.0)], [(0.0, 110.0), (4.0, 105.0)], 0.4 * 0.5 + 0.6),
        # The base has its first plan at 6, and counts with it from the beginning.
        ([(0.0, 105.0)], [(6.0, 120.0)], 0.25),
        ([(0.0, 100.0)], [(0.0, 100.0)], 1.0),  # no better than a perfect base
    ],
)
def test_wrap_compares_with_a_base_over_time(trace, base, value):
    """It averages the share that is left of the base's distance to the reference."""
    assert wrap(tuple(trace), tuple(base), 100.0, 10.0) == pytest.approx(value)


def test_a_method_against_itself_has_a_wrap_of_one():
    """Whatever the curve, a method is as good as itself."""
    trace = ((0.5, 130.0), (2.0, 104.0), (7.0, 101.0))
    assert wrap(trace, trace, 100.0, 10.0) == pytest.approx(1.0)


def test_what_cannot_be_measured_is_refused():
    """There is no integral without a reference, a limit, or a base with a plan."""
    with pytest.raises(ff.InputError, match="the reference is 0"):
        primal_integral((), 0.0, 1.0)
    with pytest.raises(ff.InputError, match="the limit is 0"):
        wrap((), ((0.0, 1.0),), 1.0, 0.0)
    with pytest.raises(ff.InputError, match="needs a base"):
        wrap((), (), 1.0, 1.0)
