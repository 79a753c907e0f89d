"""Ruin and recreate on a GPU: one call improves the plans of a whole batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError, require
from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import PlanBatch
from fixedfleet.search.gpu_arrays import pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.search.gpu_arrays import Group

__all__ = [
    "MOST_ITERATIONS",
    "GpuParameters",
    "chains_to_fill",
    "improve_batch",
    "require_gpu",
]

_LIMITS = np.dtype(  # the kernel's struct Limits
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
MOST_ITERATIONS = 2**31 - 1  # that the kernel counts
_BLOCKS = 16  # on a multiprocessor, where registers are few enough: 32 warps
_OLDEST_ARCHITECTURE = 80  # the first with a minimum over a warp in one instruction


@dataclass(frozen=True, kw_only=True)
class GpuParameters:
    """
    How the GPU search ruins, recreates and cools.

    Parameters
    ----------
    start_temperature, end_temperature
        Between which the annealing cools geometrically, in lengths of a unit square
        with uniform customers. Other instances are scaled by the mean distance of
        their customers.
    mean_removed
        Customers an iteration removes on average.
    longest_string
        Most customers removed from one tour; never more than the mean tour has.
    blink_rate
        How often the best place for a customer is overlooked.
    chains
        Independent searches for each instance, of which the best plan counts. A
        single instance leaves most of a GPU idle with fewer than some thousands.
    """

    start_temperature: float = 0.1
    end_temperature: float = 0.015
    mean_removed: float = 8.0
    longest_string: int = 6
    blink_rate: float = 0.01
    chains: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.end_temperature <= self.start_temperature < np.inf:
            raise InputError(
                f"temperatures fall from {self.start_temperature:g} to "
                f"{self.end_temperature:g}: both must be above 0, the end not higher"
            )
        if not 1 <= self.mean_removed <= 16:
            raise InputError(f"mean_removed is {self.mean_removed:g}, not 1 to 16")
        if not 1 <= self.longest_string <= 32:
            raise InputError(f"longest_string is {self.longest_string}, not 1 to 32")
        if not 0 <= self.blink_rate < 1:
            raise InputError(f"blink_rate is {self.blink_rate:g}, not in [0, 1)")
        if self.chains < 1:
            raise InputError(f"chains is {self.chains}, not at least 1")


def improve_batch(
    batch: InstanceBatch,
    starts: PlanBatch,
    *,
    iterations: int,
    seed: int = 0,
    parameters: GpuParameters | None = None,
    vehicle_cost: float = 0.0,
) -> PlanBatch:
    """
    Improve one plan for each instance, all at once.

    The same call gives the same plans on the same GPU. No plan returned is longer, or
    with a vehicle cost dearer, than its start, and none needs more vehicles than there
    are.

    Parameters
    ----------
    batch
        The instances; their sizes, metrics and roundings may differ.
    starts
        A feasible plan for each.
    iterations
        Ruins of each plan.
    seed
        Of the random choices, from 0.
    parameters
        How to search; by default a :class:`GpuParameters`.
    vehicle_cost
        What a vehicle used adds to the length, in the objective Cost_v.

    Raises
    ------
    InputError
        If an argument is wrong, a start is infeasible or there is no GPU.
    MissingPackageError
        If CuPy is not installed.
    """
    if not 1 <= iterations <= MOST_ITERATIONS:
        raise InputError(f"iterations is {iterations}, not 1 to 2^31 − 1")
    if seed < 0:
        raise InputError(f"seed is {seed}, not at least 0")
    if not 0 <= vehicle_cost < np.inf:
        raise InputError(f"vehicle_cost is {vehicle_cost:g}, not at least 0")
    parameters = parameters or GpuParameters()
    _require_feasible(batch, starts)
    groups = pack(batch, starts)
    limits = _limits(iterations, seed, parameters, vehicle_cost)
    pending = [_launch(group, limits, parameters.chains) for group in groups]

    best, costs = starts, starts.costs_v(batch, vehicle_cost)  # while the GPU works
    found = [routes() for routes in pending]
    if parameters.chains > len(batch):  # below, each step is for one chain of all
        found = [
            _pick(batch, group, routes, vehicle_cost)
            for group, routes in zip(groups, found, strict=True)
        ]
    for chain in range(len(found[0]) if found else 0):
        parts = zip(groups, found, strict=True)
        plans = PlanBatch.gather(
            len(batch), [(group.rows, routes[chain]) for group, routes in parts]
        )
        best, costs = _better(batch, best, costs, plans, vehicle_cost)
    return best


def require_gpu() -> None:
    """
    See that there is a GPU to search on.

    Raises
    ------
    InputError
        If there is none, or it is too old.
    MissingPackageError
        If CuPy is not installed.
    """
    _cupy()


def chains_to_fill(instance: Instance) -> int:
    """Return how many chains of an instance keep the whole GPU busy."""
    nothing = PlanBatch(np.zeros((1, 1), dtype=np.int64))
    group = pack(InstanceBatch.of([instance]), nothing)[0]
    attributes = _cupy().cuda.Device().attributes
    memory = int(attributes["MaxSharedMemoryPerMultiprocessor"])
    resident = min(max(1, memory // group.shared_bytes), 2 * _BLOCKS)
    return int(attributes["MultiProcessorCount"]) * resident


def _limits(
    iterations: int, seed: int, parameters: GpuParameters, vehicle_cost: float
) -> NDArray[Any]:
    limits = (
        iterations,
        parameters.start_temperature,
        parameters.end_temperature,
        parameters.mean_removed,
        parameters.longest_string,
        int(parameters.blink_rate * 2**32),
        vehicle_cost,
        seed % 2**32,
    )
    return np.array([limits], dtype=_LIMITS)


def _require_feasible(batch: InstanceBatch, starts: PlanBatch) -> None:
    if len(batch) != len(starts):
        raise InputError(f"{len(starts)} starts for {len(batch)} instances")
    bad = np.flatnonzero(~starts.feasible(batch))
    if len(bad):
        row = int(bad[0])
        fault = starts[row].check(batch[row])[0]
        raise InputError(
            f"start {row} is no plan for its instance: {fault}; the GPU search starts "
            "from feasible plans"
        )


def _pick(
    instances: InstanceBatch,
    group: Group,
    routes: NDArray[np.uint16],
    vehicle_cost: float,
) -> NDArray[np.uint16]:
    """
    Take each instance's cheapest chain: (chains, B, W) to (1, B, W).

    Only a choice of what to look at: the plan itself is checked and measured after it.
    """
    if len(routes) == 1:
        return routes
    picked = np.empty_like(routes[:1])
    for place, row in enumerate(group.rows):
        path = np.pad(routes[:, place], ((0, 0), (1, 1)))  # (chains, W + 2)
        legs = instances[row].distances[path[:, :-1], path[:, 1:]]
        tours = PlanBatch(routes[:, place]).vehicles()
        picked[0, place] = routes[np.argmin(legs.sum(1) + vehicle_cost * tours), place]
    return picked


def _better(
    batch: InstanceBatch,
    old: PlanBatch,
    old_costs: NDArray[np.float64],
    new: PlanBatch,
    vehicle_cost: float,
) -> tuple[PlanBatch, NDArray[np.float64]]:
    """Of each instance's two plans the cheaper, counted and checked in float64."""
    bad = np.flatnonzero(~new.feasible(batch))
    if len(bad):
        row = int(bad[0])
        faults = new[row].check(batch[row])
        raise RuntimeError(f"the GPU returned an infeasible plan {row}: {faults[0]}")
    new_costs = new.costs_v(batch, vehicle_cost)
    best = new.where(new_costs < old_costs, old)
    return best, np.minimum(new_costs, old_costs)


