"""The decoder: split, chunked and fused, it is still the paper's formula."""

from __future__ import annotations

import torch

from fixedfleet.model import decoder
from fixedfleet.model.decoder import Decoder, edge_scores


def test_split_projections_are_the_concatenation():
    """Three projections give ReLU(W_o [E_i; E_j; V_k] + b_o) · V_k."""
    torch.manual_seed(0)
    layer = Decoder(6)
    nodes, vehicles = torch.randn(2, 4, 6), torch.randn(2, 3, 6)
    found = layer(nodes, vehicles)
    whole = torch.cat((layer.start.weight, layer.end.weight, layer.vehicle.weight), 1)
    for k in range(3):
        for i in range(4):
            for j in range(4):
                joined = torch.cat((nodes[:, i], nodes[:, j], vehicles[:, k]), dim=1)
                edge = torch.relu(joined @ whole.T + layer.start.bias)
                wanted = (edge * vehicles[:, k]).sum(1)
                assert torch.allclose(found[:, k, i, j], wanted, atol=1e-5)


def test_chunks_change_neither_values_nor_gradients(monkeypatch):
    """Computed in small chunks, scores and gradients are those of one piece."""
    torch.manual_seed(0)
    inputs = [torch.randn((3, size, 4), requires_grad=True) for size in (5, 5, 2, 2)]
    a, b, c, v = inputs
    edges = (a[:, None, :, None] + b[:, None, None] + c[:, :, None, None]).relu()
    wanted = (edges * v[:, :, None, None]).sum(4)
    slope = torch.randn_like(wanted)
    gradients = torch.autograd.grad((wanted * slope).sum(), inputs)
    for chunk in (2**22, 30):
        monkeypatch.setattr(decoder, "_CHUNK", chunk)
        found = edge_scores(*inputs)
        assert torch.allclose(found, wanted, atol=1e-5)
        for left, right in zip(
            torch.autograd.grad((found * slope).sum(), inputs), gradients, strict=True
        ):
            assert torch.allclose(left, right, atol=1e-5)
        monkeypatch.setattr(decoder, "_CACHED", chunk)
        with torch.no_grad():
            assert torch.allclose(edge_scores(*inputs), wanted, atol=1e-5)
