"""The order of the customers within a tour."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import decode
from fixedfleet.planning.ordering import order_tours

from .conftest import make_prediction


@pytest.mark.parametrize("symmetric", [True, False])
def test_tours_are_ordered_well(symmetric):
    """Seven stops are ordered within a few per cent of the best order."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(5):
        points = rng.uniform(size=(8, 2))
        matrix = np.linalg.norm(points[:, None] - points[None], axis=2)
        if not symmetric:
            matrix = matrix * rng.uniform(0.9, 1.1, size=matrix.shape)
        instance = ff.Instance(demands=[1] * 7, capacity=7, vehicles=1, matrix=matrix)
        routes = np.zeros((1, 7), dtype=np.int64)
        order_tours(matrix, np.array([1] + [0] * 7), routes)
        plan = ff.Plan([routes[0]])
        orders = itertools.permutations(range(1, 8))
        best = min(ff.Plan([order]).length(instance) for order in orders)
        ratios.append(plan.length(instance) / best)
    assert min(ratios) >= 1 - 1e-12
    assert np.mean(ratios) < 1.03


def test_crossing_tours_are_untangled():
    """A tour round a square comes out without a crossing."""
    points = [[[0, 0], [1, 1], [1, 0], [0, 1.0]]]
    prediction = make_prediction(torch.zeros((1, 1, 4, 4)), [0, 1, 1, 1], 3, points)
    (tour,) = decode(prediction)[0]
    assert tour in ((2, 1, 3), (3, 1, 2))
