"""Validation: the loss of held-out labels, and the plans before any search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray  # noqa: TC002 - a NamedTuple's fields are looked up

from fixedfleet.errors import InputError
from fixedfleet.model.devices import calm_threads, matmul_precision
from fixedfleet.plan import PlanBatch
from fixedfleet.planning import Prediction, decode, predict
from fixedfleet.planning.greedy import capacity_violation
from fixedfleet.training.step import loss_of

if TYPE_CHECKING:
    from fixedfleet.instance import InstanceBatch
    from fixedfleet.model.devices import Precision
    from fixedfleet.model.weights import AnyNetwork
    from fixedfleet.training.dataset import Dataset
    from fixedfleet.training.loss import LossConfig
    from fixedfleet.training.membership_loss import MembershipLossConfig

__all__ = ["Validation", "validate"]

_BATCH_SIZE = 500  # instances that are predicted at a time


@dataclass(frozen=True)
class Validation:
    """
    The quality of decoded and repaired plans without search, and the loss.

    Attributes
    ----------
    length
        Mean length of the feasible plans; NaN if there is none.
    label_length
        Mean length of the labels of the same instances.
    vehicles
        Mean number of vehicles of the feasible plans.
    solved
        Share of instances whose plan is feasible.
    violation
        Load of the pseudo-greedy plan above the capacity, as a share of the capacity
        and a mean over all vehicles.
    losses
        The loss of the labels, ``total``, and its terms by name.
    """

    length: float
    label_length: float
    vehicles: float
    solved: float
    violation: float
    losses: dict[str, float]

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name; the losses as ``loss``, ``loss_edges`` etc."""
        names = ("length", "label_length", "vehicles", "solved", "violation")
        numbers = {name: getattr(self, name) for name in names}
        for name, value in self.losses.items():
            numbers["loss" if name == "total" else f"loss_{name}"] = value
        return numbers


class _Figures(NamedTuple):
    """Figures of each instance, shape (B,); lengths are inf where infeasible."""

    length: NDArray[np.float64]
    label_length: NDArray[np.float64]
    vehicles: NDArray[np.int64]
    violation: NDArray[np.float64]


def validate(
    network: AnyNetwork,
    dataset: Dataset,
    loss: LossConfig | MembershipLossConfig,
    precision: Precision = "bf16",
) -> Validation:
    """
    Predict the plans of labelled instances, and compare them with the labels.

    Parameters
    ----------
    network
        The network.
    dataset
        Labelled instances that it was not trained on, on the network's device.
    loss
        The terms of the loss.
    precision
        Precision of the network's matrix products.

    Raises
    ------
    InputError
        If the dataset does not keep its instances.
    """
    if dataset.instances is None:
        raise InputError("the dataset keeps no instances: validate on one that does")
    sums, parts = torch.zeros(len(loss.terms), device=dataset.device), []
    for start in range(0, len(dataset), _BATCH_SIZE):
        rows = dataset.rows(start, start + _BATCH_SIZE)
        instances = dataset.instances[start : start + _BATCH_SIZE]
        prediction = predict(instances, network, precision=precision)
        sums += len(rows) * _losses(network, rows, loss, precision)
        labels = PlanBatch(rows.routes.cpu().numpy())
        parts.append(_figures(prediction, instances, labels))
    found = _Figures(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    solved = np.isfinite(found.length)
    means = (sums / len(dataset)).tolist()
    return Validation(
        length=_mean(found.length[solved]),
        label_length=_mean(found.label_length[solved]),
        vehicles=_mean(found.vehicles[solved]),
        solved=float(solved.mean()),
        violation=_mean(found.violation),
        losses=dict(zip(loss.terms, means, strict=True)),
    )


@torch.no_grad()
def _losses(
    network: AnyNetwork,
    rows: Dataset,
    loss: LossConfig | MembershipLossConfig,
    precision: Precision,
) -> torch.Tensor:
    """Return the mean loss of some labels and its terms, shape (terms,)."""
    batch = rows.batch(torch.arange(len(rows), device=rows.device))
    with matmul_precision(rows.device, precision), calm_threads(rows.device):
        output = network(batch.features)
    found = loss_of(output, batch, loss)
    return torch.stack([found[name] for name in loss.terms])


def _figures(
    prediction: Prediction, instances: InstanceBatch, labels: PlanBatch
) -> _Figures:
    """Decode a prediction, and check and measure every plan."""
    plans = decode(prediction)
    feasible = plans.feasible(instances)
    return _Figures(
        length=np.where(feasible, plans.lengths(instances), np.inf),
        label_length=labels.lengths(instances),
        vehicles=plans.vehicles(),
        violation=capacity_violation(prediction).cpu().numpy(),
    )


def _mean(values: NDArray[np.float64] | NDArray[np.int64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
