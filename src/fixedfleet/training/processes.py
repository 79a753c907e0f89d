"""Several processes of one training, as torchrun starts them, or just one."""

from __future__ import annotations

import os
from typing import Self

import torch
from torch import distributed

from fixedfleet.errors import InputError

__all__ = ["Processes"]


class Processes:
    """
    This process's device and its place among those of torchrun.

    Parameters
    ----------
    device
        Where to train; None for a GPU if there is one.
    """

    def __init__(self, device: str | torch.device | None) -> None:
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if device is None:
            device = f"cuda:{local}" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", local)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise InputError(f"device {device} is asked for, but torch finds no GPU")
        self.own_group = False

    def __enter__(self) -> Self:
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        if self.world > 1 and not distributed.is_initialized():
            kind = "nccl" if self.device.type == "cuda" else "gloo"
            distributed.init_process_group(kind)
            self.own_group = True
        return self

    def __exit__(self, *error: object) -> None:
        if self.own_group:
            distributed.destroy_process_group()

    def agree(self, value: float) -> float:
        """Take the first process's number in all of them."""
        if self.world == 1:
            return value
        shared = torch.tensor(value, dtype=torch.float64, device=self.device)
        distributed.broadcast(shared, 0)
        return float(shared)

    def share(self, tensor: torch.Tensor, source: int) -> None:
        """Give one process's tensor to all of them, in place."""
        if self.world > 1:
            distributed.broadcast(tensor, source)

    def peak_bytes(self) -> int:
        """Most memory that torch has had in use on this process's GPU; 0 without."""
        if self.device.type != "cuda":
            return 0
        return int(torch.cuda.max_memory_allocated(self.device))
