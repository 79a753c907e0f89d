"""The genetic search in slices."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.fleet import pack
from fixedfleet.search import genetic, improve
from fixedfleet.search.genetic import hgs_in_slices
from fixedfleet.solvers import hgs

GOOD, POOR = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])


@pytest.fixture
def slices(monkeypatch):
    """A genetic search that takes no time; returns what each slice was given."""
    given = []

    def instead(instance, **options):
        given.append(options)
        return [GOOD, POOR]

    monkeypatch.setattr(hgs, "hgs_plans", instead)
    return given


def test_a_long_search_is_cut_and_stops_between_slices(slices, square):
    """Told to stop, the search ends after the slice that runs, with its plan."""
    found = hgs_in_slices(
        square, POOR, time_limit=60, seed=5, stop=lambda: len(slices) == 3
    )
    assert found.plan == GOOD
    assert [given["time_limit"] for given in slices] == [genetic._LONGEST] * 3
    assert [given["seed"] for given in slices] == [5, 6, 7]


def test_a_slice_goes_on_from_the_plans_of_the_one_before(slices, square):
    """The best plans of a slice join the first population of the next."""
    hgs_in_slices(square, POOR, time_limit=60, stop=lambda: len(slices) == 2)
    assert [given["starts"] for given in slices] == [[POOR], [GOOD, POOR]]


def test_improvements_are_told(slices, square):
    """Whoever watches sees the start and what a slice made of it."""
    seen = []
    hgs_in_slices(
        square,
        POOR,
        time_limit=60,
        on_improvement=lambda seconds, cost, plan: seen.append(plan),
        stop=lambda: len(slices) == 2,
    )
    assert seen == [POOR, GOOD]


def test_ctrl_c_keeps_the_best_plan(monkeypatch, square):
    """Ctrl-C during a slice leaves the best plan of those before."""
    answers = iter([[GOOD]])

    def instead(instance, **options):
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr(hgs, "hgs_plans", instead)
    found = hgs_in_slices(square, POOR, time_limit=60)
    assert found.interrupted
    assert found.plan == GOOD


def test_a_short_search_is_one_slice(slices, monkeypatch, square):
    """A limit of a second is not cut: all of it goes into one population."""
    begun = []
    monkeypatch.setattr(genetic.Run, "left", lambda self, until=1: 0.9 - len(begun))
    monkeypatch.setattr(
        genetic.Run, "offer", lambda self, plan: begun.append(plan), raising=True
    )
    hgs_in_slices(square, POOR, time_limit=0.9)
    assert [given["time_limit"] for given in slices] == [0.9]


def test_the_search_by_name_heeds_stop():
    """``hgs`` told to stop at once gives the start back."""
    instance = generate.uniform(20, 1, seed=2)[0]
    start = pack(instance)
    found = improve(instance, start, search="hgs", time_limit=60, stop=lambda: True)
    assert found.plan == start
