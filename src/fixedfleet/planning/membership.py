"""Decoding by membership: first a vehicle for each customer, then the tours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fixedfleet.planning.exchange import exchange
from fixedfleet.planning.ordering import order_by_distance

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction
    from fixedfleet.planning.tours import Decoded

__all__ = ["membership_scores", "membership_tours"]

# A sum of floats depends on the order of its terms, and so on padding. Sums of whole
# numbers do not, so probabilities and their logarithms are counted in small units.
_UNITS_PER_ONE = 2.0**40
_LOG_UNITS_PER_ONE = 2.0**20
_LEAST = -(2**60)  # stands for the value of a vehicle without room
_EXCHANGES = 100  # the largest number per instance


def membership_tours(prediction: Prediction) -> Decoded:
    """
    Assign customers to vehicles by Σ_j Ŷ_kij within the capacity, then order tours.

    The customer that loses most if its best vehicle fills up is assigned first. Then
    customers are exchanged between vehicles, first to find room for unassigned
    customers, then for a likelier assignment. Tours are ordered by distance alone.
    """
    value = membership_scores(prediction)
    vehicle = _assign_by_regret(prediction, value)
    vehicle = exchange(prediction, vehicle, value, steps=_EXCHANGES, polish=True)
    return order_by_distance(prediction, vehicle)


def membership_scores(prediction: Prediction) -> Tensor:
    """
    Return how likely vehicle k serves customer i, as a logarithm, shape (B, N', M).

    The logarithms are whole numbers of units of 2⁻²⁰.
    """
    totals = []
    padding = ~prediction.customers
    padding[:, 0] = False
    for vehicle in range(prediction.fleet):  # one at a time, to limit the memory
        part = prediction.log_probs[:, vehicle].double()  # (B, N', N')
        shares = (part.clamp_(max=0.0).exp_() * _UNITS_PER_ONE).round_().long()
        shares = shares.masked_fill_(padding[:, None], 0)
        total = shares.sum(2)
        if prediction.row_sum == "constant":
            total = total + shares.masked_fill_(padding[:, :, None], 0).sum(1)
        totals.append(total)
    log = torch.stack(totals, 2).clamp(min=1).double().log()
    return (log * _LOG_UNITS_PER_ONE).round().long()


def _assign_by_regret(prediction: Prediction, value: Tensor) -> Tensor:
    """
    Assign the customer with the largest regret, again and again, until none fits.

    Returns
    -------
    Tensor
        The vehicle of each customer, shape (B, N'); M for unassigned customers, for the
        depot and for padding.
    """
    _, size, fleet = value.shape
    rows = prediction.rows
    # Of customers with equal regret, the one with the largest demand comes first.
    order = (-prediction.demands).sort(dim=1, stable=True).indices
    demands = prediction.demands.gather(1, order)
    value = value.gather(1, order[:, :, None].expand(-1, -1, fleet))
    waits = prediction.customers.gather(1, order)
    left = prediction.room
    vehicle = torch.full_like(demands, fleet)
    for _ in range(size - 1):
        full = (demands[:, :, None] > left[:, None]) | ~waits[:, :, None]
        open_value = value.masked_fill(full, _LEAST)  # (B, N', M)
        best, choice = open_value.max(2)
        second = open_value.scatter(2, choice[:, :, None], _LEAST).amax(2)
        regret = (best - second).masked_fill(best == _LEAST, -1)
        chosen = regret.argmax(1)
        target = choice[rows, chosen]
        fits = best[rows, chosen] > _LEAST
        vehicle[rows, chosen] = torch.where(fits, target, vehicle[rows, chosen])
        waits[rows, chosen] &= ~fits
        left[rows, target] -= demands[rows, chosen] * fits
    return torch.full_like(vehicle, fleet).scatter(1, order, vehicle)
