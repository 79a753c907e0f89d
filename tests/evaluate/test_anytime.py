"""Quality over time as a picture."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.evaluate import plot_anytime, summaries


@pytest.fixture
def ax():
    """Axes of a figure that is never shown."""
    return pytest.importorskip("matplotlib.figure").Figure().subplots()


@pytest.fixture
def rows(make_row):
    """Rows of two methods, one of them with two limits."""
    return [
        make_row(method="slow", time_limit=2.0, seconds=2.0, length=8.8),
        make_row(method="slow", time_limit=1.0, seconds=1.0, length=9.6),
        make_row(method="quick", time_limit=None, seconds=0.1, length=12.0),
    ]


def test_gaps_are_drawn_against_wall_time(rows, fakes, ax):
    """Each method is a line with a point per limit, on axes with logarithms."""
    found = summaries(rows, fakes.make_set(1, reference={"a": 8.0}))
    plot_anytime(found, ax)
    lines = {one.get_label(): one.lines[0].get_xydata() for one in ax.containers}
    assert np.allclose(lines["slow"], [[1.0, 20.0], [2.0, 10.0]])
    assert np.allclose(lines["quick"], [[0.1, 50.0]])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylabel() == "mean gap, %"


def test_lengths_of_one_set_are_drawn_without_references(rows, fakes, ax):
    """Lengths of several sets cannot be compared, and no plan is nothing to draw."""
    letters = fakes.make_set(1)
    found = summaries(rows, letters)
    plot_anytime(found, ax)
    assert (ax.get_ylabel(), ax.get_yscale()) == ("mean length", "linear")
    others = summaries(rows, fakes.make_set(1, name="others"))
    with pytest.raises(ff.InputError, match="letters, others cannot be compared"):
        plot_anytime([*found, *others], ax)
    with pytest.raises(ff.InputError, match="nothing to draw"):
        plot_anytime([], ax)


def test_a_line_names_its_set_only_among_several(rows, fakes, ax):
    """With two sets, each line has the names of its method and of its set."""
    sets = [fakes.make_set(1, name=name, reference={"a": 8.0}) for name in "pq"]
    found = [summaries(rows, one) for one in sets]
    plot_anytime([*found[0], *found[1]], ax)
    labels = {one.get_label() for one in ax.containers}
    assert labels == {"slow, p", "quick, p", "slow, q", "quick, q"}
    ax.clear()
    plot_anytime(found[1], ax)
    assert {one.get_label() for one in ax.containers} == {"slow", "quick"}


def test_a_gap_of_zero_has_no_logarithm(make_row, fakes, ax):
    """If a method reaches the reference, gaps are drawn on a linear axis."""
    found = summaries([make_row()], fakes.make_set(1, reference={"a": 8.0}))
    plot_anytime(found, ax)
    assert ax.get_yscale() == "linear"
