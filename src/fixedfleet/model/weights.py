"""Networks as files: safetensors with the configuration inside, never a pickle."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from fixedfleet.errors import InputError, require
from fixedfleet.files.atomic import replacing
from fixedfleet.model.network import ModelConfig, Network

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FORMAT",
    "MAX_BYTES",
    "SHIPPED",
    "StoredModel",
    "list_models",
    "load_model",
    "read_tensors",
    "save_model",
    "write_tensors",
]

FORMAT = "1"
MAX_BYTES = 16 * 2**20
SHIPPED = Path(__file__).parent / "shipped"
_KIND = "fixedfleet network"


@dataclass(frozen=True)
class StoredModel:
    """
    A network's file, described without reading its weights.

    Attributes
    ----------
    name, path
        The name to load it by, and where it lies.
    config
        What the network is made of.
    card
        How it was trained and what it reached, as written when it was saved.
    """

    name: str
    path: Path
    config: ModelConfig
    card: dict[str, Any]

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size


def save_model(
    network: Network,
    path: str | os.PathLike[str],
    *,
    card: Mapping[str, Any] | None = None,
    dtype: Literal["float16", "float32"] = "float16",
    limit: int | None = MAX_BYTES,
) -> None:
    """
    Write a network with its configuration, whole or not at all.

    Parameters
    ----------
    network
        The network.
    path
        Where to, usually ``….safetensors``.
    card
        Facts about the training and the results, anything JSON can hold.
    dtype
        Numbers of the file; ``float16`` halves it.
    limit
        Bytes the file may have at most; None for no bound.

    Raises
    ------
    InputError
        If the network is larger than ``limit`` or a weight is not finite.
    """
    kind = getattr(torch, dtype)
    tensors = {}
    for name, tensor in network.state_dict().items():
        tensors[name] = tensor.detach().to("cpu", kind).contiguous()
        if not torch.isfinite(tensors[name]).all():
            raise InputError(f"weight {name} is not finite in {dtype}: not saved")
    total = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    if limit is not None and total > limit:
        raise InputError(
            f"the network takes {total / 2**20:.1f} MiB in {dtype}, more than "
            f"{limit / 2**20:g} MiB: make it narrower or give no limit"
        )
    metadata = {
        "kind": _KIND,
        "format": FORMAT,
        "config": json.dumps(asdict(network.config)),
        "card": json.dumps(dict(card or {})),
    }
    write_tensors(path, tensors, metadata)


def load_model(
    name: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> Network:
    """
    Load a shipped network by name, or any by its path, ready to predict.

    Raises
    ------
    InputError
        If there is no such network, or the file is corrupt, of another version, or
        its weights do not fit its configuration.
    """
    path = _find(name)
    tensors, metadata = read_tensors(path)
    config, _ = _describe(path, metadata)
    network = Network(config)
    wanted = network.state_dict()
    for key in sorted(wanted.keys() | tensors.keys()):
        if key not in tensors or key not in wanted:
            what = "lacks" if key in wanted else "has an unknown"
            raise InputError(
                f"{path} {what} weight {key}: not a network of this version"
            )
        if tensors[key].shape != wanted[key].shape:
            raise InputError(
                f"{path}: weight {key} has shape {tuple(tensors[key].shape)}, but its "
                f"configuration wants {tuple(wanted[key].shape)}"
            )
    network.load_state_dict({key: value.float() for key, value in tensors.items()})
    return network.to(device).eval()


def list_models(folder: str | os.PathLike[str] | None = None) -> list[StoredModel]:
    """Describe the shipped networks, or those of another folder, sorted by name."""
    where = SHIPPED if folder is None else Path(folder)
    models = []
    for path in sorted(where.glob("*.safetensors")):
        config, card = _describe(path, read_metadata(path))
        models.append(StoredModel(path.stem, path, config, card))
    return models


def _find(name: str | os.PathLike[str]) -> Path:
    text = os.fspath(name)
    shipped = SHIPPED / f"{text}.safetensors"
    if Path(text).name == text and shipped.is_file():
        return shipped
    if Path(text).is_file():
        return Path(text)
    names = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.safetensors")))
    raise InputError(
        f"no network {text!r}: neither a file nor a shipped one "
        f"({names or 'none is shipped'})"
    )


def _describe(
    path: Path, metadata: Mapping[str, str]
) -> tuple[ModelConfig, dict[str, Any]]:
    """Read configuration and card from a file's metadata."""
    if metadata.get("kind") != _KIND:
        raise InputError(f"{path} is a safetensors file, but no fixedfleet network")
    if metadata.get("format") != FORMAT:
        raise InputError(
            f"{path} is a network of format {metadata.get('format')!r}; this version "
            f"reads format {FORMAT!r}"
        )
    try:
        settings = json.loads(metadata["config"])
        card = json.loads(metadata.get("card", "{}"))
        return ModelConfig.from_dict(settings), dict(card)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: its configuration is not readable: {error}"
        ) from None


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str],
) -> None:
    """Write tensors and text as one safetensors file, whole or not at all."""
    safetensors = require("safetensors.torch", "network", "saving a network")
    data = safetensors.save(dict(tensors), metadata=dict(metadata))
    with replacing(path) as file:
        file.write(data)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the text of a safetensors file, without its tensors."""
    safetensors = require("safetensors", "network", "loading a network")
    try:
        with safetensors.safe_open(os.fspath(path), framework="pt") as file:
            return dict(file.metadata() or {})
    except FileNotFoundError:
        raise InputError(f"no file {os.fspath(path)}") from None
    except safetensors.SafetensorError as error:
        raise InputError(
            f"{os.fspath(path)} is corrupt or no safetensors file: {error}"
        ) from None


def read_tensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the tensors and the text of a safetensors file."""
    metadata = read_metadata(path)
    safetensors = require("safetensors", "network", "loading a network")
    with safetensors.safe_open(os.fspath(path), framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, metadata  # noqa: SIM118
