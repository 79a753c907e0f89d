"""Instances small enough for the oracle, each with something that trips packages."""

from __future__ import annotations

import numpy as np

import fixedfleet as ff


def _points(n: int, seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    return {"depot": rng.uniform(size=2), "customers": rng.uniform(size=(n, 2))}


def _asymmetric(n: int, seed: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).integers(10, 100, size=(n + 1, n + 1))
    np.fill_diagonal(matrix, 0)
    return matrix


SMALL = {
    "euclidean": ff.Instance(
        **_points(7, 1), demands=[3, 1, 4, 1, 5, 2, 6], capacity=10, vehicles=3
    ),
    "rounded": ff.Instance(
        depot=(50, 50),
        customers=np.random.default_rng(2).integers(0, 100, size=(7, 2)),
        demands=[3, 1, 4, 1, 5, 2, 6],
        capacity=10,
        vehicles=3,
        rounding="round",
    ),
    "asymmetric": ff.Instance(
        matrix=_asymmetric(6, 3), demands=[2, 3, 4, 2, 3, 4], capacity=9, vehicles=2
    ),
    "asymmetric, not whole": ff.Instance(
        matrix=_asymmetric(6, 4) / 7, demands=[1] * 6, capacity=2, vehicles=3
    ),
    "decimal and tight": ff.Instance(
        **_points(6, 5),
        demands=[0.1, 0.2, 0.1, 0.2, 0.1, 0.2],
        capacity=0.3,
        vehicles=3,
    ),
    "some demands zero": ff.Instance(
        **_points(6, 7), demands=[0, 3, 0, 2, 0, 4], capacity=5, vehicles=2
    ),
    "all demands zero": ff.Instance(
        **_points(5, 8), demands=[0] * 5, capacity=1e9, vehicles=2
    ),
    "one customer": ff.Instance(**_points(1, 9), demands=[4], capacity=4, vehicles=1),
    "one customer, large fleet": ff.Instance(
        **_points(1, 9), demands=[4], capacity=9, vehicles=100
    ),
    "two customers": ff.Instance(
        **_points(2, 10), demands=[4, 4], capacity=7, vehicles=2
    ),
    "fleet larger than needed": ff.Instance(
        **_points(6, 11), demands=[1, 2, 3, 1, 2, 3], capacity=6, vehicles=50
    ),
    "tight fleet": ff.Instance(
        **_points(7, 12), demands=[6, 4, 5, 5, 7, 2, 1], capacity=10, vehicles=3
    ),
    "huge distances": ff.Instance(
        depot=(0, 0),
        customers=np.random.default_rng(13).integers(-(10**9), 10**9, size=(5, 2)),
        demands=[1] * 5,
        capacity=3,
        vehicles=2,
    ),
    "tiny distances": ff.Instance(
        depot=(0, 0),
        customers=np.random.default_rng(14).uniform(size=(5, 2)) * 1e-9,
        demands=[1] * 5,
        capacity=3,
        vehicles=2,
    ),
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

# Three customers of 6 into two vehicles of 10: the sum fits, the packing fails.
IMPOSSIBLE = ff.Instance(**_points(3, 15), demands=[6, 6, 6], capacity=10, vehicles=2)
