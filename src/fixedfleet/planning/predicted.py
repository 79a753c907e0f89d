"""A plan straight from a shipped network: predict, decode, repair."""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.model import list_models, load_model, predict
from fixedfleet.planning import MembershipOptions, decode, to_plans

if TYPE_CHECKING:
    from torch import Tensor

    from fixedfleet.instance import Instance
    from fixedfleet.model import Batch, Network
    from fixedfleet.plan import Plan
    from fixedfleet.planning import Decoded, Method
    from fixedfleet.planning.repair import Repair

__all__ = ["decode_predicted", "nearest_model", "predicted_plan"]


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
    network = _load(nearest_model(instance.num_customers) if model == "auto" else model)
    log_probs, batch = predict(network, instance)
    return to_plans(decode_predicted(network, log_probs, batch))[0]


def decode_predicted(
    network: Network,
    log_probs: Tensor,
    batch: Batch,
    *,
    method: Method = "membership",
    repair: Repair = "room",
) -> Decoded:
    """Decode and repair what a network predicted for a batch, as suits the network."""
    options = None
    if method == "membership":
        options = MembershipOptions.suited_to(network.config.normalisation)
    return decode(
        log_probs,
        batch.units,
        batch.capacity,
        coordinates=batch.features.coordinates,
        customers=batch.features.nodes,
        vehicles=batch.features.vehicles,
        method=method,
        repair=repair,
        options=options,
    )


@functools.cache
def _load(name: str) -> Network:
    return load_model(name)
