"""The network's invariances, which hold for any weights."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import ModelConfig, Network, collate
from fixedfleet.model.network import _vehicle_features

TINY = {"width": 16, "hidden": 24, "layers": 2}
KINDS = {
    "authors": TINY,
    "print": TINY | {"fleet_share": False, "score_scale": "width"},
    "softassign": TINY | {"normalisation": "softassign"},
}


def _network(kind):
    torch.manual_seed(3)
    network = Network(ModelConfig(**kind))
    for parameter in network.parameters():  # also those that start at zero
        torch.nn.init.normal_(parameter, std=0.3)
    return network.eval()


def _collate(*instances):
    return collate(ff.InstanceBatch.of(instances)).features


def _predict(network, *instances):
    with torch.inference_mode():
        return network(_collate(*instances))


def _same(left, right):
    return torch.allclose(left.exp(), right.exp(), atol=2e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width is 0"),
        ({"normalisation": "columns"}, "choose from vehicle, softassign"),
    ],
)
def test_wrong_settings_are_errors(change, message):
    """A setting that makes no sense is refused by name."""
    with pytest.raises(ff.InputError, match=message):
        ModelConfig(**change)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_permuting_customers_permutes_the_prediction(make_instance, kind):
    """The order in which customers are listed does not matter."""
    network, instance = _network(kind), make_instance(n=7, seed=2)
    order = [3, 0, 6, 1, 5, 2, 4]
    shuffled = make_instance(
        n=7,
        depot=instance.depot,
        customers=instance.customers[order],
        demands=instance.demands[order],
    )
    before = _predict(network, instance)
    after = _predict(network, shuffled)
    places = torch.tensor([0, *(customer + 1 for customer in order)])
    assert _same(after, before[:, :, places][:, :, :, places])
    assert not _same(after, before)


def test_vehicles_differ_by_their_embeddings_only(make_instance):
    """Exchanging the embeddings of the vehicles exchanges their edges."""
    network = _network(TINY)
    features = _collate(make_instance(n=6, vehicles=3))
    embed, marks = network._embed, torch.randn(1, 3, 16)

    def predict_with(order):
        def marked(*arguments):
            nodes, _ = embed(*arguments)
            return nodes, marks[:, order]

        network._embed = marked
        return network(features)

    order = [2, 0, 1]
    before, after = predict_with([0, 1, 2]), predict_with(order)
    assert _same(after, before[:, order])
    assert not _same(after, before)


@pytest.mark.parametrize(
    ("share", "numbers"),
    [
        (False, [(1, 1), (1 / 2, 2), (1 / 3, 3)]),
        (True, [(1 / 3, 3), (2 / 3, 3), (1, 3)]),
    ],
)
def test_vehicles_are_numbered(make_instance, share, numbers):
    """Vehicle k has 1/k, k or k/M, M, and then Q/Q and Σq/Q; padding is no vehicle."""
    instance = make_instance(n=4, vehicles=3, capacity=10, demands=[5, 4, 3, 6])
    larger = make_instance(n=4, vehicles=5, capacity=10)
    found = _vehicle_features(_collate(instance, larger), share)[0, :3]
    expected = [[*number, 1, 1.8] for number in numbers]
    assert torch.allclose(found, torch.tensor(expected))


def test_scores_are_divided_by_the_width_or_the_locations(make_instance):
    """The same scores, divided by √d and by N', give different predictions."""
    instance = make_instance(n=6, vehicles=3)
    logs = {}
    for scale in ("width", "locations"):
        network = _network(TINY | {"score_scale": scale})
        logs[scale] = _predict(network, instance)
    first = logs["width"][..., :1, 1:2] - logs["width"][..., :1, 2:3]
    second = logs["locations"][..., :1, 1:2] - logs["locations"][..., :1, 2:3]
    assert torch.allclose(first * 4, second * 7, rtol=1e-3)


def test_numbered_vehicles_get_different_edges(make_instance):
    """Vehicles that are numbered do not get the same edges."""
    logs = _predict(_network(TINY), make_instance(n=6, vehicles=3, demands=[9] * 6))
    assert not torch.equal(logs[:, 0], logs[:, 1])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_padding_changes_nothing(make_instance, kind):
    """An instance gets the same prediction alone and beside larger ones."""
    network = _network(kind)
    small, large = make_instance(n=5, vehicles=2), make_instance(n=9, vehicles=4)
    alone = _predict(network, small)
    together = _predict(network, small, large)
    assert _same(together[:1, :2, :6, :6], alone)
    assert (together[0, 2:] == -torch.inf).all()
    features = _collate(small, large)
    noise = features._replace(
        coordinates=torch.where(features.nodes[..., None], features.coordinates, 7.0),
        demands=torch.where(features.nodes, features.demands, 5.0),
    )
    with torch.inference_mode():
        assert _same(network(noise), together)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_one_customer_and_one_vehicle_are_enough(make_instance, kind):
    """The smallest instance has a prediction: there and back, or staying."""
    logs = _predict(_network(kind), make_instance(n=1, vehicles=1))
    assert not logs.isnan().any()
    assert logs[0, 0, 1, 1] == -torch.inf
    assert torch.isfinite(logs[0, 0, [0, 0, 1], [0, 1, 0]]).all()


def test_same_place_for_everyone_is_no_trouble(make_instance):
    """Customers all at the depot's place lead to numbers, not to NaN."""
    instance = make_instance(n=4, depot=(3, 3), customers=[[3, 3]] * 4)
    assert not _predict(_network(TINY), instance).isnan().any()


@pytest.mark.slow
@pytest.mark.parametrize("room", ["model", "planning", "training"])
def test_missing_torch_is_named_with_its_extra(room):
    """Without PyTorch the message names the extra that installs it."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        f"try: import fixedfleet.{room}\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("MissingPackageError")
    assert "fixedfleet[network]" in done.stdout
