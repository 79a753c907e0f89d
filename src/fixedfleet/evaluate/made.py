"""What rows are made with: this package's version, and a network's file."""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fixedfleet.evaluate.protocol import Method
    from fixedfleet.evaluate.rows import Row

__all__ = ["current", "digest", "made_with"]

_DIGITS = 8


def made_with(method: Method, customers: int) -> Mapping[str, str]:
    """Return what a row of a method says it was made with; see :class:`Row`."""
    return _made(_digest_of(method, customers))


def current(rows: Iterable[Row], methods: Mapping[str, Method]) -> list[Row]:
    """
    Leave out rows of networks that were replaced since.

    Rows are kept where they do not tell their network, where its file is not here to
    compare with, and where they are of none of the methods.

    Parameters
    ----------
    rows
        Rows of any methods.
    methods
        Methods by the names they have in the rows.
    """
    return [row for row in rows if not _replaced(row, methods.get(row.method))]


def digest(path: Path) -> str:
    """Return the first digits of a file's SHA-256."""
    return _digest(path, path.stat().st_mtime_ns)


def _replaced(row: Row, method: Method | None) -> bool:
    then = row.made.get("network")
    if then is None or method is None:
        return False
    now = _digest_of(method, row.customers)
    return now is not None and now != then


def _digest_of(method: Method, customers: int) -> str | None:
    """Digest of the network that a method takes for a size; None if it has none."""
    network = getattr(method, "network", None)  # few methods have one
    if network is None:
        return None
    try:
        path = network(customers)
    except (InputError, MissingPackageError):  # not here: nothing to compare with
        return None
    return None if path is None else digest(path)


@functools.cache
def _digest(path: Path, _changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


@functools.cache
def _made(network: str | None) -> Mapping[str, str]:
    found = {"fixedfleet": own_version()}
    return found if network is None else found | {"network": network}
