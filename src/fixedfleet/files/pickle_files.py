"""
The Attention Model's pickled test sets.

Such a file is a list of tuples ``(depot, customers, demands, capacity)`` of lists and
numbers (Kool et al., "Attention, Learn to Solve Routing Problems!").
"""

from __future__ import annotations

import logging
import pickle
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.files import atomic
from fixedfleet.files.text import read_bytes
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["read_batch", "write_batch"]

_MOST_BYTES = 2 * 10**9

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
    data = read_bytes(path, _MOST_BYTES)
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


def _columns(entries: Any) -> list[NDArray[np.float64]]:
    """Return the entries as arrays (B, 2), (B, N, 2), (B, N) and (B,)."""
    if type(entries) is not list or not entries:
        raise InputError("not a list of instances, or an empty one")
    try:
        n = len(entries[0][1])
    except (TypeError, IndexError):
        n = 0
    rows = []
    for i, entry in enumerate(entries):
        try:
            parts = [np.array(part, dtype=np.float64) for part in entry]
        except (TypeError, ValueError):
            parts = []
        if [part.shape for part in parts] != [(2,), (n, 2), (n,), ()]:
            raise InputError(
                f"instance {i} is not a tuple (depot, customers, demands, capacity) "
                f"with 2 coordinates, {n} customers and {n} demands"
            )
        rows.append(parts)
    return [np.array(column) for column in zip(*rows, strict=True)]


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
