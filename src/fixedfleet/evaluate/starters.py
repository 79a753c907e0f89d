"""What makes a first plan: constructions, our network, the Attention Model."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fixedfleet.errors import InputError, require
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import InstanceBatch
from fixedfleet.search import better

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.planning import RepairMethod
    from fixedfleet.search.construct import StartName
    from fixedfleet.solvers.attention_model import AttentionModel, Decoding

__all__ = [
    "WEIGHTS_VARIABLE",
    "AttentionStart",
    "NamedStart",
    "NetworkStart",
    "Starter",
]

WEIGHTS_VARIABLE = "FIXEDFLEET_ATTENTION_MODEL"


class Starter(Protocol):
    """Makes plans that may leave customers out, or use more vehicles than there are."""

    def check(self) -> None:
        """Raise MissingPackageError or InputError if it cannot run here."""

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return a plan for each instance, None where it has none at all."""


@dataclass(frozen=True)
class NamedStart:
    """
    A construction of :mod:`fixedfleet.search.construct`.

    Parameters
    ----------
    name
        ``packing``, ``savings`` or ``sweep``.
    guarantee
        Whether the packing may be into more vehicles than there are.
    """

    name: StartName
    guarantee: bool = False

    def check(self) -> None:
        """Nothing is missing."""

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return a plan for each instance, None where it has none at all."""
        return [self._plan(instance) for instance in instances]

    def _plan(self, instance: Instance) -> Plan | None:
        from fixedfleet.search.construct import savings, sweep

        if self.name == "savings":
            return savings(instance)
        if self.name == "sweep":
            return sweep(instance)
        verdict = assess_fleet(instance)
        return verdict.smallest_packing if self.guarantee else verdict.packing


@dataclass(frozen=True, kw_only=True)
class NetworkStart:
    """
    A network's prediction, decoded and repaired.

    Parameters
    ----------
    model
        A shipped network's name, a path, or ``auto``: the nearest in size.
    decoding
        ``greedy``, ``membership``, or ``beam`` with the beam's width, as ``beam20``.
    repair
        How customers left out are put back.
    symmetries
        Predict each instance under so many of the square's symmetries and keep the
        best plan.
    guarantee
        Whether the repair may open tours beyond the fleet.
    device
        Where to predict.
    """

    model: str = "auto"
    decoding: str = "membership"
    repair: RepairMethod = "room"
    symmetries: int = 1
    guarantee: bool = False
    device: str = "cpu"

    def check(self) -> None:
        """See that PyTorch, the device and the network are there."""
        _require_torch("the method 'network'", self.device)
        require("safetensors", "network", "the method 'network'")
        if self.model != "auto":
            from fixedfleet.model import load_once

            load_once(self.model)

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return a plan for each instance; it may leave customers out."""
        from fixedfleet.model import load_once
        from fixedfleet.planning import RepairOptions, decode, predict_views

        if not all(instance.has_coordinates for instance in instances):
            raise InputError("a network needs coordinates, not a distance matrix")
        network = load_once(self.file(instances[0].num_customers), self.device)
        repair = RepairOptions(self.repair, self.guarantee)
        best: list[Plan] | None = None
        batch = InstanceBatch.of(instances)
        for prediction in predict_views(network, batch, self.symmetries):
            found = list(decode(prediction, self.decoding, repair).plans())
            best = found if best is None else _best(instances, best, found)
        return list(best or [])

    def file(self, customers: int) -> Path:
        """Return the file of its network for a size."""
        require("torch", "network", "the method 'network'")
        from fixedfleet.model import find_model

        return find_model(self.model, customers)


@dataclass(frozen=True, kw_only=True)
class AttentionStart:
    """
    The Attention Model of Kool et al., which knows no bound on the fleet.

    Parameters
    ----------
    decoding
        ``greedy`` or ``sampling``.
    weights
        Folder of its published weights, or None for the one that the environment
        variable FIXEDFLEET_ATTENTION_MODEL names. Where it holds folders ``cvrp_20``,
        …, the nearest in size is taken.
    samples
        Plans drawn, of which ``sampling`` keeps the best.
    device
        Where to compute.
    """

    decoding: Decoding = "greedy"
    weights: str | None = None
    samples: int = 1280
    device: str = "cpu"

    def check(self) -> None:
        """See that PyTorch, the device and the weights are there."""
        _require_torch("the Attention Model", self.device)
        _attention_model(self._weights(), 20, self.decoding, self.samples, "cpu")

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return a plan for each instance, with as many vehicles as it likes."""
        customers = instances[0].num_customers
        model = _attention_model(
            self._weights(), customers, self.decoding, self.samples, self.device
        )
        if len(instances) == 1:
            return [model.solve(instances[0], time_limit=math.inf, seed=seed)]
        return list(model.solve_batch(stack(instances), seed=seed))

    def _weights(self) -> Path:
        given = self.weights or os.environ.get(WEIGHTS_VARIABLE)
        if not given:
            raise InputError(
                "the Attention Model needs its weights: give weights=FOLDER, or set "
                f"{WEIGHTS_VARIABLE}"
            )
        return Path(given)


def stack(instances: Sequence[Instance]) -> InstanceBatch:
    """Put instances of equal size with Euclidean distances into arrays."""
    for instance in instances:
        if (instance.metric, instance.rounding) != ("euclidean", "none"):
            raise InputError(
                f"{instance.name} has {instance.metric} distances, rounding "
                f"{instance.rounding}: it cannot be planned in a batch, give batch=1"
            )
    return InstanceBatch(
        depots=np.array([instance.depot for instance in instances]),
        customers=np.array([instance.customers for instance in instances]),
        demands=np.array([instance.demands for instance in instances]),
        capacity=[instance.capacity for instance in instances],
        vehicles=[instance.vehicles for instance in instances],
    )


def _best(
    instances: Sequence[Instance], known: list[Plan], found: list[Plan]
) -> list[Plan]:
    return [
        better(instance, new, old, 0.0)
        for instance, old, new in zip(instances, known, found, strict=True)
    ]


def _require_torch(purpose: str, device: str) -> None:
    require("torch", "network", purpose)
    from fixedfleet.model.devices import check_device

    check_device(device)


@functools.cache
def _attention_model(
    weights: Path, customers: int, decoding: Decoding, samples: int, device: str
) -> AttentionModel:
    from fixedfleet.solvers.attention_model import AttentionModel, attention_model_for

    if weights.is_dir() and any(weights.glob("cvrp_*")):
        return attention_model_for(
            customers, weights, decoding=decoding, samples=samples, device=device
        )
    return AttentionModel(weights, decoding=decoding, samples=samples, device=device)
