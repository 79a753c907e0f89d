"""Make predictions for instances: by a network, or from given plans."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.errors import InputError, check_choice
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.model import (
    DEFAULT_MODEL,
    Batch,
    Factors,
    Features,
    collate,
    load_once,
    symmetry,
)
from fixedfleet.model.devices import (
    Precision,
    calm_threads,
    check_device,
    check_memory,
    matmul_precision,
)
from fixedfleet.planning.prediction import Prediction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fixedfleet.model import PlanNetwork
    from fixedfleet.plan import Plan

__all__ = ["certain_prediction", "predict", "predict_views"]

# A batch is split so that predicting a part takes at most this many bytes.
_BYTES = {"cpu": 2**30, "cuda": 2**33}
# The probability that a customer is served by another vehicle than that of its plan.
_UNLIKELY = 1e-6


def predict(
    instances: Instance | InstanceBatch | Sequence[Instance],
    model: PlanNetwork | str | os.PathLike[str] = DEFAULT_MODEL,
    *,
    device: str = "cpu",
    precision: Precision | None = None,
) -> Prediction:
    """
    Return the prediction of a network for one or several instances.

    An instance gets the same prediction alone as in a batch, up to rounding::

        prediction = ff.predict(instance)
        prediction.plot()
        plan = prediction.decode("membership", repair="room")

    Parameters
    ----------
    instances
        One instance, or several. They need coordinates.
    model
        The name of a shipped network, the path of a network's file, or a network.
    device
        Where to predict: ``cpu``, ``cuda`` or ``cuda:1``. It is ignored if ``model`` is
        a network object, which predicts on the device of its weights.
    precision
        Precision of matrix products: ``bf16``, ``tf32`` or ``fp32``. The last two use
        the precision that ``torch.set_float32_matmul_precision`` has set. Default:
        ``bf16`` on a GPU. On a CPU with AVX512-BF16 instructions, the default is also
        ``bf16`` for a universal network that is given by its name or path. Otherwise it
        is ``fp32``.

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
    network: PlanNetwork,
    instances: InstanceBatch,
    symmetries: int,
    *,
    precision: Precision | None = None,
) -> Iterator[Prediction]:
    """
    Yield predictions for the same instances, rotated and mirrored.

    The first prediction is for the instances as they are. ``symmetries``, from 1 to 8,
    is the number of predictions; each of them is for another symmetry of the square.
    For the other arguments see :func:`predict`.
    """
    device = next(network.parameters()).device
    batch = collate(instances, device)
    size, nodes = batch.features.nodes.shape
    fleet = batch.features.vehicles.shape[1]
    need = network.required_bytes(1, nodes, fleet)
    count = min(size, max(1, _BYTES[device.type] // need))
    check_memory(network, count, nodes, fleet, device)
    precision = chosen_precision(network, precision)
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
        yield _make_prediction(_join(parts), seen)


def chosen_precision(network: PlanNetwork, precision: Precision | None) -> Precision:
    """Return the precision in which a network predicts if it is asked for this one."""
    if precision is None:
        weights = list(network.parameters())
        reduced = any(p.dtype == torch.bfloat16 for p in weights)
        return "bf16" if reduced or weights[0].device.type == "cuda" else "fp32"
    check_choice("precision", precision, get_args(Precision))
    return precision


def certain_prediction(
    instances: InstanceBatch, plans: Sequence[Plan], *, device: str = "cpu"
) -> Prediction:
    """
    Return a prediction, made without a network, in which given plans are certain.

    A vehicle serves the customers of its tour in the plan with probability 1. All other
    probabilities that a vehicle serves a customer are close to 0. Decoding this
    prediction by membership shows what decoding alone changes: it orders the tours of a
    plan by distance.
    """
    batch = collate(instances, device)
    (size, nodes), vehicles = batch.features.nodes.shape, batch.features.vehicles
    shape = size, vehicles.shape[1], nodes
    serves = torch.full(shape, _UNLIKELY, device=device)
    for row, plan in enumerate(plans):
        for number, tour in enumerate(plan.tours[: int(vehicles[row].sum())]):
            serves[row, number, list(tour)] = 1.0
    log_probs = torch.full((*shape, nodes), -torch.inf, device=device)
    # Membership decoding only uses the sum over j, so one edge per customer is enough.
    log_probs[..., 0] = serves.log()
    return _make_prediction(log_probs, batch)


def _predict_part(
    network: PlanNetwork,
    features: Features,
    instances: InstanceBatch,
    begin: int,
    count: int,
) -> Tensor | Factors:
    """
    Return log Ŷ or Factors for ``count`` instances of a batch, from ``begin`` on.

    Padding that only the other instances of the batch need is removed before the
    network predicts. This saves time if the instances are sorted by size. The result is
    padded to the size of the whole batch.
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
    padding = features.nodes.shape[1] - nodes
    unused = features.vehicles.shape[1] - fleet
    found = network.read(output)
    if isinstance(found, Factors):
        return found.padded(padding, unused)
    if not isinstance(found, Tensor) or found.shape[2:] != (nodes, nodes):
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found)
        raise InputError(
            f"{type(network).__name__} predicts {shape}, not log Ŷ of shape "
            f"{(len(output), fleet, nodes, nodes)}, and not Factors"
        )
    return pad(found, (0, padding, 0, padding, 0, unused), value=-torch.inf)


def _join(parts: Sequence[Tensor | Factors]) -> Tensor | Factors:
    """Concatenate the predictions for parts of a batch."""
    if isinstance(parts[0], Factors):
        return Factors(*(torch.cat(tables) for tables in zip(*parts, strict=True)))
    return torch.cat([part for part in parts if isinstance(part, Tensor)])


def _make_prediction(log_probs: Tensor | Factors, batch: Batch) -> Prediction:
    """Return a Prediction: log Ŷ or Factors, with the data that decoders need."""
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
