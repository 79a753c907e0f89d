"""The kernels of the GPU search, and their launch."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.compiling import load_cupy
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.search.gpu_arrays import Group

__all__ = [
    "LIMITS",
    "GpuSpeed",
    "chains_to_fill",
    "improve",
    "launch",
    "load_cupy",
    "load_kernels",
    "pick",
]

LIMITS = np.dtype(  # the kernel's struct Limits
    [
        ("iterations", np.int32),
        ("start_temperature", np.float32),
        ("end_temperature", np.float32),
        ("unit", np.float32),
        ("mean_removed", np.float32),
        ("longest_string", np.int32),
        ("blink", np.uint32),
        ("vehicle_cost", np.float32),
        ("seed", np.uint32),
    ]
)
# Customers removed on average (at most 16), most customers removed from one tour (at
# most 32), and the blink rate: one in this many positions is skipped. These values gave
# the best results for batches.
_REMOVED, _LONGEST, _BLINK = 8.0, 6, 100
_BLOCKS = 16  # blocks per multiprocessor (32 warps) if there are enough registers


class GpuSpeed:
    """
    Measures the speed of the GPU, to choose the iterations of the next round.

    ``overhead`` is the time per round that is not spent on iterations. The first round
    has so few iterations that its whole time is taken as the overhead.
    """

    _GROWTH = 8  # a round has at most this many times the iterations of the previous

    def __init__(self, first_iterations: int) -> None:
        self.overhead = 0.0
        self._last = first_iterations
        self._per_second = 0.0  # 0: not known yet

    def iterations_in(self, seconds: float) -> int:
        """Return how many iterations a round of these seconds should have."""
        if not self._per_second:
            return self._last
        wanted = int(self._per_second * (seconds - self.overhead))
        return min(max(1, wanted), self._GROWTH * self._last)

    def record(self, iterations: int, seconds: float) -> None:
        """Record how many iterations a round had, and how long it took."""
        if not self._per_second:
            self.overhead = seconds
        spent = max(seconds - self.overhead, seconds / 10, 1e-9)
        self._last, self._per_second = iterations, iterations / spent


def load_kernels(groups: Sequence[Group]) -> None:
    """Load or compile the kernels of some groups."""
    for group in groups:
        _kernel_of(group)


def chains_to_fill(groups: Sequence[Group]) -> int:
    """Return the number of chains per instance with which all groups fill the GPU."""
    count = int(load_cupy().cuda.Device().attributes["MultiProcessorCount"])
    one_each = sum(len(group.rows) / _resident(group) for group in groups)
    return max(1, int(count / one_each))


def _resident(group: Group) -> int:
    """Return how many chains of a group a multiprocessor runs at once."""
    warps = _warps(group)
    blocks = load_cupy().cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        _kernel_of(group).kernel.ptr, 32 * warps, warps * group.shared_bytes
    )
    return warps * int(blocks)


def improve(
    batch: InstanceBatch,
    plans: PlanBatch,
    groups: Sequence[Group],
    *,
    chains: int,
    iterations: int,
    temperatures: tuple[float, float],
    unit: float = 0.0,
    vehicle_cost: float,
    seed: int,
) -> PlanBatch:
    """
    Search by several chains for each instance; return the best plans.

    An instance keeps its plan unless a chain finds a cheaper one. ``groups`` has the
    same instances and plans, packed for the GPU. ``chains`` is the number of chains per
    instance, and ``iterations`` the number of iterations per chain. ``temperatures``
    are the first and the last temperature, as multiples of ``unit``. If ``unit`` is 0,
    they are multiples of each instance's own scale.
    """
    limits = (
        iterations,
        *temperatures,
        unit,
        _REMOVED,
        _LONGEST,
        2**32 // _BLINK,
        vehicle_cost,
        seed % 2**32,
    )
    array = np.array([limits], dtype=LIMITS)
    pending = [(group.rows, launch(group, array, chains)) for group in groups]
    costs = plans.costs_v(batch, vehicle_cost)  # computed while the GPU works
    routes = [(rows, wait()) for rows, wait in pending]
    found = PlanBatch.gather(len(batch), routes)
    bad = np.flatnonzero(~found.feasible(batch))
    if len(bad):
        row = int(bad[0])
        fault = found[row].check(batch[row])[0]
        raise RuntimeError(f"the GPU returned an infeasible plan {row}: {fault}")
    better = found.costs_v(batch, vehicle_cost) < costs  # the GPU has only float32
    return plans.replace(better, found[better])


def launch(
    group: Group, limits: NDArray[Any], chains: int
) -> Callable[[], NDArray[np.uint16]]:
    """
    Start the search of a group on the GPU, without waiting for its end.

    Return a function that waits for the end of the search and returns the routes of the
    best chain of each instance, shape (B, W). ``limits`` is an array with one entry of
    the type ``LIMITS``, and ``chains`` is the number of chains per instance.
    """
    cupy = load_cupy()
    kernel, warps = _kernel_of(group), _warps(group)
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
        lengths = cupy.empty((count, chains), dtype=np.float32)
        arrays = (
            cupy.asarray(group.sizes),
            points,
            matrix,
            turned,
            cupy.asarray(group.demands),
            cupy.asarray(group.starts),
            routes,
            lengths,
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
        return pick(routes.get(stream=stream), lengths.get(stream=stream))

    return wait


def pick(
    routes: NDArray[np.uint16], lengths: NDArray[np.float32]
) -> NDArray[np.uint16]:
    """
    Return the routes of the best chain of each instance, shape (B, W).

    ``routes`` has the routes of each chain, shape (B, chains, W), and ``lengths`` their
    lengths, shape (B, chains).
    """
    rows = np.arange(len(routes))
    picked: NDArray[np.uint16] = routes[rows, np.argmin(lengths, axis=1)]
    return picked


def _warps(group: Group) -> int:
    """
    Return the number of chains per block: 2, or 1 if 2 would exceed shared memory.
    """
    return 2 if group.slots <= 16 else 1


def _kernel_of(group: Group) -> Any:
    return _kernel(
        group.slots,
        group.matrices is not None,
        group.rounded,
        _warps(group),
        group.shared_bytes,
    )


@cache
def _kernel(
    slots: int, matrix: bool, rounded: bool, warps: int, shared_bytes: int
) -> Any:
    """
    Compile and return the kernel for a size class and a kind of distances.

    ``slots`` is the size class, ``warps`` the number of warps per block, and
    ``shared_bytes`` the shared memory per warp.
    """
    code = files("fixedfleet.search").joinpath("ruin_recreate.cu").read_text("utf-8")
    defines = {
        "SLOTS": slots,
        "MATRIX": int(matrix),
        "ROUNDED": int(rounded),
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
