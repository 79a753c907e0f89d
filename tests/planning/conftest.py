"""Predictions made by hand, for the tests of decoding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from fixedfleet.planning import Prediction


def one_hot_prediction(tours, customers, vehicles):
    """log Ŷ of a plan, shape (1, M, N', N'): 0 on its edges, −inf elsewhere."""
    log_probs = torch.full((1, vehicles, customers + 1, customers + 1), -torch.inf)
    for number in range(vehicles):
        stops = [0, *(tours[number] if number < len(tours) else ()), 0]
        for start, end in itertools.pairwise(stops):
            log_probs[0, number, start, end] = 0.0
    return log_probs


def log_of(edges, customers, vehicles, others=1e-6):
    """log Ŷ, shape (1, M, N', N'), from the probabilities of a few edges."""
    probs = torch.full((1, vehicles, customers + 1, customers + 1), others)
    for (vehicle, start, end), value in edges.items():
        probs[0, vehicle, start, end] = value
    return probs.log()


def make_prediction(log_probs, demands, capacity, points=None, **fields):
    """A prediction of instances without padding; without points, all at one place."""
    batch, fleet, size, _ = log_probs.shape
    demands = torch.as_tensor(demands).reshape(batch, -1)
    points = torch.zeros(batch, size, 2) if points is None else torch.as_tensor(points)
    customers = torch.ones((batch, size), dtype=torch.bool)
    customers[:, 0] = False
    made = {
        "log_probs": log_probs,
        "demands": demands,
        "capacity": torch.as_tensor(capacity).expand(batch),
        "customers": customers,
        "vehicles": torch.ones((batch, fleet), dtype=torch.bool),
        "distances": torch.cdist(points.double(), points.double()),
    }
    return Prediction(**(made | fields))


def noisy_prediction(batch, vehicles, customers, capacity, seed=0):
    """A softmaxed random prediction with random demands and coordinates."""
    rng = np.random.default_rng(seed)
    shape = (batch, vehicles, customers + 1, customers + 1)
    scores = torch.from_numpy(rng.normal(scale=2.0, size=shape))
    log_probs = scores.flatten(2).log_softmax(-1).view(shape).float()
    demands = torch.from_numpy(rng.integers(1, 10, size=(batch, customers + 1)))
    demands[:, 0] = 0
    points = torch.from_numpy(rng.uniform(size=(batch, customers + 1, 2)))
    return make_prediction(log_probs, demands, capacity, points)


@pytest.fixture
def noisy():
    """Return a maker of softmaxed random predictions."""
    return noisy_prediction
