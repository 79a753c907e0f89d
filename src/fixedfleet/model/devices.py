"""
CPUs and GPUs: check that a device exists and has enough memory; set its precision.
"""

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
    Return a context manager that computes matrix products in bfloat16 for ``bf16``.

    For ``tf32`` and ``fp32``, the context manager changes nothing: call
    ``torch.set_float32_matmul_precision`` to choose between these two.
    """
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


@contextlib.contextmanager
def calm_threads(device: torch.device) -> Iterator[None]:
    """
    Return a context manager that keeps torch's CPU threads from waiting in busy loops.

    A prediction is thousands of small operations. By default, a thread that has done
    its share of an operation waits for the others in a busy loop. If another program
    occupies the core of one thread, all other threads waste processor time: on two busy
    cores, a training took six times as much processor time. With
    OMP_WAIT_POLICY=PASSIVE, waiting threads sleep instead.
    :func:`fixedfleet.errors.require` sets this variable, but torch reads it only when
    it is loaded. If the user's code has loaded torch earlier, the ``with`` block
    computes in one thread. Nothing is changed if the user has set OMP_NUM_THREADS or
    OMP_WAIT_POLICY, or if the device is a GPU.
    """
    is_configured = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY"} & os.environ.keys()
    if device.type != "cpu" or is_configured:
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
    Make the C library reuse the memory of freed tensors for the next tensors.

    Otherwise glibc returns freed memory to the system, and each prediction on a CPU
    spends a tenth of its time on requesting it again. After a block of up to 32 MiB has
    been freed, glibc keeps all freed blocks of at most that size. So one block of
    31 MiB is allocated and freed here.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


def check_device(device: str) -> torch.device:
    """Return the named device; raise InputError if this machine does not have it."""
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

    The network's estimate of the memory (:meth:`PlanNetwork.required_bytes`) is
    compared with the free memory of a GPU, or with the total memory of the machine.

    Parameters
    ----------
    network
        The network that is to predict.
    size, nodes, vehicles
        B, N' and M of the batch.
    device
        Where the prediction is computed.
    advice
        The end of the error message: what the user can do.
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
