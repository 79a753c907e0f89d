"""The kernels of the GPU search, and their launch."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import load_cupy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fixedfleet.search.gpu_arrays import Group

__all__ = ["LIMITS", "chains_to_fill", "launch", "load_cupy"]

LIMITS = np.dtype(  # the kernel's struct Limits
    [
        ("iterations", np.int32),
        ("start_temperature", np.float32),
        ("end_temperature", np.float32),
        ("mean_removed", np.float32),
        ("longest_string", np.int32),
        ("blink", np.uint32),
        ("vehicle_cost", np.float32),
        ("seed", np.uint32),
    ]
)
_BLOCKS = 16  # blocks per multiprocessor if registers suffice, that is 32 warps


def chains_to_fill(group: Group) -> int:
    """Return how many chains of a group with one instance keep the whole GPU busy."""
    attributes = load_cupy().cuda.Device().attributes
    memory = int(attributes["MaxSharedMemoryPerMultiprocessor"])
    resident = min(max(1, memory // group.shared_bytes), 2 * _BLOCKS)
    return int(attributes["MultiProcessorCount"]) * resident


def launch(
    group: Group, limits: NDArray[Any], chains: int
) -> Callable[[], NDArray[np.uint16]]:
    """
    Start the search for a group.

    Returns
    -------
    Callable
        A function that waits for the routes of all chains, shape (chains, B, W).
    """
    cupy = load_cupy()
    warps = 2 if group.slots <= 16 else 1  # two larger ones exceed the memory
    kernel = _kernel(group.slots, group.matrices is not None, warps, group.shared_bytes)
    count, width = group.starts.shape
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        unused = cupy.zeros(1, dtype=np.float32)
        points, matrix, turned = unused, unused, unused
        if group.matrices is None:
            points = cupy.asarray(group.points)
        else:
            matrix = cupy.asarray(group.matrices)
            turned = cupy.ascontiguousarray(matrix.transpose(0, 2, 1))
        routes = cupy.empty((count, chains, width), dtype=np.uint16)
        arrays = (
            cupy.asarray(group.sizes),
            points,
            matrix,
            turned,
            cupy.asarray(group.demands),
            cupy.asarray(group.starts),
            routes,
        )
        shape = map(np.int32, (count * chains, chains, group.locations, width))
        blocks = -(-count * chains // warps)
        kernel(
            (blocks,),
            (32 * warps,),
            (*arrays, *shape, limits),
            shared_mem=warps * group.shared_bytes,
        )

    def wait() -> NDArray[np.uint16]:
        found: NDArray[np.uint16] = routes.get(stream=stream)
        return found.swapaxes(0, 1)

    return wait


@cache
def _kernel(slots: int, matrix: bool, warps: int, shared_bytes: int) -> Any:
    """Compile the kernel of a size class."""
    code = files("fixedfleet.search").joinpath("ruin_recreate.cu").read_text("utf-8")
    defines = {
        "SLOTS": slots,
        "MATRIX": int(matrix),
        "WARPS": warps,
        "BLOCKS": _BLOCKS if slots <= 4 else 1,
        "SHARED_BYTES": shared_bytes,
    }
    options = (f"-D{name}={value}" for name, value in defines.items())
    module = load_cupy().RawModule(
        code=code, options=("--std=c++17", "--use_fast_math", *options)
    )
    kernel = module.get_function("search")
    kernel.max_dynamic_shared_size_bytes = warps * shared_bytes
    return kernel
