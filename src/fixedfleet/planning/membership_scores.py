"""How likely each vehicle serves each customer, in whole numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.prediction import Factors

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["membership_scores"]

# A sum of floats depends on the order of its terms, and so on padding. Sums of whole
# numbers do not, so probabilities and their logarithms are counted in small units.
_UNITS_PER_ONE = 2.0**40
_LOG_UNITS_PER_ONE = 2.0**20


def membership_scores(prediction: Prediction) -> Tensor:
    """
    Return how likely vehicle k serves customer i, as a logarithm, shape (B, N', M).

    The logarithms are whole numbers of units of 2⁻²⁰.
    """
    if isinstance(prediction.log_probs, Factors):
        log = pad(prediction.log_probs.membership, (0, 0, 1, 0)).double()
        log = (log + math.log(_UNITS_PER_ONE)).clamp(min=0.0)
        return (log * _LOG_UNITS_PER_ONE).round().long()
    totals = []
    padding = ~prediction.customers
    padding[:, 0] = False
    for vehicle in range(prediction.fleet):  # one at a time, to limit the memory
        part = prediction.log_probs[:, vehicle].double()  # (B, N', N')
        shares = (part.clamp_(max=0.0).exp_() * _UNITS_PER_ONE).round_().long()
        shares = shares.masked_fill_(padding[:, None], 0)
        total = shares.sum(2)
        if prediction.constant_rows:
            total = total + shares.masked_fill_(padding[:, :, None], 0).sum(1)
        totals.append(total)
    log = torch.stack(totals, 2).clamp(min=1).double().log()
    return (log * _LOG_UNITS_PER_ONE).round().long()
