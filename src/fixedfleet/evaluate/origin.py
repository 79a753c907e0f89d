"""
Where a row of results comes from: the machine, and the versions and hashes of the code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import json
import platform
import shlex
import shutil
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.registry import source_hash
from fixedfleet.search import SEARCHES
from fixedfleet.version import describe_commit, own_version, version_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fixedfleet.evaluate.methods import Method
    from fixedfleet.evaluate.rows import Row
    from fixedfleet.instance import Instance

__all__ = [
    "describe_mix",
    "digest",
    "instance_hash",
    "machine_name",
    "made_with",
    "without_outdated",
]

# The keys of hashes of what made a row. If one of them differs, the method is another.
_MAKERS = ("network", "program", "source")
# Fields of an instance that do not affect plans, or that rows have in their own field.
_UNHASHED = {"time_unit", "name", "names", "depot_name", "unit", "columns", "vehicles"}


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
    """
    Return the versions and hashes of a method, which its rows record.

    The keys are explained at :attr:`Row.made`.
    """
    made = {"fixedfleet": own_version(), "commit": describe_commit()}
    start = getattr(method, "start", None)
    search, spec = (_text(method, name) for name in ("search", "spec"))
    names = {*_texts(method), *_texts(start)}
    if package := SEARCHES.abilities(search).package:
        made[package] = version_of(package)
    if getattr(method, "prove", False) is True:  # GLOP of OR-Tools computes the bound
        made["ortools"] = version_of("ortools")
    if search.startswith("command:"):
        made["program"] = _program_hash(search.removeprefix("command:"))
    for part in (method, start):
        # The method's check reports a missing network.
        with contextlib.suppress(InputError, MissingPackageError, OSError):
            network = getattr(part, "network", None)
            if inspect.ismethod(network):  # a method may also have an attribute network
                file: Path = network()
                made |= {"network": digest(file), "network_file": file.name}
                made["torch"] = version_of("torch")
                names |= _parts_of_network(file)
    sources = sorted({source_hash(part) for part in (method, start, *names)} - {""})
    made["source"] = "+".join(sources)
    made["spec"] = spec
    return {key: value for key, value in made.items() if value}


def _text(part: object, name: str) -> str:
    """
    Return the attribute ``name`` of a method if it is a string, otherwise "".

    In a user-defined method, the attribute may have any type.
    """
    value = getattr(part, name, "")
    return value if isinstance(value, str) else ""


def _texts(part: object) -> Iterator[str]:
    """
    Return an iterator over the attributes of a method or start that are strings.

    They may be names of other parts, such as a decoder.
    """
    values = getattr(part, "__dict__", {}).values()
    return (value for value in values if isinstance(value, str))


def _parts_of_network(file: Path) -> set[str]:
    """Return the names of a network's class and of the other parts that it needs."""
    from fixedfleet.model.weights import named_parts, read_metadata

    facts = read_metadata(file)
    return {*named_parts(facts.get("network", ""), json.loads(facts["config"]))}


def _program_hash(command: str) -> str:
    """
    Return the hash of a program and of all files that its command line names.

    The result is "" if none of these files exists.
    """
    first, *others = shlex.split(command)
    files = [shutil.which(first), *others]
    texts = [Path(file).read_bytes() for file in files if file and Path(file).is_file()]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:8] if texts else ""


def instance_hash(instance: Instance) -> str:
    """
    Return the first eight digits of the SHA-256 of an instance.

    The hash covers everything that affects the cost of a plan, but neither the number
    of vehicles nor names. It is the same on every machine.
    """
    found = hashlib.sha256()
    for known in fields(instance):
        value = getattr(instance, known.name)
        # A detour factor of 1 is not hashed, because older rows were made without it.
        unused = value is None or (known.name == "detour" and value == 1.0)
        if known.name in _UNHASHED or unused:
            continue
        found.update(known.name.encode())
        if isinstance(value, np.ndarray):
            found.update(np.ascontiguousarray(value, dtype="<f8").tobytes())
        else:
            found.update(repr(value).encode())
    return found.hexdigest()[:8]


def without_outdated(rows: Iterable[Row], methods: Sequence[Method]) -> list[Row]:
    """
    Return the rows whose methods have not changed since the rows were made.

    A method has changed if its program, its source file or its network differs, or if
    the user has given its name to another spec. Programs, source files and networks are
    compared only if both the row and the method have a hash of them. A row is kept if
    its method is not in ``methods``.
    """
    made = {(m.name, getattr(m, "objective", "length")): made_with(m) for m in methods}
    return [
        row
        for row in rows
        if (now := made.get((row.method, row.objective))) is None
        or _same_makers(row.made, now)
    ]


def _same_makers(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    if then.get("spec", "") != now.get("spec", ""):
        return False
    both = [key for key in _MAKERS if key in then and key in now]
    return all(then[key] == now[key] for key in both)


def describe_mix(pairs: Iterable[tuple[Row, Row]]) -> list[str]:
    """
    Return sentences about rows that were made with other versions than today's.

    There is one sentence for each package, and one for the commit of fixedfleet. Two
    further sentences say how many rows lack the hash of their instance, and for how
    many the row or today's method lacks the hash of a program, source or network.

    Parameters
    ----------
    pairs
        Pairs of a row of a file, and the row that the same run would get now. The
        second row need not have results.
    """
    versions: dict[str, set[str]] = {}
    untold = unhashed = 0
    for row, here in pairs:
        untold += not row.instance_hash
        now = here.made
        unhashed += any((key in row.made) != (key in now) for key in _MAKERS)
        for key in now.keys() - {*_MAKERS, "spec", "network_file"}:
            if (then := row.made.get(key, "unknown")) != now[key]:
                versions.setdefault(f"{key} {now[key]}", set()).add(then)
    said = [
        f"rows in the file were made with another version than {now}: "
        f"{', '.join(sorted(then))}"
        for now, then in sorted(versions.items())
    ]
    if untold:
        said.append(f"{untold:,} rows in the file do not record their instance's data")
    if unhashed:
        said.append(
            f"{unhashed:,} rows in the file cannot be compared with their methods, "
            "because a hash of the program, source file or network is missing"
        )
    return said


def digest(path: Path) -> str:
    """Return the first eight digits of a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
