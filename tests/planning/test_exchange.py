"""Exchanges of customers between vehicles."""

from __future__ import annotations

import torch

from fixedfleet.planning.exchange import exchange

from .conftest import make_prediction


def test_an_unassigned_customer_goes_to_the_likelier_vehicle():
    """Of two vehicles with the same room, the customer gets the one that suits it."""
    prediction = make_prediction(torch.zeros((1, 2, 4, 4)), [0, 1, 1, 3], 4)
    value = torch.tensor([[[0, 0], [0, 0], [0, 0], [1, 5]]])
    after = exchange(prediction, torch.tensor([[2, 0, 1, 2]]), value, steps=5)
    assert after.tolist() == [[2, 0, 1, 1]]


def test_exchange_leaves_a_complete_assignment_alone():
    """If all customers have a vehicle, nobody moves."""
    prediction = make_prediction(torch.zeros((1, 2, 3, 3)), [0, 2, 2], 2)
    value = torch.tensor([[[0, 0], [5, 1], [1, 5]]])
    kept = exchange(prediction, torch.tensor([[2, 1, 0]]), value, steps=5)
    assert kept.tolist() == [[2, 1, 0]]
