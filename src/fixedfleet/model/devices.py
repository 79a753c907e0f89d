"""CPU or GPU: check that a device exists, its memory, and set its precision."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from typing import TYPE_CHECKING, Literal

import torch

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.model.plan_network import PlanNetwork

__all__ = [
    "Precision",
    "calm_threads",
    "check_device",
    "check_memory",
    "keep_freed_memory",
    "matmul_precision",
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
    its share of an operation waits for the others in a busy loop. If another program
    occupies the core of one thread, all other threads waste processor time: on two busy
    cores, a training took six times as much. OpenMP lets its threads sleep instead, if
    this is set before torch is loaded, as :func:`fixedfleet.errors.require` does. If
    the user's code has loaded torch before, this block computes in one thread. Nothing
    is changed if the user has set OMP_NUM_THREADS or OMP_WAIT_POLICY.
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


def check_memory(
    network: PlanNetwork,
    size: int,
    nodes: int,
    vehicles: int,
    device: torch.device,
    *,
    advice: str = "give fewer at a time, or plan with start='packing'",
) -> None:
    """
    Raise InputError if a prediction does not fit into the memory of the device.

    On a GPU the free memory counts, on a CPU the whole memory of the machine.
    ``advice`` is the end of the error message.
    """
    need = network.required_bytes(size, nodes, vehicles)
    if device.type == "cuda":
        # Memory that torch has reserved but does not use is available to torch.
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
