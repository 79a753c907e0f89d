"""Predictions for instances: by a network, or certain about given plans."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.errors import check_choice
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.model import DEFAULT_MODEL, Batch, collate, load_once, symmetry
from fixedfleet.model.devices import (
    Precision,
    calm_threads,
    check_device,
    check_memory,
    matmul_precision,
    required_bytes,
)
from fixedfleet.model.features import MASKED, Features
from fixedfleet.model.universal import Rounds, UniversalNetwork
from fixedfleet.planning.prediction import Factors, Prediction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fixedfleet.model.weights import AnyNetwork
    from fixedfleet.plan import Plan

__all__ = ["certain_prediction", "predict", "predict_views"]

# The memory that the instances predicted at a time may take, in bytes.
_BYTES = {"cpu": 2**30, "cuda": 2**33}
_UNLIKELY = 1e-6  # the probability of a vehicle that a plan does not use for a customer


def predict(
    instances: Instance | InstanceBatch | Sequence[Instance],
    model: AnyNetwork | str | os.PathLike[str] = DEFAULT_MODEL,
    *,
    device: str = "cpu",
    precision: Precision | None = None,
) -> Prediction:
    """
    Predict the plans of instances by a network.

    An instance gets the same prediction alone as in a batch, up to rounding::

        prediction = ff.predict(instance)
        prediction.plot()
        plan = prediction.decode("membership", repair="room")

    Parameters
    ----------
    instances
        One instance, or several; they need coordinates.
    model
        The name of a shipped network, the path of a network's file, or a network.
    device
        Where to predict: ``cpu``, ``cuda`` or ``cuda:1``. A network that is given as
        an object predicts where its weights are.
    precision
        Precision of matrix products: ``bf16``, or that of torch's settings. Default:
        ``bf16`` on a GPU, and for a universal network that is given by its name on a
        CPU with instructions for it (AVX512-BF16); else ``fp32``.

    Raises
    ------
    InputError
        If there is no instance, one has no coordinates, there is no such network or
        device, or the prediction does not fit into memory.
    """
    if isinstance(instances, Instance):
        one, batch = instances, InstanceBatch.of([instances])
    else:
        one, batch = None, InstanceBatch.of(instances)
    if isinstance(model, str | os.PathLike):
        check_device(device)
        network = load_once(model, device, precision)
    else:
        network = model
    prediction = next(predict_views(network, batch, 1, precision=precision))
    return replace(prediction, instances=batch if one is None else one)


def predict_views(
    network: AnyNetwork,
    instances: InstanceBatch,
    symmetries: int,
    *,
    precision: Precision | None = None,
) -> Iterator[Prediction]:
    """
    Yield predictions of the same instances under some of the square's eight symmetries.

    The first symmetry leaves the coordinates as they are. For the other arguments see
    :func:`predict`.
    """
    device = next(network.parameters()).device
    batch = collate(instances, device)
    size, nodes = batch.features.nodes.shape
    fleet = batch.features.vehicles.shape[1]
    need = required_bytes(network.config, 1, nodes, fleet)
    count = min(size, max(1, _BYTES[device.type] // need))
    check_memory(network.config, count, nodes, fleet, device)
    if precision is None:
        reduced = any(p.dtype == torch.bfloat16 for p in network.parameters())
        precision = "bf16" if reduced or device.type == "cuda" else "fp32"
    check_choice("precision", precision, get_args(Precision))
    for code in range(symmetries):
        codes = torch.full((size,), code, device=device)
        turned = symmetry(batch.features.coordinates, codes)
        seen = batch._replace(features=batch.features._replace(coordinates=turned))
        exact = matmul_precision(device, precision)
        with torch.inference_mode(), calm_threads(device), exact:
            parts = [
                _predict_part(network, seen.features, instances, begin, count)
                for begin in range(0, size, count)
            ]
        joined = [torch.cat(tables) for tables in zip(*parts, strict=True)]
        if isinstance(network, UniversalNetwork):
            yield _make_prediction(Factors(*joined), seen)
        else:
            yield _make_prediction(joined[0], seen)


def certain_prediction(instances: InstanceBatch, plans: Sequence[Plan]) -> Prediction:
    """
    Return the prediction that is certain about the tour of each customer in a plan.

    Decoding it by membership shows what ordering by distance makes of an assignment
    that was not learnt. A customer in no tour is unlikely in every tour.
    """
    batch = collate(instances)
    (size, nodes), vehicles = batch.features.nodes.shape, batch.features.vehicles
    serves = torch.full((size, vehicles.shape[1], nodes), _UNLIKELY)
    for row, plan in enumerate(plans):
        for number, tour in enumerate(plan.tours[: int(vehicles[row].sum())]):
            serves[row, number, list(tour)] = 1.0
    log_probs = torch.full((*serves.shape, nodes), -torch.inf)
    log_probs[..., 0] = serves.log()  # the sum over a row is what membership looks at
    return _make_prediction(log_probs, batch)


def _predict_part(
    network: AnyNetwork,
    features: Features,
    instances: InstanceBatch,
    begin: int,
    count: int,
) -> tuple[Tensor, ...]:
    """
    Return what a network predicts for some instances: log Ŷ, or its two factors.

    The network does not see the padding that only other instances need, which makes it
    faster if the instances are sorted by their size.
    """
    rows = slice(begin, begin + count)
    nodes = int(instances.sizes[rows].max()) + 1
    fleet = int(instances.vehicles[rows].max())
    output = network(
        Features(
            coordinates=features.coordinates[rows, :nodes],
            demands=features.demands[rows, :nodes],
            nodes=features.nodes[rows, :nodes],
            vehicles=features.vehicles[rows, :fleet],
        )
    )
    behind = features.nodes.shape[1] - nodes
    unused = features.vehicles.shape[1] - fleet
    if isinstance(output, Rounds):
        return (
            pad(output.membership[-1], (0, unused, 0, behind), value=MASKED),
            pad(output.neighbours, (0, behind, 0, behind), value=MASKED),
        )
    assert isinstance(output, Tensor)
    return (pad(output, (0, behind, 0, behind, 0, unused), value=-torch.inf),)


def _make_prediction(log_probs: Tensor | Factors, batch: Batch) -> Prediction:
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
    )
