"""The runs that an evaluation asks for, without any process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import fixedfleet as ff
from fixedfleet.evaluate import trials
from fixedfleet.evaluate.pipeline import Pipeline
from fixedfleet.evaluate.sets import InstanceSet
from fixedfleet.evaluate.starts import SavingsStart
from tests.loading import Loading


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


def test_a_warm_worker_has_the_code_for_any_instance(make_instance, monkeypatch):
    """An instance that needs more code than the warm-up did waits for no compiler."""
    torch = pytest.importorskip("torch")
    from fixedfleet.planning import settling

    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    monkeypatch.setattr(trials, "_warm", set())
    easy = make_instance(name="easy")
    full = make_instance(name="full", demands=[3] * 12, capacity=11)  # 9 fit, not 12
    both = InstanceSet(name="both", instances=[easy, full])
    method = Pipeline("decoded", SavingsStart(decoded=True), "")
    tasks, _ = trials.missing_trials([both], [method], [[(None, None)]], [0], {})
    loading = Loading()
    call = SimpleNamespace(send=lambda *_, **__: loading.start_clock())
    for trial in tasks:
        trials.work(trial, call, [method], 1.0, 1.0)
    assert loading.late() == set()
    assert settling.settle.overloads  # the second instance needed it
