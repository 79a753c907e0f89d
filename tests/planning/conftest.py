"""Predictions made by hand, for the tests of decoding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch


def one_hot_prediction(tours, customers, vehicles):
    """log Ŷ of a plan, shape (1, M, N', N'): 0 on its arcs, −inf elsewhere."""
    log_probs = torch.full((1, vehicles, customers + 1, customers + 1), -torch.inf)
    for number in range(vehicles):
        stops = [0, *(tours[number] if number < len(tours) else ()), 0]
        for start, end in itertools.pairwise(stops):
            log_probs[0, number, start, end] = 0.0
    return log_probs


@pytest.fixture
def one_hot():
    """Return a maker of the prediction that is sure of a plan."""
    return one_hot_prediction


@pytest.fixture
def prediction():
    """Return a maker of log Ŷ (1, M, N', N') from the probabilities of a few arcs."""

    def make(arcs, customers, vehicles, others=1e-6):
        probs = torch.full((1, vehicles, customers + 1, customers + 1), others)
        for (vehicle, start, end), value in arcs.items():
            probs[0, vehicle, start, end] = value
        return probs.log()

    return make


@pytest.fixture
def noisy():
    """Return a maker of softmaxed random predictions with demands and coordinates."""

    def make(batch, vehicles, customers, capacity, seed=0):
        rng = np.random.default_rng(seed)
        shape = (batch, vehicles, customers + 1, customers + 1)
        scores = torch.from_numpy(rng.normal(scale=2.0, size=shape))
        log_probs = scores.flatten(2).log_softmax(-1).view(shape).float()
        demands = torch.from_numpy(rng.integers(1, 10, size=(batch, customers + 1)))
        demands[:, 0] = 0
        points = torch.from_numpy(rng.uniform(size=(batch, customers + 1, 2)))
        return log_probs, demands, torch.full((batch,), capacity), points

    return make
