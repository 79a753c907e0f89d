"""Read LEHD's data sets: one instance per line, with the plan of a solver."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.files import atomic
from fixedfleet.files.npz_files import make_batch
from fixedfleet.files.text import decode, read_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.plan import Plan, PlanBatch

__all__ = ["read_batch", "write_batch"]

_MOST_BYTES = 2 * 10**9
# A line is "depot,x,y,customer,x,y,…,capacity,Q,demand,0,q,…,cost,…,node_flag,…".
_WORDS = ("depot", "customer", "capacity", "demand", "cost")


def read_batch(
    path: str | os.PathLike[str],
    vehicles: int | None = None,
    capacity: int | None = None,
) -> InstanceBatch:
    """Read the instances. The file does not state ``vehicles``; it must be given."""
    text = decode(read_bytes(path, _MOST_BYTES), "ascii")
    rows: list[dict[str, NDArray[np.float64]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(_read_line(line))
            except InputError as error:
                raise error.within(f"line {number}") from None
            if rows[-1]["demands"].shape != rows[0]["demands"].shape:
                raise InputError(
                    f"line {number}: {len(rows[-1]['demands'])} customers, the first "
                    f"line has {len(rows[0]['demands'])}: split the file by size"
                )
    if not rows:
        raise InputError("no instances in the file")
    arrays = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return make_batch(arrays, vehicles, capacity)


def _read_line(line: str) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of one instance: depots, customers, demands and capacity."""
    words = [word.strip() for word in line.split(",")]
    try:
        places = [words.index(word) for word in _WORDS]
        depot, customers, capacity, demands = (
            np.array([float(word) for word in words[begin + 1 : end]])
            for begin, end in pairwise(places)
        )
    except ValueError as error:
        raise InputError(
            f"not an instance with {', '.join(_WORDS)} in this order: {error}"
        ) from None
    count = len(customers) // 2
    if len(demands) == count + 1 and demands[0] == 0:  # the first one is the depot's
        demands = demands[1:]
    if (len(depot), len(capacity), len(customers)) != (2, 1, 2 * len(demands)):
        raise InputError(
            f"{len(depot)} and {len(customers)} coordinates of depot and customers for "
            f"{len(demands)} demands and {len(capacity)} capacities"
        )
    return {
        "depots": depot,
        "customers": customers.reshape(-1, 2),
        "demands": demands,
        "capacity": capacity[0],
    }


def write_batch(
    path: str | os.PathLike[str], batch: InstanceBatch, plans: PlanBatch | None = None
) -> None:
    """
    Write instances with their plans, without which LEHD does not read a file.

    The fleet is not in the file and must be given again when the file is read.
    """
    batch.require_plain("a file of instances")
    if plans is None:
        raise InputError("LEHD's files hold a plan of each instance: give plans=")
    arrays: dict[str, NDArray[Any]] = {
        "depot": batch.depots,
        "customer": batch.customers.reshape(len(batch), -1),
        "capacity": batch.capacity[:, None].astype(float),
        "demand": batch.demands,
        "cost": plans.lengths(batch)[:, None],
    }
    lines = (
        _write_line({name: array[row].tolist() for name, array in arrays.items()}, plan)
        for row, plan in enumerate(plans)
    )
    atomic.write_text(path, "".join(lines))


def _write_line(instance: Mapping[str, list[float]], plan: Plan) -> str:
    """Return the line of an instance; a flag of 1 marks the first stop of a tour."""
    customers = [customer for tour in plan.tours for customer in tour]
    flags = [int(stop == 0) for tour in plan.tours for stop in range(len(tour))]
    parts: dict[str, list[float]] = {**instance, "node_flag": [*customers, *flags]}
    words = [str(word) for name, some in parts.items() for word in (name, *some)]
    return ",".join(words) + "\n"
