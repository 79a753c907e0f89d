"""What rows of tables were made with, and the command that makes a table again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.definitions import Options
from fixedfleet.version import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from experiments.definitions import Table
    from fixedfleet.evaluate import Row

__all__ = ["command", "recorded"]

_NOT_VERSIONS = {"network", "network_file", "program", "source", "spec"}


def command(table: Table, options: Options, on_gpu: bool) -> str:
    """Return the command for a table, without the folders of this machine."""
    parts = [f"python -m experiments {table.name}"]
    if options.instances != table.instances:
        parts.append(f"--instances {options.instances}")
    if options.seed:
        parts.append(f"--seed {options.seed}")
    if on_gpu:
        parts.append("--device cuda")
    if options.epochs is not None:
        parts.append(f"--epochs {options.epochs}")
    if options.labels is not None:
        parts.append("--labels FOLDER")
    if options.reference != Options.reference:
        parts.append("--reference FILE")
    return " ".join(parts)


def recorded(rows: Iterable[Row]) -> str:
    """Return the versions that rows were made with, all of each package."""
    found: dict[str, set[str]] = {}
    for made in {frozenset(row.made.items()) for row in rows}:
        for name, version in made:
            if name not in _NOT_VERSIONS:
                found.setdefault(name, set()).add(version)
    if set().union(*found.values()) <= {UNKNOWN}:
        return "not recorded"
    return ", ".join(f"{k} {' and '.join(sorted(v))}" for k, v in sorted(found.items()))
