"""The processes of one training: a single process, or several started by torchrun."""

from __future__ import annotations

import os
from typing import Self

import torch
from torch import distributed

from fixedfleet.model.devices import check_device

__all__ = ["Ranks"]


class Ranks:
    """
    The device of this process, and its number among the processes of torchrun.

    Use it in a ``with`` block, which connects the processes. ``world`` is the number of
    processes, and ``rank`` the number of this process, from 0 on.

    Parameters
    ----------
    device
        Where to train; None: a GPU if there is one.
    """

    def __init__(self, device: str | torch.device | None) -> None:
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if str(device) == "cuda":
            device = f"cuda:{local}"
        self.device = check_device(str(device))

    def __enter__(self) -> Self:
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        if self.world > 1:
            kind = "nccl" if self.device.type == "cuda" else "gloo"
            distributed.init_process_group(kind)
        return self

    def __exit__(self, *error: object) -> None:
        if self.world > 1:
            distributed.destroy_process_group()

    @property
    def first(self) -> bool:
        """Whether this process is the one that prints, validates and writes."""
        return self.rank == 0

    def agree(self, value: float) -> float:
        """Return, in every process, the value that the first process has passed."""
        if self.world == 1:
            return value
        shared = torch.tensor(value, dtype=torch.float64, device=self.device)
        distributed.broadcast(shared, 0)
        return float(shared)

    def peak_bytes(self) -> int:
        """Return torch's peak memory on this GPU, in bytes; 0 without a GPU."""
        if self.device.type != "cuda":
            return 0
        return int(torch.cuda.max_memory_allocated(self.device))
