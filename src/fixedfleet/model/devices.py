"""Devices: whether one exists, what fits into its memory, and how precise it is."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from typing import TYPE_CHECKING, Literal

import torch

from fixedfleet.errors import InputError
from fixedfleet.model.universal import UniversalConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.model.network import ModelConfig

__all__ = [
    "Precision",
    "calm_threads",
    "check_device",
    "check_memory",
    "keep_freed_memory",
    "matmul_precision",
    "required_bytes",
]

Precision = Literal["bf16", "tf32", "fp32"]


def matmul_precision(device: torch.device, precision: Precision) -> torch.autocast:
    """
    Return the context in which matrix products are in bfloat16, if that is wanted.

    ``tf32`` and ``fp32`` leave them to ``torch.set_float32_matmul_precision``.
    """
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


@contextlib.contextmanager
def calm_threads(device: torch.device) -> Iterator[None]:
    """
    Keep torch's threads from waiting in a loop while they compute on a CPU.

    A prediction is thousands of small operations. By default, a thread that has done
    its share of one waits in a loop for the others. If another program has the core of
    one of them, all the others burn theirs: on two busy cores, a training took six
    times the processor time. OpenMP can let its threads sleep instead, if it is told so
    before torch is loaded, which :func:`fixedfleet.errors.require` does. If the user's
    code has loaded torch before, this block computes in one thread. A user who has set
    OMP_NUM_THREADS or OMP_WAIT_POLICY has decided already.
    """
    decided = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY"} & os.environ.keys()
    if device.type != "cpu" or decided:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def keep_freed_memory() -> None:
    """
    Let the C library keep the memory of tensors that are freed for the next tensors.

    Otherwise glibc returns it to the system, and each prediction on a CPU spends a
    tenth of its time on thousands of new pages. glibc keeps blocks of up to the size of
    the largest that was freed, if that is below 32 MiB.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


def check_device(device: str) -> torch.device:
    """Return a device; raise InputError unless torch finds it on this machine."""
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise InputError(f"device is {device!r}, not cpu, cuda or cuda:1")
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"device {device!r} was asked for, and torch finds "
            f"{torch.cuda.device_count()} GPUs"
        )
    return found


def required_bytes(
    config: ModelConfig | UniversalConfig, size: int, nodes: int, vehicles: int
) -> int:
    """Return about how many bytes a prediction takes at its peak."""
    tokens = nodes + vehicles
    if isinstance(config, UniversalConfig):
        pairs = size * tokens**2 * (100 + 2 * config.layers * config.heads)
        return 4 * (pairs + size * tokens * (8 * config.width + 2 * config.hidden))
    scores = 6 * size * vehicles * nodes**2
    pairs = 8 * size * tokens**2
    embeddings = size * tokens * (8 * config.width + 2 * config.hidden)
    return 4 * (scores + pairs + embeddings)


def check_memory(
    config: ModelConfig | UniversalConfig,
    size: int,
    nodes: int,
    vehicles: int,
    device: torch.device,
    *,
    advice: str = "give fewer at a time, or plan with start='packing'",
) -> None:
    """
    Raise InputError if a prediction does not fit into the memory of the device.

    On a GPU the free memory counts, on a CPU the whole memory of the machine. The
    message ends with the advice.
    """
    need = required_bytes(config, size, nodes, vehicles)
    if device.type == "cuda":
        # Memory that torch has reserved and does not use is free for torch.
        idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = int(torch.cuda.mem_get_info(device)[0]) + idle
    else:
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if need > free:
        raise InputError(
            f"{size} instances of {nodes - 1} customers and {vehicles} vehicles need "
            f"about {need / 2**30:.1f} GiB, but {device} has {free / 2**30:.1f} GiB: "
            f"{advice}"
        )
