"""Starts, which make the first plans of a method by a heuristic or by a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fixedfleet.errors import at_least, between, check_settings, require
from fixedfleet.evaluate.methods import Answer, Start
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import Plan
from fixedfleet.search.construct import savings, sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance

__all__ = [
    "NetworkStart",
    "NoStart",
    "PackingStart",
    "SavingsStart",
    "SweepStart",
    "first_answers",
]


@dataclass(frozen=True)
class NoStart(Start):
    """The start of an outside solver that needs no first plan: it makes none."""

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return None for each instance, because no first plan is needed."""
        return [None for _ in instances]


@dataclass(frozen=True, kw_only=True)
class _Construction(Start):
    """
    The base class of starts that construct plans by a heuristic.

    Parameters
    ----------
    decoded
        Whether to replace the tours of the heuristic: only its assignment of customers
        to vehicles is kept, and membership decoding makes new tours from it. The
        resulting plans show how much of a network's result is due to decoding alone.
    """

    decoded: bool = False

    def check(self) -> None:
        """Raise MissingPackageError if PyTorch is needed and missing."""
        if self.decoded:
            require("torch", "network", "decoded=yes")

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return one plan per instance; None if the heuristic found no plan."""
        found = [self._construct(instance) for instance in instances]
        if not self.decoded:
            return found
        from fixedfleet.planning import certain_prediction, decode

        assigned = [plan or Plan([]) for plan in found]
        prediction = certain_prediction(InstanceBatch.of(instances), assigned)
        return list(decode(prediction))

    def _construct(self, instance: Instance) -> Plan | None:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class PackingStart(_Construction):
    """
    Plans that pack the demands into the vehicles, whatever the distances.

    A packing within the fleet proves that the fleet is large enough.

    Parameters
    ----------
    guarantee
        Whether the packing may use more vehicles than the fleet has.
    """

    guarantee: bool = False

    def _construct(self, instance: Instance) -> Plan | None:
        verdict = assess_fleet(instance)
        return verdict.smallest_packing if self.guarantee else verdict.packing


class SavingsStart(_Construction):
    """Plans by the savings heuristic of Clarke and Wright."""

    def _construct(self, instance: Instance) -> Plan | None:
        return savings(instance)


class SweepStart(_Construction):
    """
    Plans by the sweep heuristic, which takes customers by their angle around the depot.
    """

    def _construct(self, instance: Instance) -> Plan | None:
        return sweep(instance)


def _file_name(model: str) -> str:
    """
    Return the name of a network for rows: the name of its file, without the ending.

    For a file such as ``runs/a/model.safetensors``, it is the name of the folder,
    ``a``.
    """
    path = Path(model)
    return path.parent.name or path.stem if path.stem == "model" else path.stem


@dataclass(frozen=True, kw_only=True)
class NetworkStart:
    """
    Plans by a network: predicted, decoded and repaired.

    Parameters
    ----------
    model
        The name of a shipped network, or the path of a network's file.
    decoding
        A decoder: ``greedy``, ``authors``, ``edges``, ``membership``, ``beam20``, …;
        see :func:`fixedfleet.planning.get_decoder`.
    repair
        How unserved customers are inserted after decoding; see
        :class:`fixedfleet.planning.RepairOptions`.
    symmetries
        Predict each instance under this many of the square's eight symmetries and keep
        the best plan.
    passes
        How often groups of neighbouring tours are planned again by the network.
    guarantee
        Whether the repair may add tours beyond the fleet.
    device
        Where to predict.
    precision
        Precision of the network's matrix products; for ``default`` see
        :func:`fixedfleet.predict`.
    batch
        Number of instances per call; 0 for the default.
    """

    model: str = field(default="universal", metadata={"short": _file_name})
    decoding: str = "membership"
    repair: Literal["none", "paper", "likeliest", "room"] = "room"
    symmetries: Annotated[int, between(1, 8)] = 1
    passes: Annotated[int, at_least(0)] = 0
    guarantee: bool = False
    device: Literal["cpu", "cuda"] = "cpu"
    precision: Literal["default", "bf16", "fp32"] = "default"
    batch: int = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if find_spec("torch") is not None:  # else `check` reports what is missing
            from fixedfleet.planning import get_decoder

            get_decoder(self.decoding)

    @property
    def on_gpu(self) -> bool:
        """Whether the network predicts on a GPU."""
        return self.device == "cuda"

    def check(self) -> None:
        """Raise an error unless PyTorch, the device and the network are available."""
        for package in ("torch", "safetensors"):
            require(package, "network", "the method 'network'")
        from fixedfleet.model import load_once
        from fixedfleet.model.devices import check_device

        check_device(self.device)
        load_once(self.model)

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return one plan per instance; plans may leave customers unserved."""
        return [answer.plan for answer in self.answers(instances, seed)]

    def answers(self, instances: Sequence[Instance], _seed: int) -> list[Answer]:
        """
        Return the plans as answers whose details say how they were made.

        The details are the seconds of each step, and the numbers of customers that the
        decoder left unserved.
        """
        from fixedfleet.planning import RepairOptions, plan_by_network

        found = plan_by_network(
            InstanceBatch.of(instances),
            self.model,
            device=self.device,
            decoding=self.decoding,
            repair=RepairOptions(self.repair, self.guarantee),
            symmetries=self.symmetries,
            passes=self.passes,
            precision=None if self.precision == "default" else self.precision,
        )
        shares = {part: time / len(instances) for part, time in found.seconds.items()}
        facts = shares | {"bits": found.bits}
        left = zip(found.left_early.tolist(), found.left_full.tolist(), strict=True)
        return [
            Answer(plan, details=facts | {"left_early": early, "left_full": full})
            for plan, (early, full) in zip(found.plans, left, strict=True)
        ]

    def network(self) -> Path:
        """Return the file of the network that this start uses."""
        require("torch", "network", "the method 'network'")
        from fixedfleet.model import find_model

        return find_model(self.model)


def first_answers(
    start: Start, instances: Sequence[Instance], seed: int
) -> list[Answer]:
    """
    Return the plans of a start as answers, with details if the start reports details.
    """
    if hasattr(start, "answers"):
        found: list[Answer] = start.answers(instances, seed)
        return found
    return [Answer(plan) for plan in start.plans(instances, seed)]
