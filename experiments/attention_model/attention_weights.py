"""The published weights of the Attention Model: find, read and check them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from experiments.attention_model.attention_network import AttentionNetwork, Settings
from fixedfleet.errors import InputError
from fixedfleet.model.weights import check_weights

if TYPE_CHECKING:
    import os

__all__ = ["nearest_folder", "read_network"]

# What the arguments of this network say; others are refused before reading weights.
_KIND = {"problem": "cvrp", "model": "attention", "normalization": "batch"}
# This counter is for training only, and old files do not have it.
_COUNTER = "num_batches_tracked"


def nearest_folder(customers: int, folder: str | os.PathLike[str]) -> Path:
    """Return the folder nearest in size among ``cvrp_20``, ``cvrp_50``, …"""
    found = {}
    for path in Path(folder).glob("cvrp_*"):
        if (size := re.fullmatch(r"cvrp_(\d+)", path.name)) and path.is_dir():
            found[int(size[1])] = path
    if not found:
        raise InputError(
            f"{folder} holds no folders cvrp_20, cvrp_50, … with weights of the "
            "Attention Model"
        )
    return found[min(found, key=lambda size: (abs(size - customers), -size))]


def read_network(path: str | os.PathLike[str]) -> AttentionNetwork:
    """
    Read a network from its weights and the file ``args.json`` beside them.

    Nothing but tensors and plain containers is unpickled.

    Parameters
    ----------
    path
        A file ``epoch-….pt``, or its folder, of which the last epoch is read.

    Raises
    ------
    InputError
        If a file is missing, corrupt, of another problem or of other shapes.
    """
    file = _find(Path(path))
    settings = _settings(file.with_name("args.json"))
    weights = _weights(file)
    # On the meta device: no memory is used until the shapes are known to be right.
    with torch.device("meta"):
        network = AttentionNetwork(settings)
    wanted = {k: v for k, v in network.state_dict().items() if _COUNTER not in k}
    check_weights(file, weights, wanted)
    for key, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise InputError(f"{file}: weight {key} is not finite")
    network.to_empty(device="cpu").load_state_dict(weights)
    return network.eval()


def _find(path: Path) -> Path:
    if path.is_dir():
        epochs = {
            int(epoch[1]): file
            for file in path.glob("epoch-*.pt")
            if (epoch := re.fullmatch(r"epoch-(\d+)\.pt", file.name))
        }
        if not epochs:
            raise InputError(
                f"{path} holds no weights epoch-….pt: give a folder such as cvrp_50 "
                "of the published ones"
            )
        return epochs[max(epochs)]
    if not path.is_file():
        raise InputError(f"no file or folder {path} with weights of an Attention Model")
    return path


def _settings(path: Path) -> Settings:
    """Read the arguments of the training."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        for name, value in _KIND.items():
            if given[name] != value:
                raise InputError(f"{name} is {given[name]!r}, not {value!r}")
        return Settings(
            customers=given["graph_size"],
            width=given["embedding_dim"],
            layers=given["n_encode_layers"],
            clipping=given["tanh_clipping"],
        )
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except KeyError as error:
        raise InputError(f"{path} does not say {error.args[0]!r}") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} describes no Attention Model: {error}") from None


def _weights(path: Path) -> dict[str, Tensor]:
    """Read the model's tensors, whatever else of the training the file holds."""
    try:
        stored: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle can fail in any way
        raise InputError(
            f"{path} is corrupt, or holds more than tensors and numbers "
            f"({type(error).__name__})"
        ) from None
    weights = stored.get("model") if isinstance(stored, dict) else None
    if not isinstance(weights, dict) or not all(
        isinstance(key, str) and isinstance(value, Tensor) and value.is_floating_point()
        for key, value in weights.items()
        if _COUNTER not in str(key)
    ):
        raise InputError(f"{path} holds no weights under the name 'model'")
    return {k: v.float() for k, v in weights.items() if _COUNTER not in k}
