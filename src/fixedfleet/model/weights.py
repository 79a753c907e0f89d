"""Networks as files: safetensors with the configuration inside, never a pickle."""

from __future__ import annotations

import functools
import json
import logging
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from fixedfleet.errors import InputError, known_settings, require
from fixedfleet.files.atomic import replacing
from fixedfleet.model.devices import keep_freed_memory
from fixedfleet.model.network import ModelConfig, Network
from fixedfleet.model.normalise import NORMALISATIONS
from fixedfleet.model.universal import UniversalConfig, UniversalNetwork
from fixedfleet.registry import source_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fixedfleet.model.devices import Precision

__all__ = [
    "DEFAULT_MODEL",
    "FORMAT",
    "SHIPPED",
    "StoredModel",
    "check_weights",
    "find_model",
    "list_models",
    "load_model",
    "load_once",
    "make_network",
    "read_metadata",
    "read_tensors",
    "save_model",
    "write_tensors",
]

_log = logging.getLogger("fixedfleet")

AnyNetwork = Network | UniversalNetwork

FORMAT = "1"
DEFAULT_MODEL = "universal"
"""The shipped network that is taken unless another one is named."""
SHIPPED = Path(__file__).parent / "shipped"
_KIND = "fixedfleet network"


@dataclass(frozen=True)
class StoredModel:
    """
    The description of a network's file, without its weights.

    Attributes
    ----------
    name, path
        The name to load it by, and the file.
    config
        The settings of the network.
    card
        Facts about its training and its results, as given when it was saved.
    """

    name: str
    path: Path
    config: ModelConfig | UniversalConfig
    card: dict[str, Any]

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.path.stat().st_size


def save_model(
    network: AnyNetwork,
    path: str | os.PathLike[str],
    *,
    card: Mapping[str, Any] | None = None,
) -> None:
    """
    Write a network with its settings to a file, completely or not at all.

    The weights are written as float16.

    Parameters
    ----------
    network
        The network.
    path
        The file, usually ``….safetensors``.
    card
        Facts about the training and the results, as JSON can hold them.

    Raises
    ------
    InputError
        If a weight is not finite.
    """
    tensors = {}
    for name, tensor in network.state_dict().items():
        tensors[name] = tensor.detach().to("cpu", torch.float16).contiguous()
        if not torch.isfinite(tensors[name]).all():
            raise InputError(f"weight {name} is not finite in float16: not saved")
    metadata = {
        "kind": _KIND,
        "format": FORMAT,
        "network": "universal" if isinstance(network, UniversalNetwork) else "edges",
        "config": json.dumps(asdict(network.config)),
        "normalisation_source": source_hash(getattr(network, "normalisation", None)),
        "card": json.dumps(dict(card or {})),
    }
    write_tensors(path, tensors, metadata)


def load_model(
    name: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> AnyNetwork:
    """
    Load a shipped network by its name, or any network by its path, ready to predict.

    Raises
    ------
    InputError
        If there is no such network, if the file is corrupt or of another version, if
        its weights do not fit its settings, or if it needs a normalisation that is not
        known in this process.
    """
    path = find_model(name)
    tensors, metadata = read_tensors(path)
    config, _ = _describe(path, metadata)
    network = make_network(config)
    check_weights(path, tensors, network.state_dict())
    network.load_state_dict({key: value.float() for key, value in tensors.items()})
    return network.to(device).eval()


def make_network(config: ModelConfig | UniversalConfig) -> AnyNetwork:
    """Return a network of these settings, with random weights."""
    keep_freed_memory()
    if isinstance(config, UniversalConfig):
        return UniversalNetwork(config)
    return Network(config)


def load_once(
    name: str | os.PathLike[str],
    device: str = "cpu",
    precision: Precision | None = None,
) -> AnyNetwork:
    """
    Do as :func:`load_model` does, and keep the network for the next prediction.

    A file that has changed since, for example by another training, is loaded again. On
    a CPU, a universal network that is to predict in bfloat16 gets its weights in that
    precision, because to convert them takes longer than the products. It is the default
    on a CPU with instructions for bfloat16.
    """
    path = find_model(name)
    facts = path.stat()
    if precision is None and torch.cpu._is_avx512_bf16_supported():
        precision = "bf16"
    reduced = device == "cpu" and precision == "bf16"
    return _load_kept(path.resolve(), device, reduced, facts.st_mtime_ns, facts.st_size)


@functools.lru_cache(maxsize=8)
def _load_kept(
    path: Path, device: str, reduced: bool, _changed: int, _size: int
) -> AnyNetwork:
    network = load_model(path, device)
    if reduced and isinstance(network, UniversalNetwork):
        network.reduce_weights()
    return network


def check_weights(
    path: Path, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]
) -> None:
    """Raise InputError unless a file has the weights that a network needs."""
    for key in sorted(wanted.keys() | found.keys()):
        if key not in found or key not in wanted:
            what = "lacks" if key in wanted else "has an unknown"
            raise InputError(
                f"{path} {what} weight {key}: not the network of its settings"
            )
        if found[key].shape != wanted[key].shape:
            raise InputError(
                f"{path}: weight {key} has shape {tuple(found[key].shape)}, but its "
                f"settings want {tuple(wanted[key].shape)}"
            )


