"""Write and read checkpoints of a training; read weights to start a training from."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from fixedfleet.errors import InputError
from fixedfleet.model.plan_network import NETWORKS
from fixedfleet.model.weights import load_model, read_tensors, write_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from fixedfleet.training.presets import Preset

__all__ = [
    "CHECKPOINT",
    "CHECKPOINT_FORMAT",
    "Position",
    "read_checkpoint",
    "read_weights",
    "write_checkpoint",
]

CHECKPOINT = "checkpoint.safetensors"
CHECKPOINT_FORMAT = 1
_KIND = "fixedfleet checkpoint"
# Settings that may change when a training is resumed: they do not affect single steps.
_FREE = {"epochs", "minutes", "steps", "validate_every", "compile"}


@dataclass(frozen=True)
class Position:
    """
    The progress of a training, as a checkpoint records it.

    The random numbers of an epoch only depend on the seed and on the number of the
    epoch. So the state of a random generator need not be saved.

    Attributes
    ----------
    epoch, step
        The number of epochs done, and of steps done within the current epoch.
    seconds
        The time that all steps so far have taken, in seconds.
    seed
        The seed of the training.
    fingerprint
        The fingerprint of the labels.
    weights
        The network that the training started from; None for random weights.
    losses
        The sums of the losses over the steps of the current epoch; empty in checkpoints
        of older versions.
    """

    epoch: int
    step: int
    seconds: float
    seed: int
    fingerprint: str
    weights: str | None = None
    losses: Sequence[float] = ()


def write_checkpoint(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    position: Position,
    preset: Preset,
) -> None:
    """
    Write a checkpoint: the tensors of a training, its progress and its settings.

    ``tensors`` are those of :meth:`Stepper.tensors`.
    """
    metadata = {
        "kind": _KIND,
        "format": str(CHECKPOINT_FORMAT),
        "torch": str(torch.__version__),
        "position": json.dumps(asdict(position)),
        "preset": json.dumps({"name": preset.name, **preset.to_dict()}),
    }
    own = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_tensors(path, own, metadata)


def read_checkpoint(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    preset: Preset,
    *,
    seed: int,
    fingerprint: str,
) -> tuple[dict[str, Tensor], Position]:
    """
    Return the tensors and the progress that a checkpoint holds.

    ``tensors``, ``preset``, ``seed`` and ``fingerprint`` describe the training that is
    to continue from the checkpoint.

    Raises
    ------
    InputError
        If the file is corrupt or of another version, if it lacks one of ``tensors`` or
        has another shape for it, or if it was made with other settings, another seed or
        other labels.
    """
    stored, metadata = read_tensors(path)
    if metadata.get("kind") != _KIND:
        raise InputError(f"{path} is not the checkpoint of a training")
    if metadata.get("format") != str(CHECKPOINT_FORMAT):
        raise InputError(
            f"{path} is a checkpoint of format {metadata.get('format')!r}; this "
            f"version reads format {CHECKPOINT_FORMAT}"
        )
    try:
        position = Position(**json.loads(metadata["position"]))
        settings = json.loads(metadata["preset"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: its settings are not readable: {error}") from None
    _compare_settings(path, settings, preset)
    for what, mine, theirs in (
        ("seed", seed, position.seed),
        ("labels' fingerprint", fingerprint, position.fingerprint),
    ):
        if mine != theirs:
            raise InputError(
                f"{path} was made with {what} {theirs}, this training has {mine}: "
                f"resume with the same {what}"
            )
    for name, tensor in tensors.items():
        if name not in stored or stored[name].shape != tensor.shape:
            found = tuple(stored[name].shape) if name in stored else "nothing"
            raise InputError(
                f"{path} holds {found} for {name}, not shape {tuple(tensor.shape)}: a "
                "checkpoint of another size"
            )
    return stored, position


def read_weights(source: str | os.PathLike[str], preset: Preset) -> dict[str, Tensor]:
    """
    Return the weights of a network to start from, by name.

    The names are those of :meth:`Stepper.tensors`. ``source`` is the network's file, or
    the name of a shipped network.

    Raises
    ------
    InputError
        If there is no such network, if its file is corrupt, or if its class or settings
        differ from those of the preset.
    """
    network = load_model(source)
    theirs, mine = asdict(network.config), asdict(preset.model)
    if type(network) is not NETWORKS.get(preset.network):
        raise InputError(
            f"{os.fspath(source)} is a {type(network).__name__}, this training has "
            f"model.name = {preset.network!r}: start from a network of the same class"
        )
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise InputError(
                f"{os.fspath(source)} is a network of model.{name} = "
                f"{theirs.get(name)!r}, this training has {value!r}: start from a "
                "network with the same settings"
            )
    return {
        f"{kind}.{name}": tensor
        for kind in ("model", "average")
        for name, tensor in network.state_dict().items()
    }


def _compare_settings(
    path: str | os.PathLike[str], settings: Mapping[str, Any], preset: Preset
) -> None:
    """
    Raise InputError if the settings in a checkpoint differ from those of the preset.
    """
    mine = preset.to_dict()
    for table in ("model", "loss", "training"):
        theirs = settings.get(table, {})
        for name, value in mine[table].items():
            if name not in _FREE and theirs.get(name) != value:
                raise InputError(
                    f"{path} was made with {table}.{name} = {theirs.get(name)!r}, this "
                    f"training has {value!r}: resume with the same settings"
                )
