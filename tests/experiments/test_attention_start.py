"""The Attention Model as a method of ``evaluate``."""

from __future__ import annotations

import pickle

import pytest

import experiments  # registers the Attention Model
import fixedfleet as ff
from fixedfleet.evaluate import get_method, get_set

pytest.importorskip("torch")


@pytest.fixture
def weights(shared):
    """The folder of the published weights, if there is one."""
    folder = shared / "attention_model"
    if not folder.is_dir():
        pytest.skip("no weights of the Attention Model")
    return folder


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("am-greedy:weights=/a/folder,device=cuda", "am-greedy:device=cuda"),
        ("am-sampling:samples=16,batch=4", "am-sampling:batch=4,samples=16"),
        ("am-sampling:samples=1280", "am-sampling"),
        ("am-greedy+ortools:weights=/a/folder", "am-greedy+ortools"),
        ("experiments.attention_model:AttentionGreedy", "AttentionGreedy"),
    ],
)
def test_a_name_says_what_matters_and_no_paths(spec, name):
    """Importing the experiments is enough to name the model in a spec."""
    method = get_method(spec)
    assert method.name == name
    assert pickle.loads(pickle.dumps(method)) == method


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("am-sampling:samples=0", "not a whole number of at least 1"),
        ("am-greedy:samples=3", "does not take samples="),
        ("am-greedy+gpu", "gpu begins with packing or network"),
    ],
)
def test_wrong_options_are_refused(spec, said):
    """An option that has no meaning is an error that says what there is."""
    with pytest.raises(ff.InputError, match=said):
        get_method(spec)


def test_missing_weights_are_named_by_check(monkeypatch, tmp_path):
    """Without its weights the model says how to give them."""
    monkeypatch.delenv(experiments.attention_model.WEIGHTS_VARIABLE, raising=False)
    with pytest.raises(ff.InputError, match="set FIXEDFLEET_ATTENTION_MODEL"):
        get_method("am-greedy").check()
    with pytest.raises(ff.InputError, match="none"):
        get_method(f"am-greedy:weights={tmp_path}/none").check()


def test_it_may_exceed_the_fleet_and_a_search_may_not(weights):
    """It plans with any number of vehicles; a search after it keeps the bound."""
    tight = [i.with_vehicles(i.minimum_vehicles) for i in get_set("vrp20", 8).instances]
    greedy = get_method(f"am-greedy:batch=8,weights={weights}").solve(tight)
    excess = [a.plan.vehicles - i.vehicles for a, i in zip(greedy, tight, strict=True)]
    assert max(excess) > 0
    worst = tight[excess.index(max(excess))]
    method = get_method(f"am-greedy+ruin_recreate:weights={weights}")
    (answer,) = method.solve([worst], iterations=500)
    assert answer.plan is None or answer.plan.vehicles <= worst.vehicles
    two = get_set("uniform20:99", 2).instances
    sampled = get_method(f"am-sampling:samples=4,batch=2,weights={weights}")
    for seed in (0, 0, 1):
        plans = [answer.plan for answer in sampled.solve(two, seed=seed)]
        assert not any(p.unserved(i) for p, i in zip(plans, two, strict=True))


def test_rounded_distances_are_planned_in_batches(shared, weights):
    """Instances of any distances are planned together as alone."""
    instance = get_set(shared / "cvrplib" / "A" / "A-n32-k5.vrp").instances[0]
    method = get_method(f"am-greedy:batch=2,weights={weights}")
    (alone,) = method.solve([instance])
    assert not alone.plan.unserved(instance)
    assert [answer.plan for answer in method.solve([instance] * 2)] == [alone.plan] * 2
