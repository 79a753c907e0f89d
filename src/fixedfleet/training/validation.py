"""Validation: the quality of decoded plans before any search, and the loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray  # noqa: TC002 - a NamedTuple's fields are looked up

from fixedfleet.errors import InputError
from fixedfleet.model.features import SYMMETRIES
from fixedfleet.plan import PlanBatch
from fixedfleet.planning import decode, predict_views, pseudo_greedy
from fixedfleet.training.loss import LossParts, plan_loss
from fixedfleet.training.step import autocast

if TYPE_CHECKING:
    from fixedfleet.instance import InstanceBatch
    from fixedfleet.model.network import Network
    from fixedfleet.training.dataset import Dataset
    from fixedfleet.training.loss import LossConfig
    from fixedfleet.training.presets import MatmulPrecision

__all__ = ["RawPlans", "Validation", "decode_raw", "mean_loss", "validate"]

_BATCH_SIZE = 500  # instances that are predicted at a time


class RawPlans(NamedTuple):
    """
    Figures of the decoded plan of each instance.

    Attributes
    ----------
    length
        Length of the plan, inf if it is infeasible, shape (B,).
    vehicles
        Vehicles of the plan, 0 if it is infeasible, shape (B,).
    violation
        Load of the pseudo-greedy plan above the capacity, as a share of the capacity
        and a mean over the vehicles, shape (B,).
    """

    length: NDArray[np.float64]
    vehicles: NDArray[np.int64]
    violation: NDArray[np.float64]


@dataclass(frozen=True)
class Validation:
    """
    The quality of decoded and repaired plans, without search.

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
        The loss of the labels, ``total``, and its terms by name; empty if no loss was
        asked for.
    """

    length: float
    label_length: float
    vehicles: float
    solved: float
    violation: float
    losses: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name; the losses as ``loss``, ``loss_edges`` etc."""
        names = ("length", "label_length", "vehicles", "solved", "violation")
        numbers = {name: getattr(self, name) for name in names}
        for name, value in self.losses.items():
            numbers["loss" if name == "total" else f"loss_{name}"] = value
        return numbers


def validate(
    network: Network,
    dataset: Dataset,
    *,
    precision: MatmulPrecision = "bf16",
    loss: LossConfig | None = None,
) -> Validation:
    """
    Decode the instances of a dataset, and compare the plans with the labels.

    Parameters
    ----------
    network
        The network.
    dataset
        Labelled instances that it was not trained on.
    precision
        Precision of the network's matrix products.
    loss
        The terms of the loss of the labels; None to leave the loss out.

    Raises
    ------
    InputError
        If the dataset does not keep its instances.
    """
    if dataset.instances is None:
        raise InputError("the dataset keeps no instances: validate on one that does")
    plans = decode_raw(network, dataset.instances, precision=precision)
    solved = np.isfinite(plans.length)
    labels = PlanBatch(dataset.routes.cpu().numpy()).lengths(dataset.instances)
    return Validation(
        length=_mean(plans.length[solved]),
        label_length=_mean(labels[solved]),
        vehicles=_mean(plans.vehicles[solved]),
        solved=float(solved.mean()),
        violation=_mean(plans.violation),
        losses={} if loss is None else mean_loss(network, dataset, loss, precision),
    )


@torch.no_grad()
def mean_loss(
    network: Network, dataset: Dataset, loss: LossConfig, precision: MatmulPrecision
) -> dict[str, float]:
    """
    Return the mean loss of a dataset's labels, and its terms, by name.

    Parameters
    ----------
    network, dataset
        The network, and the labels on its device.
    loss
        The terms of the loss.
    precision
        Precision of the network's matrix products.
    """
    device = dataset.device
    sums = torch.zeros(len(LossParts._fields), device=device)
    for rows in torch.split(torch.arange(len(dataset), device=device), _BATCH_SIZE):
        batch = dataset.batch(rows)
        with autocast(device, precision):
            log_probs = network(batch.features)
        parts = plan_loss(log_probs, batch, loss)
        sums += len(rows) * torch.stack(list(parts))
    return dict(zip(LossParts._fields, (sums / len(dataset)).tolist(), strict=True))


def decode_raw(
    network: Network,
    instances: InstanceBatch,
    *,
    precision: MatmulPrecision = "bf16",
    symmetries: int = 1,
) -> RawPlans:
    """
    Predict, decode by membership and repair, and check every plan.

    Parameters
    ----------
    network
        The network; it predicts where its weights lie.
    instances
        The instances.
    precision
        Precision of the network's matrix products.
    symmetries
        Predict each instance under this many symmetries of the square, 1 to 8, and
        keep the shortest feasible plan.
    """
    if not 1 <= symmetries <= SYMMETRIES:
        raise InputError(f"symmetries is {symmetries}, not between 1 and {SYMMETRIES}")
    parts = [
        _decode_batch(
            network,
            instances.take(slice(start, start + _BATCH_SIZE)),
            precision,
            symmetries,
        )
        for start in range(0, len(instances), _BATCH_SIZE)
    ]
    return RawPlans(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _decode_batch(
    network: Network,
    instances: InstanceBatch,
    precision: MatmulPrecision,
    symmetries: int,
) -> RawPlans:
    length = np.full(len(instances), np.inf)
    vehicles = np.zeros(len(instances), dtype=np.int64)
    violation = np.zeros(len(instances))
    views = predict_views(network, instances, symmetries, precision=precision)
    for code, prediction in enumerate(views):
        if code == 0:
            loads = pseudo_greedy(prediction).loads(prediction.demands)
            capacity = prediction.capacity
            excess = (loads - capacity[:, None]).clamp_min(0).double()
            fleet = prediction.vehicles.sum(1)
            violation = (excess.sum(1) / fleet / capacity).cpu().numpy()
        plans = decode(prediction).plans()
        feasible = plans.feasible(instances)
        found = np.where(feasible, plans.lengths(instances), np.inf)
        vehicles = np.where(found < length, plans.vehicles(), vehicles)
        length = np.minimum(length, found)
    return RawPlans(length, vehicles, violation)


def _mean(values: NDArray[np.float64] | NDArray[np.int64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
