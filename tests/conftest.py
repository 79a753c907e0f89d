"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import fixedfleet as ff

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with CVRPLIB instances, labels and reference plans, if there is."""
    folder = Path(os.environ.get("FIXEDFLEET_SHARED", ROOT.parent / "shared"))
    if not (folder / "cvrplib").is_dir():
        pytest.skip("no folder with CVRPLIB instances and reference plans")
    return folder


@pytest.fixture(scope="session")
def square() -> ff.Instance:
    """Four customers on the corners of a square around the depot, two vehicles.

    Each customer demands 1 of a capacity of 2; the best plan takes two neighbours a
    tour and has length 2 · (√2 + 2 + √2) = 4 + 4√2.
    """
    return ff.Instance(
        depot=(0, 0),
        customers=[[1, 1], [1, -1], [-1, -1], [-1, 1]],
        demands=[1, 1, 1, 1],
        capacity=2,
        vehicles=2,
    )


@pytest.fixture
def make_instance():
    """Return a maker of random instances that a packing is known to fit."""

    def make(n=12, vehicles=3, capacity=20, seed=0, **changes) -> ff.Instance:
        rng = np.random.default_rng(seed)
        fields = {
            "depot": rng.uniform(size=2),
            "customers": rng.uniform(size=(n, 2)),
            "demands": rng.integers(1, 1 + vehicles * capacity // (2 * n), size=n),
            "capacity": capacity,
            "vehicles": vehicles,
        }
        return ff.Instance(**(fields | changes))

    return make
