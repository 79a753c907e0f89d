"""Pooling: maxima over the others, and the own element kept out."""

from __future__ import annotations

import pytest
import torch

from fixedfleet.model import pooling
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


def _plain_layer(layer, nodes, vehicles, pairs, priming):
    """The layer, element by element."""
    weights = priming(pairs.distances[0, ..., None], pairs.demands[0, ..., None])
    for i in range(nodes.shape[1]):
        weights[i, i] = priming.offset  # distance and demand count for others only
    node, fleet, found = nodes[0], vehicles[0], []
    for i in range(len(node)):
        context = [node[0] * weights[i, 0], (node[1:] * weights[i, 1:]).amax(0)]
        found.append([node[i], *context, fleet.amax(0)])
    for k in range(len(fleet)):
        others = torch.cat((fleet[:k], fleet[k + 1 :])).amax(0)
        found.append([fleet[k], node[0], node[1:].amax(0), others])
    rows = []
    for parts in found:
        h = layer.mix_norm(parts[0] + layer.mix(torch.cat(parts)))
        rows.append(layer.norm(h + layer.feed(h)))
    return torch.stack(rows)


def test_a_layer_is_that_of_the_definition():
    """Maxima over the others, a location's own weighted by β, and two sublayers."""
    torch.manual_seed(0)
    layer, priming = MaxPoolingLayer(4, 8), Priming(4)
    for parameter in [*layer.parameters(), *priming.parameters()]:
        torch.nn.init.normal_(parameter)
    nodes, vehicles = torch.randn(1, 5, 4), torch.randn(1, 3, 4)
    pairs = Pairs(
        torch.rand(1, 5, 5),
        torch.rand(1, 5, 5),
        torch.ones(1, 5, dtype=torch.bool),
        torch.ones(1, 3, dtype=torch.bool),
    )
    found = torch.cat(layer(nodes, vehicles, pairs, priming), dim=1)[0]
    wanted = _plain_layer(layer, nodes, vehicles, pairs, priming)
    assert torch.allclose(found, wanted, atol=1e-5)
