"""What a training begins from: its checkpoint, whole or not at all, or weights."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from fixedfleet.errors import InputError
from fixedfleet.model.weights import load_model, read_tensors, write_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from fixedfleet.model.config import ModelConfig
    from fixedfleet.training.presets import Preset

__all__ = [
    "CHECKPOINT_FORMAT",
    "Position",
    "read_checkpoint",
    "read_weights",
    "write_checkpoint",
]

CHECKPOINT_FORMAT = 1
_KIND = "fixedfleet checkpoint"
# These may change when a training goes on: they say how long and how often, not what.
_FREE = {"epochs", "validate_every", "compile", "graph"}


@dataclass(frozen=True)
class Position:
    """
    Where a training stands. Every epoch has a generator of its own, seeded by
    (seed, epoch), so this is the generators' state too.

    Attributes
    ----------
    epoch, step
        Epochs done, and steps done within the current one.
    seconds
        Time spent in steps so far.
    seed
        The training's seed.
    fingerprint
        That of the labels.
    weights
        The network it began with; None where its weights were random.
    """

    epoch: int
    step: int
    seconds: float
    seed: int
    fingerprint: str
    weights: str | None = None


def write_checkpoint(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    position: Position,
    preset: Preset,
) -> None:
    """Write network, optimiser, average, position and settings."""
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
    Read a checkpoint and check that this training can go on from it.

    Parameters
    ----------
    path
        The checkpoint.
    tensors
        The state to be replaced: what names and shapes there must be.
    preset, seed, fingerprint
        This training's settings, seed and labels.

    Raises
    ------
    InputError
        If the file is corrupt, of another version or size, or was made with other
        settings, another seed or other labels.
    """
    stored, metadata = read_tensors(path)
    if metadata.get("kind") != _KIND:
        raise InputError(f"{path} is no checkpoint of a training")
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
    _check_settings(path, settings, preset)
    for what, mine, theirs in (
        ("seed", seed, position.seed),
        ("labels' fingerprint", fingerprint, position.fingerprint),
    ):
        if mine != theirs:
            raise InputError(
                f"{path} was made with {what} {theirs}, this training has {mine}: "
                "resume with the same"
            )
    for name, tensor in tensors.items():
        if name not in stored or stored[name].shape != tensor.shape:
            found = tuple(stored[name].shape) if name in stored else "nothing"
            raise InputError(
                f"{path} holds {found} for {name}, not shape {tuple(tensor.shape)}: a "
                "checkpoint of another size"
            )
    return stored, position


def read_weights(
    source: str | os.PathLike[str], config: ModelConfig
) -> dict[str, Tensor]:
    """
    Read the weights of a network to begin a training with, as the stepper names them.

    Parameters
    ----------
    source
        The network's file, or the name of a shipped one.
    config
        The configuration it must have.

    Raises
    ------
    InputError
        If there is no such network, its file is corrupt or its configuration another.
    """
    network = load_model(source)
    theirs, mine = asdict(network.config), asdict(config)
    for name, value in mine.items():
        if theirs[name] != value:
            raise InputError(
                f"{os.fspath(source)} is a network of model.{name} = {theirs[name]!r}, "
                f"this training has {value!r}: begin with a network of the same"
            )
    return {
        f"{kind}.{name}": tensor
        for kind in ("model", "average")
        for name, tensor in network.state_dict().items()
    }


def _check_settings(
    path: str | os.PathLike[str], settings: Mapping[str, Any], preset: Preset
) -> None:
    mine = preset.to_dict()
    for table in ("model", "loss", "training"):
        theirs = settings.get(table, {})
        for name, value in mine[table].items():
            if name not in _FREE and theirs.get(name) != value:
                raise InputError(
                    f"{path} was made with {table}.{name} = {theirs.get(name)!r}, this "
                    f"training has {value!r}: resume with the same settings"
                )
