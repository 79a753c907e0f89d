"""Linear assignment: exact, whatever the costs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from fixedfleet.training.assignment import assign


def _total(cost, columns):
    return cost.gather(2, columns[..., None]).sum((1, 2))


@pytest.mark.parametrize("m", [1, 2, 4])
def test_assignment_is_the_best_permutation(m):
    """No permutation of the vehicles is cheaper than the one found."""
    cost = torch.from_numpy(np.random.default_rng(m).normal(size=(20, m, m))).float()
    found = _total(cost, assign(cost))
    for order in itertools.permutations(range(m)):
        assert (found <= _total(cost, torch.tensor([order] * 20)) + 1e-5).all()


@pytest.mark.parametrize("m", [1, 3, 4, 7, 11, 50])
@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_gpu_assigns_as_well_as_scipy(m, ties):
    """On a GPU the total is SciPy's, also where many costs are equal."""
    rng = np.random.default_rng(m)
    values = (
        rng.integers(0, 3, size=(64, m, m)) if ties else rng.normal(size=(64, m, m))
    )
    cost = torch.from_numpy(values).float()
    columns = assign(cost.cuda()).cpu()
    assert (columns.sort(1).values == torch.arange(m)).all()
    wanted = [
        matrix[linear_sum_assignment(matrix)].sum() for matrix in cost.double().numpy()
    ]
    assert _total(cost, columns).tolist() == pytest.approx(wanted, abs=1e-3)


def test_costs_that_are_no_numbers_still_give_permutations():
    """A diverged network's costs end in a permutation, not in a crash."""
    columns = assign(torch.full((2, 3, 3), torch.nan))
    assert columns.sort(1).values.tolist() == [[0, 1, 2]] * 2
