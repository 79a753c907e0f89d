"""Plans straight from a network, for many instances."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.planning.predicted import predicted_plan, predicted_plans


def test_many_are_planned_as_one_alone():
    """Whatever the batch, an instance gets the plan it gets alone."""
    instances = [generate.uniform(n, 1, seed=n)[0] for n in (20, 50, 20)]
    instances += generate.uniform(22, 1, seed=1, capacity=30, vehicles=5)
    plans = predicted_plans(ff.InstanceBatch.of(instances), batch_size=2)
    assert list(plans) == [predicted_plan(instance) for instance in instances]


def test_a_batch_and_a_list_agree():
    """A batch gives the plans of its instances in a list, however it is cut."""
    batch = generate.uniform(20, 7, seed=3)
    plans = list(predicted_plans(batch, batch_size=3))
    assert plans == list(predicted_plans(ff.InstanceBatch.of(list(batch))))
    assert plans == list(predicted_plans(batch, "vrp20"))


def test_bf16_plans_too():
    """At a lower precision plans stay within fleet and capacity."""
    batch = generate.uniform(20, 5, seed=3)
    for plan, instance in zip(
        predicted_plans(batch, precision="bf16"), batch, strict=True
    ):
        assert all(fault.endswith("missing") for fault in plan.check(instance))


def test_no_instances_no_plans():
    """Nothing in, nothing out."""
    assert len(predicted_plans(ff.InstanceBatch.of([]))) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "tpu9"}, "device is 'tpu9', not cpu, cuda"),
        ({"device": "cuda:99"}, "device 'cuda:99' was asked for, and torch finds"),
        ({"precision": "fp8"}, "precision is 'fp8', not bf16 or fp32"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"model": "vrp7"}, "vrp7"),
    ],
)
def test_wrong_options_are_named(options, message):
    """A device, precision or network that there is not is refused in one line."""
    with pytest.raises(ff.InputError, match=message):
        predicted_plans(generate.uniform(20, 1, seed=1), **options)


def test_a_matrix_is_named_by_its_row(square):
    """An instance without coordinates is refused with its place in the batch."""
    matrix = ff.Instance(demands=[1], capacity=1, vehicles=1, matrix=[[0, 1], [1, 0]])
    with pytest.raises(ff.InputError, match="instance 1 has a distance matrix"):
        predicted_plans(ff.InstanceBatch.of([square, matrix]))
