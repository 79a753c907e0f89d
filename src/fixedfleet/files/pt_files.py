"""Read and write POMO's test sets: a dictionary of tensors, saved by PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError, require
from fixedfleet.files import atomic
from fixedfleet.files.npz_files import make_batch

if TYPE_CHECKING:
    import os

    from fixedfleet.instance import InstanceBatch

__all__ = ["read_batch", "write_batch"]

_NAMES = {"depots": "depot_xy", "customers": "node_xy", "demands": "node_demand"}


def read_batch(
    path: str | os.PathLike[str],
    vehicles: int | None = None,
    capacity: int | None = None,
) -> InstanceBatch:
    """Read a test set. The file does not state ``vehicles``, so it must be given."""
    torch = require("torch", "network", "a .pt file")
    try:
        # With weights_only, a file cannot run code.
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # broken files raise errors of many kinds
        lines = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"not a file of tensors: {lines[0][:200]}") from None
    if not isinstance(found, dict) or not set(_NAMES.values()) <= found.keys():
        raise InputError(
            f"not a dictionary of tensors named {', '.join(_NAMES.values())}"
        )
    arrays: dict[str, Any] = {
        name: np.asarray(found[theirs]) for name, theirs in _NAMES.items()
    }
    if arrays["depots"].ndim == 3:  # (B, 1, 2)
        arrays["depots"] = arrays["depots"][:, 0]
    return make_batch(arrays, vehicles, capacity)


def write_batch(path: str | os.PathLike[str], batch: InstanceBatch) -> None:
    """
    Write a test set, with demands divided by the capacity.

    The format holds neither capacity nor fleet. The fleet must be given again when the
    file is read.
    """
    torch = require("torch", "network", "a .pt file")
    batch.require_plain("a file of instances")
    shares = batch.demands / batch.capacity[:, None]
    tensors = {
        "depot_xy": torch.tensor(batch.depots[:, None], dtype=torch.float32),
        "node_xy": torch.tensor(batch.customers, dtype=torch.float32),
        "node_demand": torch.tensor(shares, dtype=torch.float32),
    }
    with atomic.replacing(path) as file:
        torch.save(tensors, file)
