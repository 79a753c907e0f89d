"""Pooling: maxima over the others, and the own element kept out."""

from __future__ import annotations

import pytest
import torch

from fixedfleet.model import ModelConfig, pooling
from fixedfleet.model.pooling import (
    MaxPoolingLayer,
    Pairs,
    Priming,
    leave_one_out_max,
)


@pytest.fixture
def parts():
    """Messages of five locations with weights that are not trivial."""
    torch.manual_seed(1)
    priming = Priming(4)
    for parameter in priming.parameters():
        torch.nn.init.uniform_(parameter, 0.2, 1.5)
    messages = torch.randn(2, 5, 4, requires_grad=True)
    distances, demands = torch.rand(2, 5, 5), torch.rand(2, 5, 5)
    allowed = ~torch.eye(5, dtype=torch.bool).expand(2, -1, -1)
    return messages, distances, demands, allowed, priming


def _plain(messages, distances, demands, allowed, priming):
    """The definition, with all pairs in memory."""
    weights = priming(distances[..., None], demands[..., None])
    weighted = (messages[:, None] * weights).masked_fill(
        ~allowed[..., None], -torch.inf
    )
    return weighted.amax(2)


def test_max_is_that_of_the_definition(parts, monkeypatch):
    """Values and gradients are those of the plain maximum, in chunks of any size."""
    monkeypatch.setattr(pooling, "_CHUNK", 50)
    found, wanted = leave_one_out_max(*parts), _plain(*parts)
    assert torch.allclose(found, wanted)
    inputs = [parts[0], *parts[4].parameters()]
    weight = torch.randn_like(found)
    left = torch.autograd.grad((found * weight).sum(), inputs)
    right = torch.autograd.grad((wanted * weight).sum(), inputs)
    for one, other in zip(left, right, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_nobody_to_listen_to_gives_zeros(parts):
    """An element without any other has a context of zeros."""
    messages, distances, demands, allowed, priming = parts
    nobody = torch.zeros_like(allowed)
    assert not leave_one_out_max(messages, distances, demands, nobody, priming).any()


def test_own_element_never_reaches_its_max_context():
    """Changing an element changes no context of its own, but others' do."""
    torch.manual_seed(0)
    layer = MaxPoolingLayer(ModelConfig(width=4, hidden=8))
    nodes, vehicles = torch.randn(1, 5, 4), torch.randn(1, 3, 4)
    pairs = Pairs(
        torch.rand(1, 5, 5),
        torch.rand(1, 5, 5),
        torch.ones(1, 5, dtype=torch.bool),
        torch.ones(1, 3, dtype=torch.bool),
    )

    def contexts(n, v):
        return torch.cat(layer.contexts(n, v, pairs), dim=2)

    before = contexts(nodes, vehicles)
    for element in range(8):
        changed = [nodes.clone(), vehicles.clone()]
        group, index = (0, element) if element < 5 else (1, element - 5)
        changed[group][0, index] += 100.0
        after = contexts(*changed)
        assert torch.equal(after[0, element], before[0, element])
        assert not torch.equal(after, before)
