"""The Attention Model as two starts for ``evaluate``: am-greedy and am-sampling."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from fixedfleet.errors import InputError, at_least, check_settings, require
from fixedfleet.evaluate.methods import METHODS
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["WEIGHTS_VARIABLE", "AttentionGreedy", "AttentionSampling", "Decoding"]

Decoding = Literal["greedy", "sampling"]

WEIGHTS_VARIABLE = "FIXEDFLEET_ATTENTION_MODEL"


@METHODS.register("am-greedy")
@dataclass(frozen=True, kw_only=True)
class AttentionGreedy:
    """
    Plans of the Attention Model of Kool et al., which has no bound on the fleet.

    Parameters
    ----------
    weights
        Folder of the published weights; by default the folder that the environment
        variable FIXEDFLEET_ATTENTION_MODEL names. If it holds folders ``cvrp_20``,
        ``cvrp_50``, …, the nearest in size is used.
    device
        Where to compute.
    batch
        Number of instances per call; 0 for the default.
    """

    decoding: ClassVar[Decoding] = "greedy"

    weights: str = field(default="", metadata={"short": None})
    device: Literal["cpu", "cuda"] = "cpu"
    batch: int = 0

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def on_gpu(self) -> bool:
        """Whether it computes on a GPU."""
        return self.device == "cuda"

    def check(self) -> None:
        """Raise an error unless PyTorch, the device and the weights are available."""
        require("torch", "network", "the Attention Model")
        from fixedfleet.model.devices import check_device

        check_device(self.device)
        self._model(20, "cpu")

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return a plan per instance, with any number of vehicles."""
        model = self._model(instances[0].num_customers, self.device)
        return list(model.solve_batch(InstanceBatch.of(instances), seed=seed))

    def _model(self, customers: int, device: str) -> Any:
        given = self.weights or os.environ.get(WEIGHTS_VARIABLE)
        if not given:
            raise InputError(
                "the Attention Model needs its weights: give weights=FOLDER, or set "
                f"{WEIGHTS_VARIABLE}"
            )
        samples = getattr(self, "samples", 1)
        return _load(Path(given), customers, self.decoding, samples, device)


@METHODS.register("am-sampling")
@dataclass(frozen=True, kw_only=True)
class AttentionSampling(AttentionGreedy):
    """
    The best of many plans that the Attention Model draws.

    Parameters
    ----------
    samples
        Number of plans to draw per instance.
    """

    decoding: ClassVar[Decoding] = "sampling"

    samples: Annotated[int, at_least(1)] = 1280


@functools.cache
def _load(
    weights: Path, customers: int, decoding: Decoding, samples: int, device: str
) -> Any:
    """Load the network for a size, once per process."""
    from experiments.attention_model.attention_model import AttentionModel
    from experiments.attention_model.attention_weights import nearest_folder

    if weights.is_dir() and any(weights.glob("cvrp_*")):
        weights = nearest_folder(customers, weights)
    return AttentionModel(weights, decoding=decoding, samples=samples, device=device)
