"""Launch the CUDA kernel that decodes by membership on a GPU."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fixedfleet.compiling import load_cupy
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.planning.assigning import CHAIN_LIMIT, DEPTH, WORK_LIMIT

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DEFINES", "launch", "shared_bytes"]

DEFINES = {"DEPTH": DEPTH, "CHAIN_LIMIT": CHAIN_LIMIT, "WORK_LIMIT": WORK_LIMIT}
_SHARED_MEMORY = 48 * 2**10  # bytes that a block of threads may use on every GPU


def shared_bytes(locations: int, fleet: int) -> int:
    """Return the bytes of shared memory that the kernel needs for one instance."""
    return 8 * (3 * locations + 1 + 2 * fleet) + 2 * (3 * locations + 1 + fleet)


def launch(
    value: Tensor,
    order: Tensor,
    demands: Tensor,
    customers: Tensor,
    room: Tensor,
    distances: Tensor,
    routes: Tensor,
) -> bool:
    """
    Start the kernel; return False if CuPy is missing or an instance is too large.

    The inputs are :class:`fixedfleet.planning.membership.MemberArrays`, all on one GPU.
    The tours are written to ``routes``, shape (B, M, N), which must be filled with
    zeros before the call.
    """
    count, locations, fleet = value.shape
    memory = shared_bytes(locations, fleet)
    if memory > _SHARED_MEMORY:
        return False
    try:
        cupy = load_cupy()
    except (InputError, MissingPackageError):
        return False
    inputs = [x.contiguous() for x in (value, order, demands, customers, room)]
    inputs.append(distances.contiguous())
    device = routes.device.index
    stream = torch.cuda.current_stream(routes.device).cuda_stream
    with cupy.cuda.Device(device), cupy.cuda.ExternalStream(stream, device):
        pointers = (np.uintp(x.data_ptr()) for x in (*inputs, routes))
        sizes = np.int32(locations), np.int32(fleet)
        _kernel()((count,), (32,), (*pointers, *sizes), shared_mem=memory)
    return True


@cache
def _kernel() -> Any:
    """Compile the kernel on the first call, and return it."""
    code = files("fixedfleet.planning").joinpath("membership.cu").read_text("utf-8")
    options = (f"-D{name}={value}" for name, value in DEFINES.items())
    # Without fused multiply-add, numbers are rounded as on a CPU: the plans are equal.
    module = load_cupy().RawModule(
        code=code, options=("--std=c++17", "--fmad=false", *options)
    )
    return module.get_function("plan")
