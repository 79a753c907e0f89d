"""The pipeline for thousands of instances at once, on all cores or on a GPU."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal, get_args

from fixedfleet.errors import InputError, check_whole
from fixedfleet.instance import InstanceBatch
from fixedfleet.search.start import check_time_limit, check_vehicle_cost
from fixedfleet.solve import Objective
from fixedfleet.solve_batch.core import Task
from fixedfleet.solve_batch.result import BatchResult
from fixedfleet.solve_batch.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance

__all__ = ["BatchResult", "BatchSearch", "BatchStart", "solve_batch"]

BatchStart = Literal["auto", "packing", "network", "savings"]
BatchSearch = Literal["auto", "ruin_recreate", "gpu", "none"]


def solve_batch(
    instances: InstanceBatch | Sequence[Instance],
    *,
    time_limit: float | None = None,
    iterations: int | None = None,
    seed: int = 0,
    start: BatchStart = "auto",
    search: BatchSearch = "auto",
    objective: Objective = "length",
    vehicle_cost: float = 0.0,
    device: str | None = None,
    processes: int | None = None,
    fleet_limit: float = 0.1,
    display: bool = False,
) -> BatchResult:
    """
    Plan tours for many instances, on all cores or on a GPU.

    An instance whose fleet does not suffice has no plan and a reason; it does not
    disturb the others.

    Parameters
    ----------
    instances
        A batch, or instances of any sizes and distances.
    time_limit
        Seconds to search for each instance. A core searches for one instance at a
        time; a GPU for all at once, so many seconds times their number.
    iterations
        Iterations of ruin and recreate for each, instead. With them, the same seed
        gives the same plans on any number of cores.
    seed
        Seed of the search.
    start
        What the search begins with: ``packing``, ``savings``, ``network``, or
        ``auto``: the packing.
    search
        ``ruin_recreate`` on cores; ``gpu``; ``none``; or ``auto``: ``gpu`` if the
        device is one; on cores what is best for size and time, with ``iterations``
        ruin and recreate.
    objective
        ``length``, or ``cost-v``: length plus ``vehicle_cost`` for each vehicle used.
    vehicle_cost
        Fixed cost of each vehicle used.
    device
        Where the network predicts: ``cpu`` or ``cuda``. Default: where the search is.
        The search takes the first GPU.
    processes
        Processes to search with, on cores. Default: as many as there are cores; a
        script must then keep its code under ``if __name__ == "__main__"``.
    fleet_limit
        Seconds for the exact search of a fleet that quick packings leave open.
    display
        Whether to print how far it is, and the result.

    Raises
    ------
    InputError
        If an argument is wrong, or a GPU is asked for and there is none.
    MissingPackageError
        If the chosen start or search needs a package that is not installed.
    """
    search, device = _choose(search, device)
    _check(time_limit, iterations, start, search, device, objective, processes)
    check_vehicle_cost(vehicle_cost)
    work = Work(InstanceBatch.of(instances), seed, objective, vehicle_cost, display)
    work.judge(fleet_limit)
    if start == "network":
        work.predict(device)
    elif start == "savings":
        work.over_cores("savings", Task(start="savings", seed=seed), processes)
    if search == "gpu" and not work.interrupted:
        work.on_gpu(time_limit, iterations)
    elif search != "none" and not work.interrupted:
        task = Task(
            search="auto" if search == "auto" else "ruin_recreate",
            seed=seed,
            time_limit=time_limit,
            iterations=iterations,
            vehicle_cost=work.charged,
        )
        work.over_cores(search, task, processes)
    result = work.result()
    work.say(str(result))
    return result


def _choose(search: BatchSearch, device: str | None) -> tuple[BatchSearch, str]:
    """Settle which search runs, and where the network does."""
    on_gpu = device is not None and device.startswith("cuda")
    if search == "auto" and on_gpu:
        search = "gpu"
    return search, device or ("cuda" if search == "gpu" else "cpu")


def _check(
    time_limit: float | None,
    iterations: int | None,
    start: str,
    search: str,
    device: str,
    objective: str,
    processes: int | None,
) -> None:
    for what, value, choices in (
        ("start", start, get_args(BatchStart)),
        ("search", search, get_args(BatchSearch)),
        ("objective", objective, get_args(Objective)),
    ):
        if value not in choices:
            raise InputError(
                f"unknown {what} {value!r}: choose from {', '.join(choices)}"
            )
    if search != "none" and (time_limit is None) == (iterations is None):
        raise InputError("give either a time limit or a number of iterations")
    if time_limit is not None:
        check_time_limit(time_limit)
        if math.isinf(time_limit):
            raise InputError("time limit is inf s, not a time")
    if iterations is not None:
        check_whole("iterations", iterations, least=1)
    if processes is not None:
        check_whole("processes", processes, least=1)
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise InputError(f"device is {device!r}, not cpu, cuda or cuda:1")
    if search == "gpu":
        from fixedfleet.search.gpu import require_gpu

        require_gpu()
    if start == "network":
        from fixedfleet.model.devices import check_device

        check_device(device)
