"""Plans from a network by its name: predict, decode, repair."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.instance import InstanceBatch
from fixedfleet.model import find_model, load_once
from fixedfleet.model.devices import check_device, required_bytes
from fixedfleet.plan import PlanBatch
from fixedfleet.planning.decoders import decode
from fixedfleet.planning.prediction import predict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.model import Network
    from fixedfleet.plan import Plan

__all__ = ["predicted_plan", "predicted_plans"]

# The memory that the instances predicted at a time may take, in bytes.
_BYTES = {"cpu": 2**30, "cuda": 2**33}
_MOST = 1024  # instances predicted at a time


def predicted_plan(instance: Instance, model: str = "auto") -> Plan:
    """Return the plan of one instance, as :func:`predicted_plans` does for many."""
    return predicted_plans(InstanceBatch.of([instance]), model)[0]


def predicted_plans(
    instances: InstanceBatch, model: str = "auto", *, device: str = "cpu"
) -> PlanBatch:
    """
    Plan instances by a network, without a search.

    Parameters
    ----------
    instances
        The instances, with coordinates; their sizes may differ.
    model
        The name of a shipped network, a path, or ``auto``: for each instance the
        network trained for the most similar number of customers.
    device
        Where to predict and decode: ``cpu``, ``cuda`` or ``cuda:1``.

    Returns
    -------
    PlanBatch
        Plans within fleet and capacity; they may leave customers out.

    Raises
    ------
    InputError
        If an instance has no coordinates, or there is no such network or device.
    """
    kind = check_device(device).type
    for row in np.flatnonzero(~instances.euclidean):
        if not instances[row].has_coordinates:
            raise InputError(
                f"instance {row} has a distance matrix and no coordinates: a network "
                "needs coordinates"
            )
    parts = []
    for path, group in _by_network(instances, model):
        network = load_once(path, device)
        for rows in _portions(instances, group, network, _BYTES[kind]):
            decoded = decode(predict(instances[rows], network))
            parts.append((rows, decoded.plans().routes))
    return PlanBatch.gather(len(instances), parts)


def _by_network(
    instances: InstanceBatch, model: str
) -> Iterator[tuple[Path, NDArray[np.int64]]]:
    """Yield networks with the rows of their instances, smaller instances first."""
    files = {n: find_model(model, n) for n in np.unique(instances.sizes).tolist()}
    order = np.argsort(instances.sizes, kind="stable")
    groups = itertools.groupby(order, key=lambda row: files[int(instances.sizes[row])])
    for path, rows in groups:
        yield path, np.array(list(rows))


def _portions(
    instances: InstanceBatch, rows: NDArray[np.int64], network: Network, memory: int
) -> Iterator[NDArray[np.int64]]:
    """Split rows into portions that fit into the memory."""
    nodes = int(instances.sizes[rows].max()) + 1
    fleet = int(instances.vehicles[rows].max())
    need = required_bytes(network.config, 1, nodes, fleet)
    count = min(_MOST, max(1, memory // need))
    for begin in range(0, len(rows), count):
        yield rows[begin : begin + count]
