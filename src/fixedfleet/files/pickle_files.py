"""
The Attention Model's pickled test sets.

Such a file is a list of tuples ``(depot, customers, demands, capacity)`` of lists and
numbers (Kool et al., "Attention, Learn to Solve Routing Problems!").
"""

from __future__ import annotations

import logging
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.files import atomic
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["read_batch", "write_batch"]

_log = logging.getLogger("fixedfleet")

# The operations that build lists, tuples and numbers, each with its argument. A pickle
# of these alone cannot run code. An Unpickler without classes would not be enough: a
# memo entry with a huge number makes it allocate gigabytes (here the fourth byte of
# such a number must be 0).
_PLAIN = re.compile(
    rb"\x80[\x02-\x05]|\x95.{8}"  # protocol, frame
    rb"|G.{8}|K.|M..|J.{4}"  # numbers
    + b"".join(rb"|\x8a\x%02x.{%d}" % (size, size) for size in range(9))
    + rb"|[\]()lteat.\x85-\x87]"  # lists, tuples, marks, the end
    rb"|\x94|q.|r...\x00|h.|j...\x00",  # the memo
    re.DOTALL,
)


def read_batch(
    path: str | os.PathLike[str],
    vehicles: int | None = None,
    capacity: int | None = None,
) -> InstanceBatch:
    """Read a test set; the fleet is not in it and must be given."""
    data = Path(path).read_bytes()
    if not data:
        raise InputError("the file is empty")
    if _PLAIN.sub(b"", data):
        raise InputError(
            "not a pickle of lists, tuples and numbers alone; anything else could run "
            "code and is refused"
        )
    try:
        entries = pickle.loads(data)
    except Exception as error:  # broken pickles raise errors of many kinds
        raise InputError(f"not a whole pickle: {error}".splitlines()[0]) from None
    if vehicles is None:
        raise InputError("a pickled test set holds no fleet: give vehicles=")
    depots, customers, demands, loads = _columns(entries)
    return InstanceBatch(
        depots=depots,
        customers=customers,
        demands=demands,
        capacity=loads if capacity is None else capacity,
        vehicles=vehicles,
    )


def _columns(entries: Any) -> tuple[NDArray[np.float64], ...]:
    """The entries as arrays (B, 2), (B, N, 2), (B, N) and (B,)."""
    if type(entries) is not list or not entries:
        raise InputError("not a list of instances, or an empty one")
    size = None
    for i, entry in enumerate(entries):
        if type(entry) not in (tuple, list) or len(entry) != 4:
            raise InputError(
                f"instance {i} is not a tuple (depot, customers, demands, capacity)"
            )
        depot, customers, demands, _ = entry
        if any(type(part) is not list for part in (depot, customers, demands)):
            raise InputError(f"instance {i}: depot, customers or demands is no list")
        size = len(customers) if size is None else size
        if (len(depot), len(customers), len(demands)) != (2, size, size):
            raise InputError(
                f"instance {i} has {len(depot)} coordinates of the depot, "
                f"{len(customers)} customers and {len(demands)} demands, not 2, {size} "
                f"and {size} as in the first"
            )
    count, n = len(entries), size or 0
    for i, entry in enumerate(entries):
        if any(type(point) is not list or len(point) != 2 for point in entry[1]):
            raise InputError(f"instance {i}: a customer is not a list [x, y]")
    return (
        _numbers("depot", [v for e in entries for v in e[0]]).reshape(count, 2),
        _numbers("customer", [v for e in entries for p in e[1] for v in p]).reshape(
            count, n, 2
        ),
        _numbers("demand", [v for e in entries for v in e[2]]).reshape(count, n),
        _numbers("capacity", [e[3] for e in entries]),
    )


def _numbers(what: str, values: list[Any]) -> NDArray[np.float64]:
    # By type and not by conversion: numpy would dive into lists that hold themselves.
    if not set(map(type, values)) <= {int, float}:
        raise InputError(f"a {what} holds something that is not a number")
    return np.array(values, dtype=np.float64)


def write_batch(path: str | os.PathLike[str], batch: InstanceBatch) -> None:
    """Write a test set; it has no place for the fleet, which its reader must give."""
    batch.require_plain("a file of instances")
    entries = list(
        zip(
            batch.depots.tolist(),
            batch.customers.tolist(),
            batch.demands.tolist(),
            batch.capacity.astype(float).tolist(),
            strict=True,
        )
    )
    _log.info("%s: a pickled test set holds no fleet; its reader must give it", path)
    with atomic.replacing(path) as file:
        pickle.dump(entries, file, protocol=4)
