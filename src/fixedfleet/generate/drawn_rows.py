"""Draw batches instance by instance, each with its own random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.errors import InputError, at_least, check_seed, check_whole
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import RandomState
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["DrawnRow", "draw_rows", "smallest_fleet"]


class DrawnRow(NamedTuple):
    """
    The random data of one instance, without the number of vehicles.

    The number of vehicles is computed later.
    """

    depot: NDArray[Any]  # (2,)
    customers: NDArray[Any]  # (n, 2)
    demands: NDArray[np.int64]  # (n,)
    capacity: int


def draw_rows(
    draw: Callable[[RandomState], DrawnRow],
    count: int,
    seed: int,
    vehicles: int | None,
) -> InstanceBatch:
    """
    Return ``count`` instances drawn by ``draw``, each with its own random generator.

    If ``vehicles`` is None, the number of vehicles of each instance is that of
    :func:`smallest_fleet`.
    """
    count = check_whole("count", count, at_least(1))
    seed = check_seed(seed)
    rows = [draw(np.random.RandomState([seed, index])) for index in range(count)]
    batch = InstanceBatch(
        depots=np.array([row.depot for row in rows]),
        customers=np.array([row.customers for row in rows]),
        demands=np.array([row.demands for row in rows]),
        capacity=[row.capacity for row in rows],
        vehicles=1 if vehicles is None else vehicles,
    )
    if vehicles is not None:
        return batch
    return batch.with_vehicles([smallest_fleet(instance) for instance in batch])


def smallest_fleet(instance: Instance) -> int:
    """
    Return the number of vehicles of the best packing that quick heuristics find.

    A packing assigns all customers to vehicles within the capacity. The result may be
    larger than the smallest possible number of vehicles.
    """
    # The exact search would depend on the speed of the machine, but the same seed must
    # give the same instance on every machine. So its time limit is 0.
    verdict = assess_fleet(instance, time_limit=0)
    if verdict.upper_bound is None:
        raise InputError("a demand was drawn above the capacity: give a larger one")
    return verdict.upper_bound
