"""Normalisations: what must sum to one does, and what is masked has no probability."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import NORMALISATIONS, Features, ModelConfig, Normalisation
from fixedfleet.model.normalise import (
    PerRow,
    allowed_edges,
    make_normalisation,
    normalise,
)


@pytest.fixture
def padded():
    """Scores of two instances, the second with a customer and a vehicle less."""
    torch.manual_seed(0)
    nodes = torch.tensor([[True] * 5, [True] * 4 + [False]])
    vehicles = torch.tensor([[True] * 3, [True, True, False]])
    return torch.randn(2, 3, 5, 5) * 3, nodes, vehicles


def _normalised(scores, nodes, vehicles, how, **settings):
    features = Features(torch.zeros(2, 5, 2), torch.zeros(2, 5), nodes, vehicles)
    config = ModelConfig(normalisation=how, **settings)
    return normalise(make_normalisation(config), scores, features)


def test_only_the_depot_may_follow_itself(padded):
    """No customer follows itself; a vehicle may stay at the depot."""
    _, nodes, vehicles = padded
    allowed = allowed_edges(nodes, vehicles)
    diagonal = allowed.diagonal(dim1=2, dim2=3)
    assert diagonal[0].tolist() == [[True, False, False, False, False]] * 3
    assert not allowed[1, 2].any()
    assert not allowed[1, :, 4].any()
    assert not allowed[1, :, :, 4].any()


@pytest.mark.parametrize("how", ["vehicle", "row", "softassign"])
def test_masked_edges_have_no_probability(padded, how):
    """What is not allowed has probability zero, and everything else a number."""
    scores, nodes, vehicles = padded
    logs = _normalised(scores, nodes, vehicles, how)
    allowed = allowed_edges(nodes, vehicles)
    assert (logs[~allowed] == -torch.inf).all()
    assert torch.isfinite(logs[allowed]).all()


def test_vehicle_sums_over_all_edges_of_a_vehicle(padded):
    """All edges of a real vehicle sum to one."""
    logs = _normalised(*padded, "vehicle")
    assert torch.allclose(logs.exp().sum((2, 3)), padded[2].float(), atol=1e-5)


def test_row_sums_over_each_row(padded):
    """The edges of a vehicle out of a location sum to one."""
    logs = _normalised(*padded, "row")
    real = padded[2][:, :, None] & padded[1][:, None]
    assert torch.allclose(logs.exp().sum(3), real.float(), atol=1e-5)


def test_softassign_sums_over_vehicles_for_customers(padded):
    """A customer's edges sum to one over all vehicles, the depot's over each."""
    _, nodes, vehicles = padded
    rows = _normalised(*padded, "softassign").exp().sum(3)
    assert torch.allclose(rows[:, :, 0], vehicles.float(), atol=1e-5)
    assert torch.allclose(rows[:, :, 1:].sum(1), nodes[:, 1:].float(), atol=1e-5)


def test_softassign_is_doubly_stochastic(padded):
    """With enough rounds, what comes into each location sums to one as well."""
    _, nodes, vehicles = padded
    logs = _normalised(*padded, "softassign", softassign_iterations=200)
    columns = logs.exp().sum(2)
    assert torch.allclose(columns[:, :, 0], vehicles.float(), atol=1e-3)
    assert torch.allclose(columns[:, :, 1:].sum(1), nodes[:, 1:].float(), atol=1e-3)


@pytest.mark.parametrize("how", ["vehicle", "row", "softassign"])
def test_gradients_are_finite_despite_padding(padded, how):
    """Padding brings no NaN into the gradient."""
    scores, nodes, vehicles = padded
    scores.requires_grad_(True)
    logs = _normalised(scores, nodes, vehicles, how)
    logs[torch.isfinite(logs)].sum().backward()
    assert torch.isfinite(scores.grad).all()


def test_unknown_normalisation_is_an_error():
    """An unknown name is refused with the known ones."""
    with pytest.raises(ff.InputError, match="choose from vehicle, row, softassign"):
        ModelConfig(normalisation="columns")


def test_rows_are_constant_where_a_normalisation_says_so(padded):
    """The sums over rows differ, unless the normalisation calls them constant."""
    for name in NORMALISATIONS.names():
        rows = _normalised(*padded, name).exp().sum(3)[0, :, 1:]  # (M, N)
        constant = torch.allclose(rows, torch.ones(()))
        assert constant == NORMALISATIONS.get(name).constant_rows


def test_a_normalisation_of_ones_own(padded, tmp_path):
    """A class is used by its registered name, or by its file's name."""

    @NORMALISATIONS.register("test-sharp")
    class Sharp(PerRow):
        """Twice as sharp."""

        def forward(self, scores, allowed, features):
            return super().forward(2 * scores, allowed, features)

    wanted = _normalised(2 * padded[0], *padded[1:], "row")
    assert torch.equal(_normalised(*padded, "test-sharp"), wanted)
    file = tmp_path / "own.py"
    file.write_text(
        "from fixedfleet.model.normalise import PerRow\n"
        "class Sharp(PerRow):\n"
        "    def forward(self, scores, allowed, features):\n"
        "        return super().forward(2 * scores, allowed, features)\n"
        "nothing = 3\n"
    )
    assert torch.equal(_normalised(*padded, f"{file}:Sharp"), wanted)
    with pytest.raises(ff.InputError, match="not a normalisation: make it a subclass"):
        _normalised(*padded, f"{file}:nothing")
    assert issubclass(Sharp, Normalisation)
