"""Plans straight from a shipped network: predict, decode, repair."""

from __future__ import annotations

import functools
import itertools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
import torch

from fixedfleet.errors import InputError, check_whole
from fixedfleet.model import list_models, load_model, predict, symmetry
from fixedfleet.model.predict import required_bytes
from fixedfleet.plan import PlanBatch
from fixedfleet.planning import BeamOptions, MembershipOptions, decode, to_plans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.model import Batch, Network
    from fixedfleet.plan import Plan
    from fixedfleet.planning import Decoded, Method
    from fixedfleet.planning.repair import Repair

__all__ = [
    "Precision",
    "check_device",
    "decode_predicted",
    "load_network",
    "nearest_model",
    "network_file",
    "precision_on",
    "predicted_plan",
    "predicted_plans",
    "views",
]

Precision = Literal["bf16", "fp32"]

_BYTES = {"cpu": 2**30, "cuda": 2**33}  # that instances at a time may take
_MOST = 1024  # instances at a time


def nearest_model(customers: int) -> str:
    """
    Name of the shipped network trained for the most similar number of customers.

    Shipped networks are named after it: ``vrp50`` was trained for 50.
    """
    sizes = {
        model.name: int(size[1])
        for model in list_models()
        if (size := re.fullmatch(r"vrp(\d+)", model.name))
    }
    if not sizes:
        raise InputError("no network is shipped: give one by its path")
    return min(sizes, key=lambda name: abs(math.log(sizes[name] / customers)))


@functools.cache
def network_file(model: str, customers: int) -> Path:
    """
    Return the file of the network that a name stands for.

    Parameters
    ----------
    model
        A shipped network's name, a file's path, or ``auto``: the nearest in size.
    customers
        The size it is wanted for.

    Raises
    ------
    InputError
        If there is no such network.
    """
    name = nearest_model(customers) if model == "auto" else model
    for shipped in list_models():
        if shipped.name == name:
            return shipped.path
    if not Path(name).is_file():
        raise InputError(f"no network {name!r}: neither a file nor a shipped one")
    return Path(name)


def precision_on(device: str | torch.device) -> Precision:
    """Return the usual precision of matrix products: bf16 on a GPU, fp32 elsewhere."""
    return "bf16" if torch.device(device).type == "cuda" else "fp32"


def predicted_plan(instance: Instance, model: str = "auto") -> Plan:
    """
    Plan an instance by a network alone: membership decoding, then repair.

    Parameters
    ----------
    instance
        The instance; it must have coordinates.
    model
        A shipped network's name, a file's path, or ``auto``: the nearest in size.

    Returns
    -------
    Plan
        Within fleet and capacity; it may leave customers out.
    """
    if not instance.has_coordinates:
        raise InputError("the network start needs coordinates, not a distance matrix")
    network = load_network(
        nearest_model(instance.num_customers) if model == "auto" else model
    )
    log_probs, batch = predict(network, instance)
    return to_plans(decode_predicted(network, log_probs, batch))[0]


def predicted_plans(
    instances: InstanceBatch,
    model: str = "auto",
    *,
    device: str = "cpu",
    batch_size: int | None = None,
    precision: Precision | None = None,
) -> PlanBatch:
    """
    Plan many instances by a network alone: membership decoding, then repair.

    Parameters
    ----------
    instances
        The instances, with coordinates.
    model
        A shipped network's name, a file's path, or ``auto``: for each instance the
        nearest in size.
    device
        Where to predict and decode: ``cpu``, ``cuda`` or ``cuda:1``.
    batch_size
        Instances at a time. Default: what a moderate memory takes.
    precision
        Of the network's matrix products: ``bf16`` or ``fp32``. Default: bf16 on a
        GPU, fp32 elsewhere.

    Returns
    -------
    PlanBatch
        A plan for each, within fleet and capacity; some may leave customers out.

    Raises
    ------
    InputError
        If an instance has no coordinates, or there is no such device.
    """
    kind = check_device(device).type
    if batch_size is not None:
        check_whole("batch_size", batch_size, least=1)
    if precision is None:
        precision = precision_on(kind)
    if precision not in get_args(Precision):
        raise InputError(f"precision is {precision!r}, not bf16 or fp32")
    parts = []
    for name, group in _by_network(instances, model):
        network = load_network(name, device)
        for rows in _portions(instances, group, network, kind, batch_size):
            some = instances[rows]
            with torch.autocast(kind, torch.bfloat16, enabled=precision == "bf16"):
                log_probs, batch = predict(network, some)
            plans = to_plans(decode_predicted(network, log_probs, batch))
            parts.append((rows, plans.routes))
    return PlanBatch.gather(len(instances), parts)


