"""Validate a network on held-out labels: its loss, and the quality of its plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from fixedfleet.model.devices import calm_threads, matmul_precision
from fixedfleet.planning import Prediction, decode, predict
from fixedfleet.planning.greedy import capacity_violation
from fixedfleet.training.training_data import to_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.model.devices import Precision
    from fixedfleet.model.plan_network import PlanNetwork
    from fixedfleet.plan import PlanBatch
    from fixedfleet.training.losses import Loss

__all__ = ["Validation", "validate"]

_BATCH_SIZE = 500  # the most instances that are predicted at a time


@dataclass(frozen=True)
class Validation:
    """
    The loss on held-out labels, and the quality of the decoded and repaired plans.

    No search improves the plans. Lengths are in the units of the instances.

    Attributes
    ----------
    length
        Mean length of the feasible plans; NaN if no plan is feasible.
    label_length
        Mean length of the labels of the instances whose plans are feasible.
    vehicles
        Mean number of vehicles of the feasible plans.
    solved
        Share of instances whose plan is feasible.
    violation
        By how much the loads of pseudo-greedy plans exceed the capacity: a mean over
        all vehicles, as a share of the capacity. A pseudo-greedy plan follows the
        likeliest edges and ignores the capacity.
    losses
        The loss on the labels as ``total``, and its terms by name.
    """

    length: float
    label_length: float
    vehicles: float
    solved: float
    violation: float
    losses: dict[str, float]

    def to_dict(self) -> dict[str, float]:
        """
        Return all numbers by name.

        The total loss is named ``loss``; the name of each other term is ``loss_`` and
        the term's name.
        """
        names = ("length", "label_length", "vehicles", "solved", "violation")
        numbers = {name: getattr(self, name) for name in names}
        for name, value in self.losses.items():
            numbers["loss" if name == "total" else f"loss_{name}"] = value
        return numbers


def validate(
    network: PlanNetwork,
    instances: InstanceBatch,
    labels: PlanBatch,
    loss: Loss,
    precision: Precision = "bf16",
) -> Validation:
    """
    Return the loss of a network on labels, and the quality of its plans.

    Parameters
    ----------
    network
        The network.
    instances, labels
        Instances that the network was not trained on, and their labels.
    loss
        The loss to compute on the labels.
    precision
        Precision of the network's matrix products.
    """
    losses, figures = np.zeros(len(loss.terms)), []
    for start in range(0, len(instances), _BATCH_SIZE):
        rows = slice(start, start + _BATCH_SIZE)
        some, plans = instances[rows], labels[rows]
        prediction = predict(some, network, precision=precision)
        figures.append(_measure(prediction, some))
        losses += len(some) * _losses(network, some, plans, loss, precision)
    length, vehicles, violation = np.concatenate(figures, axis=1)
    solved = np.isfinite(length)
    means = (losses / len(instances)).tolist()
    return Validation(
        length=_mean(length[solved]),
        label_length=_mean(labels.lengths(instances)[solved]),
        vehicles=_mean(vehicles[solved]),
        solved=float(solved.mean()),
        violation=_mean(violation),
        losses=dict(zip(loss.terms, means, strict=True)),
    )


def _measure(prediction: Prediction, instances: InstanceBatch) -> NDArray[np.float64]:
    """
    Decode a prediction, and return three numbers for every plan, shape (3, B).

    They are the plan's length (inf if it is infeasible), its number of vehicles, and by
    how much the pseudo-greedy plan of the same prediction exceeds the capacity (see
    :func:`capacity_violation`).
    """
    plans = decode(prediction)
    feasible = plans.feasible(instances)
    length = np.where(feasible, plans.lengths(instances), np.inf)
    violation = capacity_violation(prediction).cpu().numpy()
    return np.stack((length, plans.vehicles(), violation))


@torch.no_grad()
def _losses(
    network: PlanNetwork,
    instances: InstanceBatch,
    labels: PlanBatch,
    loss: Loss,
    precision: Precision,
) -> NDArray[np.float64]:
    """
    Return the loss and its terms on a batch of labels, shape (terms,).

    The order is that of ``loss.terms``.
    """
    device = next(network.parameters()).device
    batch = to_tensors(instances, labels, device)
    with matmul_precision(device, precision), calm_threads(device):
        output = network(batch.features)
    found = loss(output, batch)
    return np.array([float(found[name]) for name in loss.terms])


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
