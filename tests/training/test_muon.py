"""The optimiser Muon."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import Network, PlanNetwork
from fixedfleet.training.muon import Muon, orthogonal
from fixedfleet.training.step import _make_optimizers

from .conftest import changed


def test_updates_are_nearly_orthogonal():
    """All singular values of an update are close to 1, for wide and tall matrices."""
    generator = torch.Generator().manual_seed(0)
    for shape in ((3, 16, 48), (2, 48, 16)):
        values = torch.linalg.svdvals(
            orthogonal(torch.randn(shape, generator=generator))
        )
        assert values.min() > 0.4
        assert values.max() < 1.4


@pytest.mark.slow
def test_it_finds_the_least_squares():
    """Matrices of two shapes are fitted to a target."""
    generator = torch.Generator().manual_seed(1)
    targets = [torch.randn(shape, generator=generator) for shape in ((8, 4), (4, 8))]
    matrices = [torch.nn.Parameter(torch.zeros_like(target)) for target in targets]
    optimizer = Muon(matrices, lr=0.1)
    for step in range(200):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 - step / 200)
        optimizer.zero_grad()
        errors = [
            (m - t).square().sum() for m, t in zip(matrices, targets, strict=True)
        ]
        torch.stack(errors).sum().backward()
        optimizer.step()
    assert max(error.item() for error in errors) < 0.05
    assert set(optimizer.state[matrices[0]]) == {"momentum"}


@pytest.mark.slow
def test_it_trains_the_layers_of_the_papers_network(preset):
    """It has the matrices of the layers, and no other weights."""
    network, config = Network(preset.model), changed(preset, muon=2.0).training
    _, muon = _make_optimizers(network, config, torch.device("cpu"))
    trained = {id(p) for group in muon.param_groups for p in group["params"]}
    named = [name for name, p in network.named_parameters() if id(p) in trained]
    assert len(named) == len(trained) > 0
    assert {name.partition(".")[0] for name in named} == {"layers"}


@pytest.mark.slow
def test_a_network_without_layers_is_refused(preset):
    """A setting that would have no effect is an error."""

    class Flat(PlanNetwork):
        def __init__(self):
            super().__init__()
            self.level = torch.nn.Parameter(torch.zeros(()))

    with pytest.raises(ff.InputError, match=r"does not have: set training\.muon=0"):
        _make_optimizers(
            Flat(), changed(preset, muon=2.0).training, torch.device("cpu")
        )
