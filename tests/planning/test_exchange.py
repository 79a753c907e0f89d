"""Exchanges of customers between vehicles."""

from __future__ import annotations

import torch

from fixedfleet.planning.exchange import exchange

from .conftest import make_prediction


def test_exchange_finds_the_likelier_swap():
    """Two customers in each other's best vehicle change places."""
    prediction = make_prediction(torch.zeros((1, 2, 3, 3)), [0, 2, 2], 2)
    value = torch.tensor([[[0, 0], [5, 1], [1, 5]]])
    wrong = torch.tensor([[2, 1, 0]])
    better = exchange(prediction, wrong, value, steps=5, polish=True)
    assert better.tolist() == [[2, 0, 1]]
    kept = exchange(prediction, wrong, value, steps=5, polish=False)
    assert kept.tolist() == wrong.tolist()
