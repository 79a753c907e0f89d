"""Where rows come from: what was installed, on which machine, and what was typed."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import TYPE_CHECKING, Any

from fixedfleet.evaluate.reproduce.definitions import Options
from fixedfleet.version import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fixedfleet.evaluate.reproduce.definitions import Table
    from fixedfleet.evaluate.rows import Row

__all__ = ["command", "installed", "note_run", "recorded"]

_FILE, _FILES = "versions.jsonl", "versions*.jsonl"
_PACKAGES = (
    "fixedfleet",
    "numpy",
    "numba",
    "torch",
    "hybgensea",
    "ortools",
    "pyvrp",
    "pyvroom",
)


def command(name: str, options: Options) -> str:
    """Return what to type for a table; folders of this machine are left open."""
    usual = Options()
    parts = [f"fixedfleet reproduce {name}"]
    for key in ("instances", "seed", "device", "minutes", "epochs", "scale"):
        value = getattr(options, key)
        if value != getattr(usual, key):
            parts.append(f"--{key} {value}")
    for key in ("attention_model", "reference", "labels"):
        if getattr(options, key) is not None:
            parts.append(f"--{key.replace('_', '-')} FOLDER")
    return " ".join(parts)


def installed() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def note_run(table: Table, options: Options) -> None:
    """Write down, beside the rows, what they are made with."""
    options.work.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"table": table.name, "versions": installed()})
    with (options.work / _FILE).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def recorded(options: Options, rows: Iterable[Row] = ()) -> list[str]:
    """
    Return the versions that rows were made with, each combination once.

    Rows tell the version of fixedfleet alone: those combinations are left out that it
    does not occur in. Where a row does not tell, any of the store may be its own.
    """
    told = {row.made.get("fixedfleet") for row in rows}
    paths = sorted(options.work.glob(_FILES))
    texts = [path.read_text(encoding="utf-8").splitlines() for path in paths]
    found = []
    for text in chain.from_iterable(texts):
        try:
            line: Any = json.loads(text)
            versions = line["versions"].items()
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # half a line, from a run that was killed
        own = line["versions"].get("fixedfleet", UNKNOWN)
        if told and None not in told and own not in told:
            continue
        found.append(", ".join(f"{name} {number}" for name, number in versions))
    return list(dict.fromkeys(found))