def list_models() -> list[StoredModel]:
    """Return the shipped networks, sorted by name."""
    models = []
    for path in sorted(SHIPPED.glob("*.safetensors")):
        config, card = _describe(path, read_metadata(path))
        models.append(StoredModel(path.stem, path, config, card))
    return models


def find_model(name: str | os.PathLike[str]) -> Path:
    """
    Return the file of a network, by its path or by the name of a shipped one.

    Raises
    ------
    InputError
        If there is no such network.
    """
    text = os.fspath(name)
    shipped = SHIPPED / f"{text}.safetensors"
    if Path(text).name == text and shipped.is_file():
        return shipped
    if Path(text).is_file():
        return Path(text)
    names = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.safetensors")))
    raise InputError(
        f"no network {text!r}: there is neither a file nor a shipped network of that "
        f"name ({names or 'no network is shipped'})"
    )


def _describe(
    path: Path, metadata: Mapping[str, str]
) -> tuple[ModelConfig | UniversalConfig, dict[str, Any]]:
    """Return the settings and the card from a file's metadata."""
    if metadata.get("kind") != _KIND:
        raise InputError(f"{path} is a safetensors file, but not a fixedfleet network")
    if metadata.get("format") != FORMAT:
        raise InputError(
            f"{path} is a network of format {metadata.get('format')!r}; this version "
            f"reads format {FORMAT!r}"
        )
    try:
        settings = json.loads(metadata["config"])
        if metadata.get("network") == "universal":
            kind: type[ModelConfig | UniversalConfig] = UniversalConfig
        else:
            kind = ModelConfig
            _check_normalisation(
                path, settings, metadata.get("normalisation_source", "")
            )
        config = kind(**known_settings(kind, "model", settings))
        return config, dict(json.loads(metadata.get("card", "{}")))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: its settings cannot be used: {error}; train it anew with this "
            "version"
        ) from None


def _check_normalisation(path: Path, settings: Mapping[str, Any], source: str) -> None:
    """
    Raise InputError unless this process knows a network's normalisation.

    ``source`` is the hash of the source that the network was saved with; if another one
    is loaded, a warning is logged.
    """
    name = str(settings.get("normalisation", "vehicle"))
    if not NORMALISATIONS.find_loaded(name):
        # A network's file must not be able to run code by naming it.
        file = name.rpartition(":")[0] or "FILE.py"
        raise InputError(
            f"the normalisation {name!r} is not loaded: add --parts {file} to the "
            f"command, or in Python call fixedfleet.registry.load_files([{file!r}]) "
            "first"
        )
    if source and source_hash(NORMALISATIONS.get(name)) != source:
        _log.warning(
            "%s: the source of its normalisation %r has changed since the network was "
            "saved",
            path,
            name,
        )


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str],
) -> None:
    """Write tensors and text to a safetensors file, completely or not at all."""
    safetensors = require("safetensors.torch", "network", "saving a network")
    data = safetensors.save(dict(tensors), metadata=dict(metadata))
    with replacing(path) as file:
        file.write(data)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the text in a safetensors file, without its tensors."""
    with _opened(path) as file:
        return dict(file.metadata() or {})


def read_tensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and the text in a safetensors file."""
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, dict(file.metadata() or {})


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a safetensors file; raise InputError if there is none or it is corrupt."""
    safetensors = require("safetensors", "network", "loading a network")
    try:
        with safetensors.safe_open(os.fspath(path), framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"no file {os.fspath(path)}") from None
    except safetensors.SafetensorError as error:
        raise InputError(
            f"{os.fspath(path)} is corrupt or not a safetensors file: {error}"
        ) from None
