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
    from collections.abc import Iterable, Sequence

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Row

__all__ = ["digest", "machine_name", "made_with", "without_outdated"]


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


def made_with(method: Method) -> dict[str, str]:
    """Return what a method's rows record of their making; see :attr:`Row.made`."""
    made = {"fixedfleet": own_version()}
    for part in (method, getattr(method, "start", None)):
        # A network that is not here is reported by the method's check.
        with contextlib.suppress(InputError, MissingPackageError, OSError):
            if network := getattr(part, "network", None):
                file: Path = network()
                made |= {"network": digest(file), "network_file": file.name}
    return made


def without_outdated(rows: Iterable[Row], methods: Sequence[Method]) -> list[Row]:
    """
    Leave out the rows of networks whose file has changed since.

    A row is kept if it records no network, if the network's file is not here to be
    compared with, or if it belongs to none of the methods.
    """
    networks = {method.name: made_with(method).get("network") for method in methods}
    return [
        row
        for row in rows
        if None in (now := networks.get(row.method), then := row.made.get("network"))
        or now == then
    ]


def digest(path: Path) -> str:
    """Return the first eight digits of a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
