"""Validation by decoding: what a prediction is worth before any search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray  # noqa: TC002 - a NamedTuple's fields are looked up

from fixedfleet.errors import InputError
from fixedfleet.model.features import SYMMETRIES, collate
from fixedfleet.plan import PlanBatch
from fixedfleet.planning import pseudo_greedy, to_plans
from fixedfleet.planning.predicted import decode_predicted, views
from fixedfleet.training.loss import LossParts, plan_loss
from fixedfleet.training.step import autocast

if TYPE_CHECKING:
    from fixedfleet.instance import InstanceBatch
    from fixedfleet.model.network import Network
    from fixedfleet.planning import Method
    from fixedfleet.planning.repair import Repair
    from fixedfleet.training.dataset import Dataset
    from fixedfleet.training.loss import LossConfig
    from fixedfleet.training.presets import Precision

__all__ = ["RawPlans", "Validation", "decode_raw", "mean_loss", "validate"]

_AT_A_TIME = 500  # instances


class RawPlans(NamedTuple):
    """
    What decoding gave for each instance.

    Attributes
    ----------
    length
        Length of the plan, inf where it is not feasible, shape (B,).
    vehicles
        Vehicles of the plan, 0 where it is not feasible, shape (B,).
    violation
        What the pseudo-greedy plan loads above the capacity, mean over the vehicles,
        as a share of the capacity, shape (B,).
    """

    length: NDArray[np.float64]
    vehicles: NDArray[np.int64]
    violation: NDArray[np.float64]


@dataclass(frozen=True)
class Validation:
    """
    How good decoded and repaired plans are, without search.

    Attributes
    ----------
    length
        Mean length of the solved instances' plans; NaN if none is solved.
    label_length
        Mean length of the same instances' labels.
    vehicles
        Mean number of vehicles of the solved instances' plans.
    solved
        Share of instances whose plan serves everyone within capacity and fleet.
    violation
        What the pseudo-greedy plan loads above the capacity, mean over all vehicles,
        as a share of the capacity.
    losses
        The loss of the labels, ``total``, and its parts by name; empty if not asked
        for.
    """

    length: float
    label_length: float
    vehicles: float
    solved: float
    violation: float
    losses: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name: ``loss`` in all, ``loss_edges`` and so on."""
        names = ("length", "label_length", "vehicles", "solved", "violation")
        numbers = {name: getattr(self, name) for name in names}
        for name, value in self.losses.items():
            numbers["loss" if name == "total" else f"loss_{name}"] = value
        return numbers


def validate(
    network: Network,
    dataset: Dataset,
    *,
    method: Method = "membership",
    repair: Repair = "room",
    precision: Precision = "bf16",
    symmetries: int = 1,
    loss: LossConfig | None = None,
) -> Validation:
    """
    Decode a dataset's instances and compare with the labels.

    Parameters
    ----------
    network
        The network.
    dataset
        Labelled instances it was not trained on.
    method, repair, precision, symmetries
        As in :func:`decode_raw`.
    loss
        What the loss of the labels is made of; None to leave it out.

    Raises
    ------
    InputError
        If the dataset does not keep its instances.
    """
    if dataset.instances is None:
        raise InputError("the dataset keeps no instances: validate on one that does")
    plans = decode_raw(
        network,
        dataset.instances,
        method=method,
        repair=repair,
        precision=precision,
        symmetries=symmetries,
    )
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
    network: Network, dataset: Dataset, loss: LossConfig, precision: Precision
) -> dict[str, float]:
    """
    Mean loss of a dataset's labels, and its parts, by the names in LossParts.

    Parameters
    ----------
    network, dataset
        The network, and the labels on its device.
    loss
        What the loss is made of.
    precision
        Of the network's matrix products.
    """
    device = dataset.coordinates.device
    sums = torch.zeros(len(LossParts._fields), device=device)
    for rows in torch.split(torch.arange(len(dataset), device=device), _AT_A_TIME):
        batch = dataset.batch(rows)
        with autocast(device, precision):
            log_probs = network(batch.features)
        parts = plan_loss(
            log_probs, batch.features, batch.routes, batch.units, batch.capacity, loss
        )
        sums += len(rows) * torch.stack(list(parts))
    return dict(zip(LossParts._fields, (sums / len(dataset)).tolist(), strict=True))


def decode_raw(
    network: Network,
    instances: InstanceBatch,
    *,
    method: Method = "membership",
    repair: Repair = "room",
    precision: Precision = "bf16",
    symmetries: int = 1,
    batch_size: int = _AT_A_TIME,
) -> RawPlans:
    """
    Predict, decode and repair, and check every plan.

    Parameters
    ----------
    network
        The network; it predicts where its weights lie.
    instances
        The instances.
    method, repair
        How to decode, and how customers left out are put back.
    precision
        Of the network's matrix products.
    symmetries
        Predict each instance under so many of the square's symmetries, up to 8, and
        keep the shortest feasible plan.
    batch_size
        Instances at a time.

    Raises
    ------
    InputError
        If the number of symmetries is not between 1 and 8.
    """
    if not 1 <= symmetries <= SYMMETRIES:
        raise InputError(f"symmetries is {symmetries}, not between 1 and {SYMMETRIES}")
    parts = [
        _decode_batch(
            network,
            instances.take(slice(start, start + batch_size)),
            method,
            repair,
            precision,
            symmetries,
        )
        for start in range(0, len(instances), batch_size)
    ]
    return RawPlans(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _decode_batch(
    network: Network,
    instances: InstanceBatch,
    method: Method,
    repair: Repair,
    precision: Precision,
    symmetries: int,
) -> RawPlans:
    device = next(network.parameters()).device
    batch = collate(instances, device)
    length = np.full(len(instances), np.inf)
    vehicles = np.zeros(len(instances), dtype=np.int64)
    violation = np.zeros(len(instances))
    seen_as = views(network, batch, symmetries, precision)
    for code, (log_probs, seen) in enumerate(seen_as):
        if code == 0:
            _, loads = pseudo_greedy(
                log_probs,
                batch.units,
                customers=batch.features.nodes,
                vehicles=batch.features.vehicles,
            )
            excess = (loads - batch.capacity[:, None]).clamp_min(0).double()
            fleet = batch.features.vehicles.sum(1)
            violation = (excess.sum(1) / fleet / batch.capacity).cpu().numpy()
        decoded = decode_predicted(
            network, log_probs, seen, method=method, repair=repair
        )
        plans = to_plans(decoded)
        feasible = plans.feasible(instances)
        found = np.where(feasible, plans.lengths(instances), np.inf)
        vehicles = np.where(found < length, plans.vehicles(), vehicles)
        length = np.minimum(length, found)
    return RawPlans(length, vehicles, violation)


def _mean(values: NDArray[np.float64] | NDArray[np.int64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