# ------------------------------------------------------------------------ the device


def _launch(
    group: Group, limits: NDArray[Any], chains: int
) -> Callable[[], NDArray[np.uint16]]:
    """
    Start the search for a group; the function returned waits for its routes.

    They have shape (chains, B, W).
    """
    cupy = _cupy()
    warps = _warps(group)
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


def _warps(group: Group) -> int:
    return 2 if group.slots <= 16 else 1  # the larger ones' memory fills a block


@cache
def _kernel(slots: int, matrix: bool, warps: int, shared_bytes: int) -> Any:
    code = files("fixedfleet.search").joinpath("ruin_recreate.cu").read_text("utf-8")
    defines = {
        "SLOTS": slots,
        "MATRIX": int(matrix),
        "WARPS": warps,
        "BLOCKS": _BLOCKS if slots <= 4 else 1,
        "SHARED_BYTES": shared_bytes,
    }
    options = (f"-D{name}={value}" for name, value in defines.items())
    module = _cupy().RawModule(
        code=code, options=("--std=c++17", "--use_fast_math", *options)
    )
    kernel = module.get_function("search")
    kernel.max_dynamic_shared_size_bytes = warps * shared_bytes
    return kernel


@cache
def _cupy() -> Any:
    cupy = require("cupy", "gpu", "the search on a GPU")
    try:
        architecture = int(cupy.cuda.Device().compute_capability)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InputError(f"the search on a GPU found no GPU: {error}") from None
    if architecture < _OLDEST_ARCHITECTURE:
        raise InputError(
            f"the GPU has compute capability {architecture / 10:g}; the search needs "
            f"{_OLDEST_ARCHITECTURE / 10:g} or later"
        )
    return cupy
