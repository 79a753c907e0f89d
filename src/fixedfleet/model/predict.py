"""Ŷ for instances, and a clear word where they do not fit into memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.model.features import Batch, collate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance, InstanceBatch
    from fixedfleet.model.config import ModelConfig
    from fixedfleet.model.network import Network

__all__ = ["check_memory", "predict", "required_bytes"]


def predict(
    network: Network, instances: Instance | InstanceBatch | Sequence[Instance]
) -> tuple[Tensor, Batch]:
    """
    Predict the plans of instances, padded where their sizes differ.

    Parameters
    ----------
    network
        The network; it predicts where its weights lie.
    instances
        One instance, a batch, or instances of any sizes.

    Returns
    -------
    tuple
        log Ŷ, shape (B, M, N', N'), and the batch as tensors.

    Raises
    ------
    InputError
        If the prediction does not fit into memory, before it is begun.
    """
    device = next(network.parameters()).device
    batch = collate(instances, device)
    size, nodes = batch.features.nodes.shape
    check_memory(network.config, size, nodes, batch.features.vehicles.shape[1], device)
    with torch.inference_mode():
        return network(batch.features), batch


def required_bytes(config: ModelConfig, size: int, nodes: int, vehicles: int) -> int:
    """Bytes a prediction takes at its peak, about: (B, M, N', N') and (B, H, T, T)."""
    tokens = nodes + vehicles
    scores = 6 * size * vehicles * nodes**2
    per_pair = 8 if config.pooling == "max" else 72 + 4 * config.heads
    pairs = size * tokens**2 * per_pair
    embeddings = size * tokens * (8 * config.width + 2 * config.hidden)
    return 4 * (scores + pairs + embeddings)


def check_memory(
    config: ModelConfig,
    size: int,
    nodes: int,
    vehicles: int,
    device: torch.device,
    *,
    advice: str = "give fewer at a time, or plan with start='packing'",
) -> None:
    """Raise InputError where a prediction would not fit into the device's memory."""
    need = required_bytes(config, size, nodes, vehicles)
    free = _free_bytes(device)
    if free is not None and need > free:
        raise InputError(
            f"{size} instances of {nodes - 1} customers and {vehicles} vehicles need "
            f"about {need / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free on "
            f"{device}: {advice}"
        )


def _free_bytes(device: torch.device) -> int | None:
    """Free memory, as far as the system says."""
    if device.type == "cuda":
        # What torch has set aside and does not use is free for torch.
        idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + idle
    try:
        # Pages of the file cache are given up on demand; only Linux counts them so.
        text = Path("/proc/meminfo").read_text()
        if found := re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE):
            return 1024 * int(found[1])
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
