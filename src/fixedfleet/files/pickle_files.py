"""
Read and write the Attention Model's pickled test sets.

Such a file is a list of tuples ``(depot, customers, demands, capacity)`` of lists and
numbers, or of NumPy's arrays (Kool et al., "Attention, Learn to Solve Routing
Problems!").
"""

from __future__ import annotations

import io
import logging
import pickle
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.files import atomic
from fixedfleet.files.npz_files import make_batch
from fixedfleet.files.text import read_bytes

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch

__all__ = ["read_batch", "write_batch"]

_MOST_BYTES = 2 * 10**9

_log = logging.getLogger("fixedfleet")

# The pickle operations that build lists, tuples and numbers, each with its argument. A
# pickle that has only these operations cannot run code. An Unpickler that refuses
# classes would not be enough: a memo entry with a huge number makes it allocate
# gigabytes. In this pattern, the fourth byte of such a number must be 0.
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
    """Read a test set. The file does not state ``vehicles``, so it must be given."""
    data = read_bytes(path, _MOST_BYTES)
    plain = not _PLAIN.sub(b"", data)
    try:
        entries = pickle.loads(data) if plain else _ArrayUnpickler(data).load()
    except InputError:
        raise
    except Exception as error:  # broken pickles raise errors of many kinds
        raise InputError(f"not a whole pickle: {error}".splitlines()[0]) from None
    if vehicles is None:
        raise InputError("a pickled test set holds no fleet: give {field}", "vehicles")
    names = ("depots", "customers", "demands", "capacity")
    arrays = dict(zip(names, _columns(entries), strict=True))
    return make_batch(arrays, vehicles, capacity)


class _Kind:
    """Stand-in for a dtype of NumPy while a file is unpickled."""

    def __init__(self, code: str, *_options: object) -> None:
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = state[1] if state[1] in ("<", ">") else ""
        self.code = f"{order}{self.code}"

    def read(self, data: bytes, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the numbers that the bytes hold, as an array."""
        if not _NUMBERS.fullmatch(self.code):
            raise InputError(f"an array of {self.code!r}, not of numbers")
        return np.frombuffer(data, dtype=self.code).reshape(shape)


class _Array:
    """Stand-in for an array of NumPy while a file is unpickled; holds numbers only."""

    numbers: NDArray[Any]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, kind, by_columns, data = state
        if by_columns:
            self.numbers = kind.read(data, shape[::-1]).T
        else:
            self.numbers = kind.read(data, shape)

    def __len__(self) -> int:
        return len(self.numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.numbers, dtype=dtype)


def _from_buffer(
    data: bytes, kind: _Kind, shape: tuple[int, ...], order: str
) -> NDArray[Any]:
    if order == "F":
        return kind.read(data, shape[::-1]).T
    return kind.read(data, shape)


# The functions and classes that a pickle of arrays names, and what is called instead of
# each. A pickle that names anything else is refused.
_STAND_INS: dict[str, Any] = {
    "numpy.ndarray": _Array,
    "numpy.dtype": _Kind,
    "multiarray._reconstruct": lambda *_arguments: _Array(),
    "multiarray.scalar": lambda kind, data: kind.read(data, ()),
    "numeric._frombuffer": _from_buffer,
    "_codecs.encode": lambda text, _encoding: text.encode("latin-1"),
}
_NUMBERS = re.compile(r"[<>]?[fiu][1248]")


class _ArrayUnpickler(pickle._Unpickler):
    """
    Builds lists, tuples, numbers and arrays of numbers, and refuses all else.

    The class derives from the unpickler that is written in Python, not from the faster
    one in C. So a memo entry with a huge number does not make it allocate gigabytes.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a function or class of NumPy; refuse any other."""
        short = module if module in ("numpy", "_codecs") else ""
        if module.startswith(("numpy.core.", "numpy._core.")):
            short = module.rpartition(".")[2]
        if f"{short}.{name}" not in _STAND_INS:
            raise InputError(
                f"a pickle that needs {module}.{name} could run code and is refused: "
                "only lists, tuples, numbers and arrays of numbers are read"
            )
        return _STAND_INS[f"{short}.{name}"]


def _columns(entries: Any) -> list[NDArray[np.float64]]:
    """
    Return the depots, customers, demands and capacities of all instances as arrays.

    ``entries`` is the list of tuples in the file, one per instance. The shapes of the
    arrays are (B, 2), (B, N, 2), (B, N) and (B,).
    """
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
        except (TypeError, ValueError, AttributeError):
            parts = []
        if [part.shape for part in parts] != [(2,), (n, 2), (n,), ()]:
            raise InputError(
                f"instance {i} is not a tuple (depot, customers, demands, capacity) "
                f"with 2 coordinates, {n} customers and {n} demands"
            )
        rows.append(parts)
    return [np.array(column) for column in zip(*rows, strict=True)]


def write_batch(path: str | os.PathLike[str], batch: InstanceBatch) -> None:
    """Write a test set. It cannot hold the fleet, which must be given when reading."""
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
