"""Loads of the greedy walk: one kernel, the same walk as the decoder's."""

from __future__ import annotations

import os

import pytest
import torch

from fixedfleet.model.normalise import allowed_edges
from fixedfleet.planning import Prediction, pseudo_greedy
from fixedfleet.planning.tours import tour_loads
from fixedfleet.training import greedy_loads as module
from fixedfleet.training.greedy_loads import greedy_loads

GPU = torch.cuda.is_available()
INTERPRETER = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if GPU and not INTERPRETER else "cpu"


def _batch(size, n, m, *, ties=False):
    """Random predictions, the last instance padded."""
    torch.manual_seed(n)
    nodes = torch.ones(size, n, dtype=torch.bool)
    vehicles = torch.ones(size, m, dtype=torch.bool)
    nodes[-1, n // 2 + 1 :] = False
    vehicles[-1, (m + 1) // 2 :] = False
    shape = (size, m, n, n)
    scores = torch.randint(3, shape).float() if ties else 3 * torch.randn(shape)
    logs = scores.masked_fill(~allowed_edges(nodes, vehicles), -torch.inf)
    units = torch.randint(1, 10, (size, n)) * nodes
    units[:, 0] = 0
    nodes[:, 0] = False
    return [x.to(DEVICE) for x in (logs, units, nodes, vehicles)]


def _wanted(logs, units, customers, vehicles):
    prediction = Prediction(
        log_probs=logs,
        demands=units,
        capacity=torch.ones_like(units[:, 0]),
        customers=customers,
        vehicles=vehicles,
        distances=torch.zeros_like(logs[:, 0]),
    )
    return tour_loads(pseudo_greedy(prediction), units)


@pytest.fixture
def kernel():
    """The kernel's way, on a GPU or in Triton's interpreter."""
    pytest.importorskip("triton", reason="Triton is not installed")
    if not (GPU or INTERPRETER):
        pytest.skip("no GPU; tests/model/test_kernels.py uses the interpreter")
    return module._walk_on_gpu


def test_loads_are_the_decoders():
    """What the loss sees are the loads that pseudo-greedy decoding returns."""
    batch = _batch(5, 9, 3)
    assert torch.equal(greedy_loads(*batch), _wanted(*batch))


@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize("n, m", [(2, 1), (9, 3), (21, 4), (51, 7), (101, 11)])
def test_kernel_walks_as_the_decoder_does(kernel, n, m, ties):
    """Loads are equal, with padding and where many scores are."""
    batch = _batch(40 if GPU else 3, n, m, ties=ties)
    assert torch.equal(kernel(*batch), _wanted(*batch))


def test_kernel_ends_without_a_possible_arc(kernel):
    """Scores that are all masked, or no numbers, leave every vehicle at home."""
    logs, *rest = _batch(3, 6, 2)
    for value in (-torch.inf, torch.nan):
        assert not kernel(torch.full_like(logs, value), *rest).any()
