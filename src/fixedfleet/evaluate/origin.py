"""What rows are made with: the machine, this package's version, a network's file."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Row

__all__ = ["digest", "machine_name", "made_with", "without_outdated"]

_DIGITS = 8


@functools.cache
def machine_name(gpu: bool = False) -> str:
    """Return the name of this machine's processor, or of its GPU."""
    if gpu:
        with contextlib.suppress(ImportError, AssertionError, RuntimeError):
            import torch

            return torch.cuda.get_device_name()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def made_with(method: Method, customers: int) -> Mapping[str, str]:
    """Return what a method's row records of its making; see :attr:`Row.made`."""
    file = _network_of(method, customers)
    found = {"fixedfleet": _version()}
    if file is None:
        return found
    return found | {"network": digest(file), "network_file": file.name}


def without_outdated(rows: Iterable[Row], methods: Sequence[Method]) -> list[Row]:
    """
    Leave out the rows of networks whose file has changed since.

    A row is kept if it records no network, if the network's file is not here to be
    compared with, or if it belongs to none of the methods.
    """
    by_name = {method.name: method for method in methods}

    @functools.cache
    def present(name: str, customers: int) -> str | None:
        file = _network_of(by_name[name], customers)
        return None if file is None else digest(file)

    def kept(row: Row) -> bool:
        then = row.made.get("network")
        if then is None or row.method not in by_name:
            return True
        return present(row.method, row.customers) in (None, then)

    return [row for row in rows if kept(row)]


def digest(path: Path) -> str:
    """Return the first digits of a file's SHA-256."""
    return _digest(path, path.stat().st_mtime_ns)


@functools.cache
def _digest(path: Path, _changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


@functools.cache
def _version() -> str:
    return own_version()  # reads files


def _network_of(method: Method, customers: int) -> Path | None:
    """Return the file of the network that a method uses for a size, if there is one."""
    network = getattr(method, "network", None)  # most methods have none
    if network is None:
        return None
    try:
        file: Path | None = network(customers)
    except (InputError, MissingPackageError):
        return None
    return file if file is not None and file.is_file() else None
