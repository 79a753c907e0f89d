"""Predictions: their tensors are checked, and they know what was predicted."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.model import ModelConfig, Network
from fixedfleet.planning import certain_prediction, decode, predict, predict_views

from .conftest import log_of, make_prediction

DEMANDS = torch.tensor([[0, 4, 3, 2]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"demands": DEMANDS[:, :3]}, "demands has shape"),
        ({"demands": DEMANDS.float()}, "not whole units"),
        ({"demands": -DEMANDS}, "negative"),
        ({"capacity": torch.tensor([0])}, "below 1"),
        ({"log_probs": torch.zeros(2, 4, 4)}, "not \\(B, M, N', N'\\)"),
        ({"log_probs": torch.full((1, 2, 4, 4), torch.nan)}, "NaN"),
        ({"vehicles": torch.ones(1, 3, dtype=torch.bool)}, "vehicles has shape"),
    ],
)
def test_wrong_tensors_are_named(change, message):
    """A tensor of the wrong shape, type or value is named in the error."""
    right = make_prediction(log_of({}, 3, 2), DEMANDS, 9)
    with pytest.raises(ff.InputError, match=message):
        decode(dataclasses.replace(right, **change))


def test_the_first_view_is_the_prediction_itself():
    """Symmetries give other predictions of the same instances; the first is none."""
    torch.manual_seed(0)
    network = Network(ModelConfig(width=8, hidden=8, layers=1)).eval()
    instances = generate.uniform(20, 2, seed=1)
    views = list(predict_views(network, instances, 8))
    assert len(views) == 8
    assert torch.equal(views[0].log_probs, predict(instances, network).log_probs)
    assert not torch.equal(views[1].log_probs, views[0].log_probs)
    assert torch.allclose(views[1].distances, views[0].distances, atol=1e-6)


@pytest.fixture(scope="module")
def eight():
    """Eight instances of 20 customers."""
    return generate.uniform(20, 8, seed=7)


def test_three_lines_lead_from_an_instance_to_a_plan(eight):
    """predict, plot and decode need nothing but the instance and a network's name."""
    pytest.importorskip("safetensors")
    figure = pytest.importorskip("matplotlib.figure").Figure()
    instance = eight[0]
    prediction = ff.predict(instance, model="universal")
    ax = prediction.plot(figure.subplots())
    assert "vehicle 4" in [text.get_text() for text in ax.get_legend().get_texts()]
    plans = [
        prediction.decode(decoding, repair=repair)
        for decoding in ("greedy", "beam", "membership")
        for repair in ("room", "paper", "none")
    ]
    assert all(isinstance(plan, ff.Plan) for plan in plans)
    assert plans[-3].check(instance) == []
    assert len({plan.length(instance) for plan in plans}) > 3


def test_many_instances_give_many_plans(eight):
    """A batch or a list gives a PlanBatch; each instance as if it were alone."""
    pytest.importorskip("safetensors")
    plans = ff.predict(eight, "universal").decode()
    assert isinstance(plans, ff.PlanBatch)
    assert list(plans) == list(ff.predict(list(eight)).decode())
    assert plans[3] == ff.predict(eight[3]).decode()


def test_a_prediction_of_many_can_be_cut(eight):
    """A slice keeps its instances, and a number gives the prediction of one."""
    pytest.importorskip("safetensors")
    prediction = ff.predict(eight)
    assert prediction[2:5].instances == eight[2:5]
    assert prediction[-1].instances == eight[-1]
    assert prediction[-1].decode() == prediction.decode()[7]
    assert prediction.probabilities.shape == (8, 4, 21, 21)
    assert repr(prediction[:2]) == (
        "Prediction(2 instances, 20 customers, 4 vehicles, on cpu)"
    )
    with pytest.raises(ff.InputError, match=r"prediction\[0\].plot\(\)"):
        prediction.plot()


def test_one_network_takes_instances_of_all_sizes(eight):
    """Instances of different sizes are predicted together as each would be alone."""
    pytest.importorskip("safetensors")
    mixed = [eight[0], generate.uniform(100, 1, seed=1)[0]]
    plans = ff.predict(mixed).decode()
    assert plans[0] == ff.predict(eight[0]).decode()
    assert [plan.check(one) for plan, one in zip(plans, mixed, strict=True)] == [[], []]


def test_a_prediction_needs_instances_and_a_network(eight):
    """No instances, or a network that does not exist, give an error that says so."""
    pytest.importorskip("safetensors")
    with pytest.raises(ff.InputError, match="no instances"):
        ff.predict([])
    with pytest.raises(ff.InputError, match="no network 'vrp21'"):
        ff.predict(eight, "vrp21")


def test_a_network_that_was_trained_again_is_loaded_again(eight, tmp_path):
    """A file that has changed is not answered from memory, as a notebook needs it."""
    pytest.importorskip("safetensors")
    from fixedfleet.model import save_model

    path = tmp_path / "mine.safetensors"
    logs = []
    for seed, width in ((0, 8), (1, 16)):
        torch.manual_seed(seed)
        save_model(Network(ModelConfig(width=width, hidden=8, layers=1)), path)
        logs.append(ff.predict(eight, path).log_probs)
    assert not torch.equal(*logs)


def test_the_assignment_of_a_plan_is_decoded_again():
    """Membership keeps who rides with whom, orders tours anew and adds the rest."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(1, 0), (3, 0), (2, 0), (0, 1)],
        demands=[1, 1, 1, 1],
        capacity=4,
        vehicles=2,
    )
    plan = ff.Plan([[2, 1, 3], [4]])
    batch = ff.InstanceBatch.of([instance, instance])
    prediction = certain_prediction(batch, [plan, ff.Plan([[3, 1, 2]])])
    kept, completed = decode(prediction)
    assert sorted(map(sorted, kept)) == [[1, 2, 3], [4]]
    assert kept.length(instance) == pytest.approx(8.0)
    assert completed.is_feasible(instance)
