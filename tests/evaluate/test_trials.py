"""The runs that an evaluation asks for, without any process."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.evaluate import trials


def test_sets_that_share_an_instance_must_agree_on_its_vehicle_cost(fakes):
    """An instance of two sets is run once, and refused if vehicle costs differ."""
    letters = fakes.make_set(2)

    def ask(**changes):
        sets = [letters, fakes.make_set(2, name="others", **changes)]
        method = fakes.FirstFit()
        return trials.missing_trials(sets, [method], [[(None, None)]], [0], {})[0]

    assert len(ask()) == 2
    with pytest.raises(ff.InputError, match="costs 10 instead of 3"):
        ask(vehicle_cost=3.0)
