"""The universal network: all sizes, any order, and never beyond what it is given."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.generate import uniform
from fixedfleet.model import UniversalConfig, UniversalNetwork, collate

TINY = UniversalConfig(width=16, hidden=16, heads=2, layers=1, rounds=2)


@pytest.fixture(scope="module")
def network():
    """A tiny network with random weights."""
    torch.manual_seed(0)
    return UniversalNetwork(TINY).eval()


def membership(network, instances) -> torch.Tensor:
    """The last round's log-probabilities."""
    with torch.inference_mode():
        batch = collate(ff.InstanceBatch.of(instances))
        return network(batch.features).membership[-1]


def test_an_instance_is_predicted_alone_as_in_a_padded_batch(network):
    """Padding of customers and vehicles changes nothing but rounding errors."""
    small, large = uniform(20, 1, seed=1)[0], uniform(50, 1, seed=2)[0]
    alone, together = membership(network, [small]), membership(network, [small, large])
    assert torch.allclose(alone[0], together[0, :20, :4], atol=1e-4)
    assert (together[0, :, 4:] < -100).all()


def test_every_customer_is_served_and_loads_are_bounded(network):
    """The probabilities of a customer sum to one; expected loads hardly exceed Q."""
    batch = uniform(20, 4, seed=3)
    served = membership(network, batch).exp()
    assert torch.allclose(served.sum(2), torch.ones(4, 20), atol=1e-5)
    shares = collate(batch).features.demands[:, 1:]
    assert (shares[..., None] * served).sum(1).max() < 1.2


def test_the_order_of_the_customers_does_not_matter(network):
    """Renumbered customers get the same vehicles."""
    one = uniform(20, 1, seed=5)[0]
    order = torch.randperm(20, generator=torch.Generator().manual_seed(1)).numpy()
    other = ff.Instance(
        depot=one.depot,
        customers=one.customers[order],
        demands=one.demands[order],
        capacity=one.capacity,
        vehicles=one.vehicles,
    )
    found = membership(network, [one])[0][order], membership(network, [other])[0]
    assert torch.allclose(*found, atol=1e-4)


def test_few_customers_and_one_vehicle_are_enough(network):
    """A single customer, and a single vehicle, give finite numbers."""
    one = ff.Instance(
        depot=(0, 0), customers=[(1, 1)], demands=[1], capacity=2, vehicles=1
    )
    assert membership(network, [one]).tolist() == [[[pytest.approx(0, abs=1e-5)]]]
    assert ff.predict(one, network).decode().check(one) == []


def test_settings_that_do_not_fit_are_refused():
    """The heads must divide the width."""
    with pytest.raises(ff.InputError, match=r"model.heads is 3, which does not divide"):
        UniversalConfig(width=16, heads=3)
