"""Save and load networks as safetensors files, which also hold their settings."""

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

from fixedfleet.errors import InputError, require
from fixedfleet.files.atomic import replacing
from fixedfleet.model.devices import keep_freed_memory
from fixedfleet.model.normalise import NORMALISATIONS
from fixedfleet.model.plan_network import NETWORKS, make_config
from fixedfleet.registry import source_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fixedfleet.model.devices import Precision
    from fixedfleet.model.plan_network import PlanNetwork
    from fixedfleet.registry import Registry

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
    "named_parts",
    "read_metadata",
    "read_tensors",
    "save_model",
    "write_tensors",
]

_log = logging.getLogger("fixedfleet")

FORMAT = "1"
DEFAULT_MODEL = "universal"
"""The shipped network that is used unless the user names another one."""
SHIPPED = Path(__file__).parent / "shipped"
_KIND = "fixedfleet network"


@dataclass(frozen=True)
class StoredModel:
    """
    The description of a network's file, without its weights.

    Attributes
    ----------
    name, path
        The name of the file without its ending, and the file.
    network, config
        The name of the network's class in :data:`NETWORKS`, and its settings.
    card
        Facts about the training and its results, as given when the network was saved.
    """

    name: str
    path: Path
    network: str
    config: Any
    card: dict[str, Any]

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.path.stat().st_size


def save_model(
    network: PlanNetwork,
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
        Facts about the training and its results, of types that JSON can store.

    Raises
    ------
    InputError
        If a weight is not finite, or if the network's class has no name: register it
        with ``@NETWORKS.register("name")``.
    """
    name, tensors = NETWORKS.name_of(type(network)), {}
    for key, tensor in network.state_dict().items():
        tensors[key] = tensor.detach().to("cpu", torch.float16).contiguous()
        if not torch.isfinite(tensors[key]).all():
            raise InputError(f"weight {key} is not finite in float16: not saved")
    config = asdict(network.config)
    sources = {
        part: source_hash(registry.get(part))
        for part, registry in named_parts(name, config).items()
    }
    metadata = {
        "kind": _KIND,
        "format": FORMAT,
        "network": name,
        "config": json.dumps(config),
        "sources": json.dumps({part: told for part, told in sources.items() if told}),
        "card": json.dumps(dict(card or {})),
    }
    write_tensors(path, tensors, metadata)


def load_model(
    name: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> PlanNetwork:
    """
    Return a network that is ready to predict.

    ``name`` is the name of a shipped network, or the path of a network's file.

    Raises
    ------
    InputError
        If there is no such network, if the file is corrupt or of another version, if
        its weights do not fit its settings, or if it needs a user-defined part (its
        class, its normalisation) that is not registered in this process.
    """
    path = find_model(name)
    tensors, metadata = read_tensors(path)
    stored = _describe(path, metadata)
    network = make_network(stored.network, stored.config)
    check_weights(path, tensors, network.state_dict())
    network.load_state_dict({key: value.float() for key, value in tensors.items()})
    return network.to(device).eval()


def make_network(name: str, config: Any) -> PlanNetwork:
    """
    Return a new network with this registered name, these settings and random weights.
    """
    keep_freed_memory()
    return NETWORKS.get(name)(config)


def load_once(
    name: str | os.PathLike[str],
    device: str = "cpu",
    precision: Precision | None = None,
) -> PlanNetwork:
    """
    Return a network as :func:`load_model` does, and cache it for later calls.

    A file that has changed since it was cached is loaded again. If the network is to
    predict in bfloat16 on a CPU, its weights are converted once
    (:meth:`PlanNetwork.reduce_weights`), because converting them in each prediction
    takes longer than the matrix products. With ``precision=None``, bfloat16 is used on
    CPUs that have instructions for it.
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
) -> PlanNetwork:
    network = load_model(path, device)
    if reduced:
        network.reduce_weights()
    return network


def check_weights(
    path: Path, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]
) -> None:
    """
    Raise InputError unless the weights in a file have the right names and shapes.

    ``found`` are the weights in the file ``path``, ``wanted`` those of the network.
    """
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
    """Return the descriptions of the shipped networks, sorted by name."""
    paths = sorted(SHIPPED.glob("*.safetensors"))
    return [_describe(path, read_metadata(path)) for path in paths]


def find_model(name: str | os.PathLike[str]) -> Path:
    """
    Return the path of a network's file.

    ``name`` is this path, or the name of a shipped network.

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


def _describe(path: Path, metadata: Mapping[str, str]) -> StoredModel:
    """
    Return the description of a network, read from the metadata of its file.

    InputError is raised if the file cannot be used.
    """
    if metadata.get("kind") != _KIND:
        raise InputError(f"{path} is a safetensors file, but not a fixedfleet network")
    if metadata.get("format") != FORMAT:
        raise InputError(
            f"{path} is a network of format {metadata.get('format')!r}; this version "
            f"reads format {FORMAT!r}"
        )
    try:
        name, settings = metadata["network"], dict(json.loads(metadata["config"]))
        sources = dict(json.loads(metadata.get("sources", "{}")))
        card = dict(json.loads(metadata.get("card", "{}")))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: its metadata cannot be read: {error}") from None
    for part, registry in named_parts(name, settings).items():
        _check_part(path, part, registry, sources.get(part, ""))
    try:
        return StoredModel(path.stem, path, name, make_config(name, settings), card)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path}: its settings cannot be used: {error}; train it anew with this "
            "version"
        ) from None


def named_parts(network: str, settings: Mapping[str, Any]) -> dict[str, Registry[Any]]:
    """
    Return the registered parts that a network needs, as name → registry.

    The parts are the network's class, and its normalisation if it has one. ``network``
    is the registered name of the class.
    """
    found: dict[str, Registry[Any]] = {network: NETWORKS}
    if normalisation := settings.get("normalisation"):
        found[str(normalisation)] = NORMALISATIONS
    return found


def _check_part(path: Path, name: str, registry: Registry[Any], source: str) -> None:
    """
    Raise InputError unless a part that a network needs is registered in this process.

    ``source`` is the hash of the part's source code when the network was saved. If the
    present source differs, a warning is logged.
    """
    if not registry.find_loaded(name):
        # The part is not loaded from here: a file of weights must not run any code.
        file, _, own = name.rpartition(":")
        beside = path.with_name(Path(file or "FILE.py").name)
        if source and source_hash(f"{beside}:{own}") == source:
            file = str(beside)  # training copies the code beside the network's file
        file = file or "FILE.py"
        raise InputError(
            f"the {registry.kind} {name!r} is not loaded: add --parts {file} to the "
            f"command, or in Python call fixedfleet.registry.load_files([{file!r}]) "
            "first"
        )
    if source and source_hash(registry.get(name)) != source:
        _log.warning(
            "%s: the source of its %s %r has changed since the network was saved",
            path,
            registry.kind,
            name,
        )


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str],
) -> None:
    """
    Write tensors and metadata to a safetensors file, completely or not at all.
    """
    safetensors = require("safetensors.torch", "network", "saving a network")
    data = safetensors.save(dict(tensors), metadata=dict(metadata))
    with replacing(path) as file:
        file.write(data)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the metadata of a safetensors file; the tensors are not read."""
    with _opened(path) as file:
        return dict(file.metadata() or {})


def read_tensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and the metadata of a safetensors file."""
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, dict(file.metadata() or {})


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """
    Return a context manager that opens a safetensors file for reading.

    InputError is raised if the file is missing or corrupt.
    """
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
