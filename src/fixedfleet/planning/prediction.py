"""A prediction with its instances: everything that a decoder needs, as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor

from fixedfleet.errors import InputError, check_choice
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.model import Batch, collate, symmetry
from fixedfleet.model.devices import Precision, check_memory, matmul_precision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.model import Network
    from fixedfleet.model.normalise import RowSum

__all__ = ["Prediction", "predict", "predict_views"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction:
    """
    Predicted plans of a batch of instances, as tensors on one device.

    Attributes
    ----------
    log_probs
        log Ŷ, shape (B, M, N', N'), −inf where an edge is not allowed.
    demands
        Whole units of demand, shape (B, N'); 0 for the depot and for padding.
    capacity
        Whole units, shape (B,).
    customers
        Which locations are customers, shape (B, N'); false for the depot and padding.
    vehicles
        Which vehicles exist, shape (B, M); padding comes last.
    distances
        Distances to compare tours by, float64, shape (B, N', N').
    row_sum
        What Σ_j Ŷ_kij says about vehicle k and customer i; see
        :class:`fixedfleet.model.Normalisation`.

    Raises
    ------
    InputError
        If a tensor has the wrong shape or type.
    """

    log_probs: Tensor
    demands: Tensor
    capacity: Tensor
    customers: Tensor
    vehicles: Tensor
    distances: Tensor
    row_sum: RowSum = "score"

    def __post_init__(self) -> None:
        shape = tuple(self.log_probs.shape)
        if len(shape) != 4 or shape[2] != shape[3] or min(shape[1:]) < 1:
            raise InputError(f"log_probs has shape {shape}, not (B, M, N', N')")
        batch, fleet, size, _ = shape
        for name, wanted in {
            "demands": (batch, size),
            "capacity": (batch,),
            "customers": (batch, size),
            "vehicles": (batch, fleet),
            "distances": (batch, size, size),
        }.items():
            found = tuple(getattr(self, name).shape)
            if found != wanted:
                raise InputError(f"{name} has shape {found}, not {wanted}")
        for name in ("demands", "capacity"):
            if getattr(self, name).dtype != torch.int64:
                raise InputError(f"{name} are not whole units (torch.int64)")

    def check_values(self) -> None:
        """Raise InputError if a number cannot be right. Waits for the device."""
        if self.log_probs.isnan().any():
            raise InputError("log_probs holds NaN: the network's weights have diverged")
        if (self.demands < 0).any():
            raise InputError("demands holds a negative amount")
        if (self.capacity < 1).any():
            raise InputError("capacity holds an amount below 1")

    def __len__(self) -> int:
        """Return the number of instances, B."""
        return len(self.demands)

    def __getitem__(self, rows: slice | Tensor) -> Prediction:
        """Return the predictions of some instances."""
        return Prediction(
            log_probs=self.log_probs[rows],
            demands=self.demands[rows],
            capacity=self.capacity[rows],
            customers=self.customers[rows],
            vehicles=self.vehicles[rows],
            distances=self.distances[rows],
            row_sum=self.row_sum,
        )

    @property
    def locations(self) -> int:
        """The number of locations with depot and padding, N'."""
        return self.demands.shape[1]

    @property
    def fleet(self) -> int:
        """The number of vehicles with padding, M."""
        return self.vehicles.shape[1]

    @property
    def rows(self) -> Tensor:
        """The row numbers, shape (B,), to index tensors of the batch with."""
        return torch.arange(len(self), device=self.demands.device)

    @property
    def room(self) -> Tensor:
        """The capacity of each vehicle, shape (B, M); −1 for padding."""
        return torch.where(self.vehicles, self.capacity[:, None], -1)

    def between(self, start: Tensor, end: Tensor) -> Tensor:
        """Return the distances from ``start`` to ``end``, both of shape (B, …)."""
        rows = self.rows.view(-1, *[1] * (max(start.ndim, end.ndim) - 1))
        return self.distances[rows, start, end]


def predict(
    network: Network,
    instances: Instance | InstanceBatch,
    *,
    precision: Precision | None = None,
) -> Prediction:
    """
    Predict the plans of instances.

    An instance gets the same prediction alone as in a padded batch, up to rounding.

    Parameters
    ----------
    network
        The network; it predicts on the device of its weights.
    instances
        One instance, or a batch.
    precision
        Precision of matrix products: ``bf16``, or that of torch's settings. Default:
        ``bf16`` on a GPU, ``fp32`` on a CPU.

    Raises
    ------
    InputError
        If an instance has no coordinates, or the prediction does not fit into memory.
    """
    if isinstance(instances, Instance):
        instances = InstanceBatch.of([instances])
    return next(predict_views(network, instances, 1, precision=precision))


def predict_views(
    network: Network,
    instances: InstanceBatch,
    symmetries: int,
    *,
    precision: Precision | None = None,
) -> Iterator[Prediction]:
    """
    Yield predictions of the same instances under several symmetries of the square.

    Parameters
    ----------
    network, instances, precision
        As in :func:`predict`.
    symmetries
        How many of the eight symmetries to use. The first leaves the coordinates as
        they are.
    """
    device = next(network.parameters()).device
    batch = collate(instances, device)
    size, nodes = batch.features.nodes.shape
    check_memory(network.config, size, nodes, batch.features.vehicles.shape[1], device)
    if precision is None:
        precision = "bf16" if device.type == "cuda" else "fp32"
    check_choice("precision", precision, get_args(Precision))
    for code in range(symmetries):
        codes = torch.full((size,), code, device=device)
        turned = symmetry(batch.features.coordinates, codes)
        seen = batch._replace(features=batch.features._replace(coordinates=turned))
        with torch.inference_mode(), matmul_precision(device, precision):
            log_probs = network(seen.features)
        yield _make_prediction(network, log_probs, seen)


def _make_prediction(network: Network, log_probs: Tensor, batch: Batch) -> Prediction:
    """Return the prediction with all that decoders need of the instances."""
    customers = batch.features.nodes.clone()
    customers[:, 0] = False
    points = batch.features.coordinates.double()
    step = points[:, :, None] - points[:, None]  # (B, N', N', 2)
    return Prediction(
        log_probs=log_probs,
        demands=batch.units,
        capacity=batch.capacity,
        customers=customers,
        vehicles=batch.features.vehicles,
        distances=(step[..., 0].square() + step[..., 1].square()).sqrt(),
        row_sum=network.normalisation.row_sum,
    )
