"""The Triton kernels against plain torch: on a GPU, or in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fixedfleet.model import ModelConfig, Network
from fixedfleet.model.decoder import edge_scores
from fixedfleet.model.features import Features
from fixedfleet.model.kernels import load_kernels
from fixedfleet.model.pooling import Priming, leave_one_out_max

GPU = torch.cuda.is_available()
INTERPRETER = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if GPU and not INTERPRETER else "cpu"

# Instances, locations, vehicles, channels: below, at and above the tiles' sizes.
SHAPES = [(1, 18, 5, 66), (3, 5, 1, 6), (1, 66, 1, 3), (2, 2, 2, 1)]
GPU_SHAPES = [(64, 21, 4, 256), (16, 51, 7, 256), (8, 101, 11, 64), (4, 130, 50, 128)]
PRECISIONS = [torch.float32, torch.bfloat16]


@pytest.fixture(autouse=True)
def seed():
    """The same random numbers for every test."""
    torch.manual_seed(0)


@pytest.fixture
def kernels():
    """The kernels as operators."""
    pytest.importorskip("triton", reason="Triton is not installed")
    if not (GPU or INTERPRETER):
        pytest.skip("no GPU; see the test in the interpreter")
    load_kernels()
    return torch.ops.fixedfleet


@pytest.mark.slow
@pytest.mark.skipif(GPU or INTERPRETER, reason="the kernels run in this process")
def test_kernels_in_the_interpreter():
    """Without a GPU, all tests of kernels pass in Triton's interpreter."""
    pytest.importorskip("triton", reason="Triton is not installed")
    loads = Path(__file__).parents[1] / "training" / "test_greedy_loads.py"
    # It has to be chosen before Triton is imported, hence another process.
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            __file__,
            loads,
        ],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(params=SHAPES + GPU_SHAPES * GPU, ids=str)
def shape(request):
    """A batch's shape; those of the presets only where they are quick."""
    return request.param


def _close(found, wanted):
    """Equal up to what a sum in another order, or in bfloat16, may change."""
    loose = wanted.dtype == torch.bfloat16
    scale = wanted.detach().abs().max().item() + 1e-6
    difference = (found - wanted).detach().abs().max().item()
    assert found.dtype == wanted.dtype
    assert difference <= (2e-2 if loose else 2e-5) * scale


def _gradients_agree(found, wanted, inputs):
    slope = torch.randn_like(wanted)
    left = torch.autograd.grad((found * slope).sum(), inputs)
    right = torch.autograd.grad((wanted * slope).sum(), inputs)
    for one, other in zip(left, right, strict=True):
        _close(one, other)


def _padding(size, n):
    """Some of the last instance is padding."""
    real = torch.ones(size, n, dtype=torch.bool, device=DEVICE)
    real[-1, n // 2 + 1 :] = False
    return real


def _steps(*shape):
    """Random multiples of 1/16, whose sums and products are exact in any order.

    Elsewhere a term close to 0 could pass the ReLU in one order of adding alone.
    """
    return (16 * torch.randn(shape, device=DEVICE)).round() / 16


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_scores_of_edges(kernels, shape, precision):
    """Scores and all gradients are those of the decoder in chunks."""
    size, n, m, width = shape
    ends = [_steps(size, k, width) for k in (n, n, m, m)]
    ends = [end.to(precision).requires_grad_() for end in ends]
    found, wanted = kernels.edge_scores(*ends), edge_scores(*ends)
    _close(found, wanted)
    _gradients_agree(found, wanted, ends)


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_primed_maxima(kernels, shape, precision):
    """Pooled messages and all gradients are those of torch, with padding."""
    size, n, _, width = shape
    priming = Priming(width).to(DEVICE)
    for parameter in priming.parameters():
        torch.nn.init.uniform_(parameter, 0.2, 1.5)
    h = torch.randn(size, n, width, device=DEVICE).to(precision).requires_grad_()
    d, q = (torch.rand(size, n, n, device=DEVICE) for _ in range(2))
    real = _padding(size, n)
    found, winners = kernels.pool_primed(h, d, q, real, *priming.values())
    others = real[:, None, 1:] & ~torch.eye(n, dtype=torch.bool, device=DEVICE)[:, 1:]
    wanted = leave_one_out_max(h[:, 1:], d[:, :, 1:], q[:, :, 1:], others, priming)
    _close(found, wanted)
    # Rounding may choose between almost equal messages: gradients of these winners.
    won = winners.long().clamp_min(0)
    allowed = torch.nn.functional.pad(others, (1, 0)).gather(2, won)
    assert (allowed == (winners > 0)).all()
    assert ((winners < 0) == ~others.any(2, keepdim=True)).all()
    messages = h.float().gather(1, won) * priming(d.gather(2, won), q.gather(2, won))
    wanted = messages.masked_fill(winners < 0, 0.0)
    _close(found, wanted)
    _gradients_agree(found, wanted, [h, *priming.parameters()])


def test_of_equals_the_first_wins(kernels):
    """Ties have the winners, hence the gradients, of torch's argmax."""
    priming = Priming(3).to(DEVICE)
    h = torch.randn(2, 1, 3, device=DEVICE).expand(-1, 9, -1).clone().requires_grad_()
    same = torch.ones(2, 9, 9, device=DEVICE)
    real = _padding(2, 9)
    found, winners = kernels.pool_primed(h, same, same, real, *priming.values())
    assert (winners[:, 1] == 2).all()
    assert (winners[:, 2:] == 1).all()
    others = real[:, None, 1:] & ~torch.eye(9, dtype=torch.bool, device=DEVICE)[:, 1:]
    wanted = leave_one_out_max(
        h[:, 1:], same[:, :, 1:], same[:, :, 1:], others, priming
    )
    _gradients_agree(found, wanted, [h])


@pytest.mark.parametrize("threshold", [0.0, 1.0], ids=["at", "above"])
def test_relu_passes_no_gradient_at_zero(kernels, threshold):
    """Where a term is exactly 0 before the ReLU, its gradient is 0."""
    a = torch.full((1, 3, 4), threshold, device=DEVICE, requires_grad=True)
    rest = [torch.zeros(1, k, 4, device=DEVICE) for k in (3, 2)]
    v = torch.ones(1, 2, 4, device=DEVICE)
    scores = kernels.edge_scores(a, *rest, v)
    (slope,) = torch.autograd.grad(scores.sum(), [a])
    assert (slope == (6 if threshold else 0)).all()


@pytest.mark.skipif(not GPU, reason="no GPU")
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_fused_network_is_the_network(compiled):
    """A network with kernels has the predictions and gradients of one without."""
    network = Network(ModelConfig(width=32, hidden=64, layers=2)).to(DEVICE)
    demands = torch.rand(4, 21, device=DEVICE) / 4
    demands[:, 0] = 0
    features = Features(
        torch.rand(4, 21, 2, device=DEVICE), demands, _padding(4, 21), _padding(4, 5)
    )
    outcomes = []
    for fused in (False, True):
        network.fuse(fused).zero_grad(set_to_none=True)
        forward = torch.compile(network, dynamic=False) if compiled else network
        logs = forward(features)
        finite = torch.isfinite(logs)
        (logs.masked_fill(~finite, 0).square().sum() / 1e4).backward()
        grads = [p.grad for p in network.parameters() if p.grad is not None]
        outcomes.append((finite, logs.masked_fill(~finite, 0), *grads))
        torch.compiler.reset()
    for plain, kernel in zip(*outcomes, strict=True):
        assert torch.allclose(plain.float(), kernel.float(), rtol=2e-3, atol=2e-3)