def check_device(device: str) -> torch.device:
    """Refuse a device that torch does not know or has not got."""
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in _BYTES:
        raise InputError(f"device is {device!r}, not cpu, cuda or cuda:1")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"device {device!r} was asked for, and torch finds "
            f"{torch.cuda.device_count()} GPUs"
        )
    return found


def _by_network(
    instances: InstanceBatch, model: str
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield networks and the rows they are for, smaller instances first."""
    for row in np.flatnonzero(~instances.euclidean):
        if not instances[row].has_coordinates:
            raise InputError(
                f"instance {row} has a distance matrix and no coordinates, which the "
                "network needs"
            )
    names = {n: nearest_model(n) for n in np.unique(instances.sizes).tolist()}

    def network_of(row: np.int64) -> str:
        return names[int(instances.sizes[row])] if model == "auto" else model

    order = np.argsort(instances.sizes, kind="stable")
    for name, some in itertools.groupby(order, key=network_of):
        yield name, np.array(list(some))


def _portions(
    instances: InstanceBatch,
    rows: NDArray[np.int64],
    network: Network,
    kind: str,
    batch_size: int | None,
) -> Iterator[NDArray[np.int64]]:
    """Cut rows, smaller instances first, into as many as fit at a time."""
    if batch_size is None:
        nodes = int(instances.sizes[rows].max()) + 1
        fleet = int(instances.vehicles[rows].max())
        need = required_bytes(network.config, 1, nodes, fleet)
        batch_size = min(_MOST, max(1, _BYTES[kind] // need))
    for begin in range(0, len(rows), batch_size):
        yield rows[begin : begin + batch_size]


def views(
    network: Network, batch: Batch, symmetries: int, precision: str
) -> Iterator[tuple[Tensor, Batch]]:
    """
    Predict a batch under the first so many of the square's symmetries.

    Matrix products are in bfloat16 if the precision is ``bf16``.

    Yields
    ------
    tuple
        log Ŷ, and the batch as the network saw it, as decoding wants it.
    """
    features, low = batch.features, precision == "bf16"
    kind = features.nodes.device.type
    for code in range(symmetries):
        codes = torch.full((len(features.nodes),), code, device=features.nodes.device)
        turned = features._replace(coordinates=symmetry(features.coordinates, codes))
        with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=low):
            log_probs = network(turned)
        yield log_probs, batch._replace(features=turned)


def decode_predicted(
    network: Network,
    log_probs: Tensor,
    batch: Batch,
    *,
    method: str = "membership",
    repair: Repair | Literal["none"] = "room",
    guarantee: bool = False,
) -> Decoded:
    """
    Decode and repair what a network predicted for a batch, as suits the network.

    Parameters
    ----------
    network, log_probs, batch
        What predicted, what came out, and for what.
    method, repair, guarantee
        As :func:`fixedfleet.planning.decode` takes them; ``beam20`` is a beam search
        of that width.
    """
    options: MembershipOptions | BeamOptions | None = None
    if beam := re.fullmatch(r"beam(\d+)", method):
        method, options = "beam", BeamOptions(int(beam[1]))
    elif method == "membership":
        options = MembershipOptions.suited_to(network.config.normalisation)
    return decode(
        log_probs,
        batch.units,
        batch.capacity,
        coordinates=batch.features.coordinates,
        customers=batch.features.nodes,
        vehicles=batch.features.vehicles,
        method=cast("Method", method),
        repair=repair,
        guarantee=guarantee,
        options=options,
    )


@functools.cache
def load_network(name: str, device: str = "cpu") -> Network:
    """Load a shipped network by its name, or another by its path, once."""
    return load_model(name, device)
