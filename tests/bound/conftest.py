"""Fixtures of the tests of lower bounds: small odd instances, and a fake clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fixedfleet as ff

if TYPE_CHECKING:
    from collections.abc import Callable


def draw_odd(seed: int) -> tuple[ff.Instance, ff.Plan, float]:
    """Return an instance of 4 to 9 customers, some plan for it, and a vehicle cost.

    Demands of zero, equal points, demands above half the capacity, one vehicle, many
    vehicles, asymmetric, rounded and decimal distances: each in some of the seeds.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    points = (
        rng.integers(0, 12, size=(n + 1, 2))
        if seed % 2
        else rng.uniform(size=(n + 1, 2))
    )
    if seed % 5 == 0:
        points[2:4] = points[1]
    if seed % 7 == 0:
        points[1] = points[0]
    capacity = int(rng.integers(5, 25))
    demands = rng.integers(0 if seed % 3 == 0 else 1, capacity * 2 // 3 + 1, size=n)
    if seed % 11 == 0:
        capacity = int(demands.sum())
    tours: list[list[int]] = []
    for customer in rng.permutation(n) + 1:  # first fit, in a random order
        fits = [
            t for t in tours if demands[np.array([*t, customer]) - 1].sum() <= capacity
        ]
        if fits:
            fits[0].append(int(customer))
        else:
            tours.append([int(customer)])
    fields = {"depot": points[0], "customers": points[1:]}
    if seed % 4 == 1:
        matrix = rng.integers(1, 60, size=(n + 1, n + 1)) / (1 if seed % 8 == 1 else 7)
        np.fill_diagonal(matrix, 0)
        fields = {"matrix": matrix}
    instance = ff.Instance(
        **fields,
        demands=demands,
        capacity=capacity,
        vehicles=len(tours) + (3 if seed % 6 == 0 else 0),
        rounding="round" if seed % 4 == 3 else "none",
    )
    return instance, ff.Plan(tours), (0.0, 5.0, 0.3)[seed % 3]


class FakeClock:
    """Seconds left that fall by one at each look, to nothing after so many looks."""

    def __init__(self, looks: float = math.inf) -> None:
        self.left = looks
        self.looks = 0

    def __call__(self) -> float:
        self.left -= 1
        self.looks += 1
        return self.left


@pytest.fixture
def forever() -> Callable[[], float]:
    """A clock that never ends."""
    return lambda: math.inf


@pytest.fixture
def fake_clock() -> type[FakeClock]:
    """A clock that ends after a number of looks at it."""
    return FakeClock


@pytest.fixture
def odd() -> Callable[[int], tuple[ff.Instance, ff.Plan, float]]:
    """A function that returns a small odd instance, a plan and a vehicle cost."""
    return draw_odd
