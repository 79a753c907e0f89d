"""Normalisations: what must sum to one does, and what is masked has no probability."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import NORMALISATIONS, Features, ModelConfig, Network
from fixedfleet.model import normalise as module
from fixedfleet.model.normalise import allowed_edges, normalise, per_vehicle


@pytest.fixture
def padded():
    """Scores of two instances, the second with a customer and a vehicle less."""
    torch.manual_seed(0)
    nodes = torch.tensor([[True] * 5, [True] * 4 + [False]])
    vehicles = torch.tensor([[True] * 3, [True, True, False]])
    return torch.randn(2, 3, 5, 5) * 3, nodes, vehicles


def _normalised(scores, nodes, vehicles, how):
    features = Features(torch.zeros(2, 5, 2), torch.zeros(2, 5), nodes, vehicles)
    return normalise(NORMALISATIONS.get(how), scores, features)


def test_only_the_depot_may_follow_itself(padded):
    """No customer follows itself; a vehicle may stay at the depot."""
    _, nodes, vehicles = padded
    allowed = allowed_edges(nodes, vehicles)
    diagonal = allowed.diagonal(dim1=2, dim2=3)
    assert diagonal[0].tolist() == [[True, False, False, False, False]] * 3
    assert not allowed[1, 2].any()
    assert not allowed[1, :, 4].any()
    assert not allowed[1, :, :, 4].any()


@pytest.mark.parametrize("how", ["vehicle", "softassign"])
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


def test_softassign_sums_over_vehicles_for_customers(padded):
    """A customer's edges sum to one over all vehicles, the depot's over each."""
    _, nodes, vehicles = padded
    rows = _normalised(*padded, "softassign").exp().sum(3)
    assert torch.allclose(rows[:, :, 0], vehicles.float(), atol=1e-5)
    assert torch.allclose(rows[:, :, 1:].sum(1), nodes[:, 1:].float(), atol=1e-5)


def test_softassign_is_doubly_stochastic(padded, monkeypatch):
    """With enough rounds, what comes into each location sums to one as well."""
    monkeypatch.setattr(module, "_ITERATIONS", 200)
    _, nodes, vehicles = padded
    logs = _normalised(*padded, "softassign")
    columns = logs.exp().sum(2)
    assert torch.allclose(columns[:, :, 0], vehicles.float(), atol=1e-3)
    assert torch.allclose(columns[:, :, 1:].sum(1), nodes[:, 1:].float(), atol=1e-3)


@pytest.mark.parametrize("how", ["vehicle", "softassign"])
def test_gradients_are_finite_despite_padding(padded, how):
    """Padding brings no NaN into the gradient."""
    scores, nodes, vehicles = padded
    scores.requires_grad_(True)
    logs = _normalised(scores, nodes, vehicles, how)
    logs[torch.isfinite(logs)].sum().backward()
    assert torch.isfinite(scores.grad).all()


def test_unknown_normalisation_is_an_error():
    """An unknown name is refused with the known ones."""
    with pytest.raises(ff.InputError, match="choose from vehicle, softassign"):
        ModelConfig(normalisation="columns")


def test_a_normalisation_of_ones_own(padded, tmp_path):
    """A function is used by its registered name, or by its file's name."""

    @NORMALISATIONS.register("test-sharp")
    def sharp(scores, allowed, features):
        return per_vehicle(2 * scores, allowed, features)

    wanted = _normalised(2 * padded[0], *padded[1:], "vehicle")
    assert torch.equal(_normalised(*padded, "test-sharp"), wanted)
    file = tmp_path / "own.py"
    file.write_text(
        "from fixedfleet.model.normalise import per_vehicle\n"
        "def sharp(scores, allowed, features):\n"
        "    return per_vehicle(2 * scores, allowed, features)\n"
    )
    assert torch.equal(_normalised(*padded, f"{file}:sharp"), wanted)
    config = ModelConfig(width=8, hidden=8, layers=1, normalisation=f"{file}:sharp")
    assert Network(config).normalisation is NORMALISATIONS.get(f"{file}:sharp")
