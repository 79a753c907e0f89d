"""Plans straight from a network, for many instances."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.planning import (
    RepairOptions,
    decode,
    network_plans,
    plan_by_network,
    predict,
    predicting,
    settling,
)
from tests.loading import loaded_late


def plans_for(instances, *model, **options):
    """Return a network's plans for instances."""
    return list(
        plan_by_network(ff.InstanceBatch.of(instances), *model, **options).plans
    )


def test_many_are_planned_as_one_alone(monkeypatch):
    """Whatever the batch, an instance gets the plan it gets alone."""
    monkeypatch.setattr(network_plans, "_MOST", 3)
    monkeypatch.setattr(predicting, "_BYTES", {"cpu": 1})  # one at a time
    instances = [generate.uniform(n, 1, seed=n)[0] for n in (20, 50, 20)]
    instances += generate.uniform(22, 1, seed=1, capacity=30, vehicles=5)
    alone = [plans_for([instance])[0] for instance in instances]
    assert plans_for(instances) == alone


@pytest.mark.parametrize(
    "options", [{"symmetries": 2}, {"decoding": "edges"}, {"passes": 1}]
)
def test_nothing_is_loaded_while_time_is_measured(monkeypatch, options):
    """Code that only some instances need is loaded before the first step is timed."""
    calls, settle = [], settling.settle_tours

    def note(*values):
        calls.append(values)
        return settle(*values)

    monkeypatch.setattr(settling, "settle_tours", note)
    full = generate.uniform(30, 4, seed=0, capacity=40, vehicles=4, reject=False)
    late = loaded_late(
        monkeypatch, network_plans, "_Clock", lambda: plan_by_network(full, **options)
    )
    assert late == set()
    assert len(calls) > 1  # the first of them only loads the code


@pytest.mark.slow
def test_portions_make_no_difference(monkeypatch):
    """A batch gets the same plans, however it is split and however it was made."""
    batch = generate.uniform(20, 7, seed=3)
    plans = plans_for(batch)
    monkeypatch.setattr(network_plans, "_MOST", 3)
    assert plans == plans_for(batch)
    assert plans == plans_for(list(batch))
    assert plans == plans_for(batch, "universal")


def test_bf16_plans_too():
    """At a lower precision plans stay within fleet and capacity."""
    batch = generate.uniform(20, 5, seed=3)
    plans = decode(predict(batch, "universal", precision="bf16"))
    for plan, instance in zip(plans, batch, strict=True):
        assert all(fault.endswith("missing") for fault in plan.check(instance))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("decoder", ["greedy", "membership", "beam3"])
@pytest.mark.parametrize("repair", ["none", "paper", "room"])
def test_a_gpu_plans_too(decoder, repair):
    """On a GPU, every decoder and repair keeps to fleet and capacity."""
    batch = generate.uniform(20, 16, seed=3)
    plans = decode(predict(batch, "universal", device="cuda"), decoder, repair)
    for plan, instance in zip(plans, batch, strict=True):
        assert all(fault.endswith("missing") for fault in plan.check(instance))
    if repair == "room":
        assert plans.feasible(batch).all()


def test_no_instances_no_plans():
    """Nothing in, nothing out."""
    assert plans_for([]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "tpu9"}, "device is 'tpu9', not cpu, cuda"),
        ({"device": "cuda:99"}, "device 'cuda:99' was asked for, and torch finds"),
        ({"model": "vrp7"}, r"no network 'vrp7'.*\(.*universal\)"),
    ],
)
def test_wrong_options_are_named(options, message):
    """An unknown device or network is refused in one line."""
    with pytest.raises(ff.InputError, match=message):
        plans_for(generate.uniform(20, 1, seed=1), **options)


def test_an_unknown_precision_is_named():
    """A misspelt precision is refused with the known ones."""
    batch = generate.uniform(20, 1, seed=1)
    with pytest.raises(ff.InputError, match="'fp8': choose from bf16, tf32, fp32"):
        predict(batch, "universal", precision="fp8")


def test_a_matrix_is_named_by_its_row(square):
    """An instance without coordinates is refused with its place in the batch."""
    matrix = ff.Instance(demands=[1], capacity=1, vehicles=1, matrix=[[0, 1], [1, 0]])
    with pytest.raises(ff.InputError, match="instance 1 has a distance matrix"):
        plans_for([square, matrix])


def test_what_greedy_leaves_out_is_counted_with_its_reason():
    """Left-over customers are those that fit an early returner, and those that don't.

    Together they are the customers that the decoder left out before the repair.
    """
    batch = generate.uniform(20, 40, seed=5)
    repair = RepairOptions("paper", guarantee=True)
    found = plan_by_network(batch, "universal", decoding="greedy", repair=repair)
    plans = decode(predict(batch, "universal"), "greedy", "none")
    left = found.left_early + found.left_full
    unserved = [plan.unserved(one) for plan, one in zip(plans, batch, strict=True)]
    assert left.tolist() == list(map(len, unserved))
    assert left.sum() > 0
    assert set(found.seconds) == {"network", "decoding", "repair"}
    wide = batch.with_vehicles(np.maximum(found.plans.vehicles(), batch.vehicles))
    assert found.plans.feasible(wide).all()
