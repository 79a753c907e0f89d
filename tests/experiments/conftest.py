"""Fixtures of the experiments' tests."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff

POINTS = np.random.default_rng(1).uniform(size=(8, 2))
EXACT = {"demands": [3, 1, 4, 1, 5, 2, 6], "capacity": 10, "vehicles": 3}
SMALL = {
    "euclidean": ff.Instance(depot=POINTS[0], customers=POINTS[1:], **EXACT),
    "rounded": ff.Instance(
        depot=(50, 50), customers=(100 * POINTS[1:]).round(), rounding="round", **EXACT
    ),
    "matrix": ff.Instance(
        matrix=np.ones((4, 4)) - np.eye(4), demands=[1] * 3, capacity=2, vehicles=2
    ),
    "decimal and tight": ff.Instance(
        depot=POINTS[0],
        customers=POINTS[1:7],
        demands=[0.1, 0.2, 0.1, 0.2, 0.1, 0.2],
        capacity=0.3,
        vehicles=3,
    ),
    "all demands zero": ff.Instance(
        depot=POINTS[0], customers=POINTS[1:6], demands=[0] * 5, capacity=9, vehicles=2
    ),
    "one customer": ff.Instance(
        depot=POINTS[0], customers=POINTS[1:2], demands=[4], capacity=4, vehicles=1
    ),
    "huge distances": ff.Instance(depot=(0, 0), customers=1e9 * POINTS[1:], **EXACT),
    "tiny distances": ff.Instance(depot=(0, 0), customers=1e-9 * POINTS[1:], **EXACT),
    "everyone at the depot": ff.Instance(
        depot=(1, 1), customers=[[1, 1]] * 4, demands=[1] * 4, capacity=2, vehicles=2
    ),
    "degrees": ff.Instance(
        depot=(52.5, 13.4),
        customers=[[48.1, 11.6], [50.1, 8.7], [53.6, 10.0], [51.3, 12.4]],
        demands=[1, 1, 1, 1],
        capacity=2,
        vehicles=2,
        metric="great_circle",
    ),
}


@pytest.fixture(params=SMALL.values(), ids=SMALL.keys())
def small(request: pytest.FixtureRequest) -> ff.Instance:
    """An instance of at most seven customers, feasible for its fleet."""
    return request.param
