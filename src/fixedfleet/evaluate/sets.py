"""Sets of instances for evaluations: by name, drawn at random, or read from files."""

from __future__ import annotations

import glob
import itertools
import math
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet import files, generate
from fixedfleet.errors import InputError, at_least, check_vehicle_cost, check_whole
from fixedfleet.evaluate.best_known import best_known
from fixedfleet.evaluate.origin import instance_hash
from fixedfleet.evaluate.rows import Results
from fixedfleet.instance import InstanceBatch
from fixedfleet.labels import has_labels, load_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fixedfleet.instance import Instance

__all__ = ["VEHICLE_COSTS", "InstanceSet", "get_set", "is_named"]

# Fixed cost per vehicle, by the number of customers.
VEHICLE_COSTS = {20: 35.0, 50: 50.0, 100: 80.0}

# Matches vrp20, clustered50, uniform20:7, and rings.py:ring:50:7 for a user's file.
_NAMED = re.compile(r"(.+?)(?<!\d):?(\d+)(?::(\d+))?", re.ASCII)
_TEST_SETS = ("vrp", "strict", "filled", "kool", "tight")
_NAMES = (
    "vrp20, vrp50, vrp100, strict20 …, filled20 …, kool20 …, tight20 …, or a "
    "distribution with the number of customers (uchoa100, uniform20:SEED)"
)
_READABLE = (*files.INSTANCE_EXTENSIONS, *files.BATCH_EXTENSIONS)
# Uniform instances depend on the seed and on how many are drawn at once. So this number
# is always drawn, and the first of them are used.
_DRAWN = 10_000
_SEED = 1234  # the seed of distributions, unless another one is given
_FURTHER_SEED = 1235  # the seed of the additional instances of ``filled20``, …


@dataclass(frozen=True, kw_only=True, repr=False)
class InstanceSet:
    """
    Named instances, and the costs of reference plans.

    Parameters
    ----------
    name
        Name of the set.
    instances
        The instances, each with a different name.
    vehicle_cost
        Fixed cost per vehicle used. Cost_v is the length of a plan plus these costs.
    reference
        Length of the best known plan, by the instance's name; some or all may be
        missing.
    reference_cost_v
        Smallest known Cost_v of a plan, by the instance's name; some or all may be
        missing.
    """

    name: str
    instances: Sequence[Instance]
    vehicle_cost: float = 0.0
    reference: Mapping[str, float] = field(default_factory=dict)
    reference_cost_v: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_vehicle_cost(self.vehicle_cost)
        if not self.instances:
            raise InputError(f"the set {self.name!r} has no instances")
        seen = set()
        for instance in self.instances:
            if not instance.name or instance.name in seen:
                raise InputError(
                    f"the set {self.name!r} has an instance "
                    + (f"{instance.name!r} twice" if instance.name else "with no name")
                )
            seen.add(instance.name)

    def __len__(self) -> int:
        return len(self.instances)

    def __repr__(self) -> str:
        known = len(self.reference)
        return f"InstanceSet({self.name!r}, {len(self)} instances, {known} references)"

    @property
    def names(self) -> list[str]:
        """The names of the instances, in order."""
        return [instance.name for instance in self.instances]


def is_named(spec: str) -> bool:
    """
    Return whether a spec is the name of a set, such as vrp20, and not of a file.

    If a file with this name exists, the result is False.
    """
    return _parse_name(spec) is not None


def _parse_name(spec: object) -> tuple[str, int, int | None] | None:
    """
    Return the kind, the number of customers and the seed of a named set.

    For ``clustered50:7``, they are ``clustered``, 50 and 7. The seed is None if the
    name has no seed. The result is None if the spec is not the name of a set.
    """
    named = _NAMED.fullmatch(spec) if isinstance(spec, str) else None
    if named is None or os.path.exists(named[0]):
        return None
    kind, size, seed = named.groups()
    known = kind in _TEST_SETS or generate.DISTRIBUTIONS.knows(kind) or ":" in kind
    return (kind, int(size), None if seed is None else int(seed)) if known else None


def get_set(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    count: int | None = 1000,
    reference: str | os.PathLike[str] | None = None,
    vehicle_cost: float | None = None,
    vehicles: int | None = None,
) -> InstanceSet:
    """
    Return a set of instances: by name, drawn from a distribution, or read from files.

    Parameters
    ----------
    spec
        The name of a set, or files. The names of sets, here for 20 customers (also 50
        and 100):

        ``vrp20``: the public test set without the instances whose total demand exceeds
        the capacity of the fleet, Σq > MQ.

        ``strict20``: ``vrp20`` without the instances that fill the fleet exactly,
        Σq = MQ.

        ``filled20``: ``strict20`` and further instances of this kind, 10,000 in total.

        ``kool20``: all instances of the public test set.

        ``tight20``: the instances of ``vrp20`` with the smallest conceivable fleet,
        ⌈Σq/Q⌉ vehicles.

        ``clustered50:7``: instances of 50 customers, drawn from the distribution
        ``clustered`` with seed 7 (default: 1234). Your own distribution is
        ``rings.py:ring:50:7``. To tune a method, use other seeds than 1234, as in
        ``uniform20:7``: the test sets have the seed 1234.

        Files are given as a path, a pattern such as ``X/*.vrp``, or several paths:
        files of instances (.vrp, .csv, .json), of batches (.npz, .pkl, .pt, .txt) or of
        labels, and folders of these. In folders, .txt files are ignored.
    count
        Take only this many instances, the first ones; None: all.
    reference
        For a set by its name: a file of rows that ``evaluate`` has written. The best
        plan of each instance in it is the reference. Instances from files have their
        own references: the ``.sol`` beside a VRPLIB file, or the comment in it; or the
        plans of labels.
    vehicle_cost
        Fixed cost per vehicle. Default: 35, 50 and 80 for the sets of 20, 50 and 100
        uniform customers; 0 for all others.
    vehicles
        The number of vehicles of instances from files. Default: that in the files.

    Raises
    ------
    InputError
        If there is no such set or file, or if the reference file has no plan for any
        instance of the set.
    """
    if count is not None:
        check_whole("count", count, at_least(1))
    if (named := _parse_name(spec)) is not None:
        if vehicles is not None:
            raise InputError(f"the set {spec!r} has its own fleet: leave vehicles out")
        found = _named_set(str(spec), *named, count, vehicle_cost)
        return found if reference is None else _with_reference(found, Path(reference))
    if reference is not None:
        given = spec if isinstance(spec, (str, os.PathLike)) else next(iter(spec))
        raise InputError(
            "a file of reference plans is for sets by name, not for "
            f"{os.fspath(given)}: the best known plans of files are read from beside "
            "the files"
        )
    return _from_files(_paths(spec), count, vehicle_cost or 0.0, vehicles)


def _named_set(
    spec: str,
    kind: str,
    size: int,
    seed: int | None,
    count: int | None,
    vehicle_cost: float | None,
) -> InstanceSet:
    if kind not in _TEST_SETS:
        batch, names = _draw_distribution(kind, size, seed, count)
    elif seed is None:
        batch, names = _draw_test_set(kind, size, count)
    else:
        raise InputError(
            f"set {spec!r}: a test set takes no seed; uniform{size}:{seed} has other "
            "instances of this kind"
        )
    if vehicle_cost is None:
        uniform = kind in (*_TEST_SETS, "uniform")
        vehicle_cost = VEHICLE_COSTS.get(size, 0.0) if uniform else 0.0
    return InstanceSet(
        name=spec,
        instances=[replace(batch[row], name=name) for row, name in enumerate(names)],
        vehicle_cost=vehicle_cost,
    )


def _draw_distribution(
    kind: str, size: int, seed: int | None, count: int | None
) -> tuple[InstanceBatch, list[str]]:
    """
    Return instances drawn from the distribution ``kind``, and their names.

    ``size`` is the number of customers; ``seed`` and ``count`` are as in
    :func:`get_set`.
    """
    stem = f"{kind.rpartition(':')[2]}{size}" + ("" if seed is None else f":{seed}")
    drawn = _DRAWN if count is None or kind == "uniform" else count
    seed = _SEED if seed is None else seed
    batch = generate.draw(kind, size, drawn, seed=seed)[:count]
    return batch, [f"{stem}/{row}" for row in range(len(batch))]


def _draw_test_set(
    kind: str, size: int, count: int | None
) -> tuple[InstanceBatch, list[str]]:
    """
    Return the first ``count`` instances of a test set, and their names.

    ``kind`` and ``size`` are the two parts of a name such as ``strict20``.
    """
    if size not in VEHICLE_COSTS:
        raise InputError(f"no set {kind}{size}: choose from {_NAMES}")
    batch = generate.test_set(size, reject=False)
    rows, stem = np.arange(len(batch)), f"test{size}"
    if kind in ("strict", "filled"):
        rows = _below_capacity(batch)
    elif kind in ("vrp", "tight"):
        rows = np.flatnonzero(batch.minimum_vehicles <= batch.vehicles)
        if kind == "tight":
            stem, batch = f"tight{size}", batch.with_vehicles(batch.minimum_vehicles)
    names = [f"{stem}/{row}" for row in rows]
    batch = batch[rows]
    if kind == "filled":
        others = generate.uniform(size, _DRAWN, seed=_FURTHER_SEED)
        rows = _below_capacity(others)[: _DRAWN - len(batch)]
        names += [f"uniform{size}:{_FURTHER_SEED}/{row}" for row in rows]
        batch = InstanceBatch.of([*batch, *others[rows]])
    return batch[:count], names[:count]


def _below_capacity(batch: InstanceBatch) -> np.ndarray:
    """
    Return the row numbers of the instances whose demands do not fill the fleet.

    They have Σq < MQ: the total demand is below the capacity of all vehicles.
    """
    return np.flatnonzero(batch.demands.sum(1) < batch.vehicles * batch.capacity)


def _with_reference(chosen: InstanceSet, path: Path) -> InstanceSet:
    """
    Return the set, with the costs of the best plans in a file of rows as references.

    InputError is raised if the file has no plan for any instance of the set.
    """
    if not path.is_file():
        raise InputError(
            f"no file of reference plans {path}: give rows that evaluate has written"
        )
    lengths: dict[str, float] = {}
    costs_v: dict[str, float] = {}
    names = set(chosen.names)
    hashes = {one.name: instance_hash(one) for one in chosen.instances}
    for row in Results(path).rows():
        if not row.within or row.length is None or row.vehicles is None:
            continue
        known = hashes.get(row.instance, row.instance_hash)
        if row.instance_hash not in ("", known):
            raise InputError(
                f"{path} has plans of another instance {row.instance!r}: it was drawn "
                "by another distribution or for another count; make the reference again"
            )
        cost_v = row.length + row.vehicles * chosen.vehicle_cost
        # A plan for a set with the smallest fleet is also a plan for the larger fleet.
        for name in names & {row.instance, row.instance.replace("tight", "test", 1)}:
            costs_v[name] = min(cost_v, costs_v.get(name, math.inf))
        if row.instance in names:
            shortest = lengths.get(row.instance, math.inf)
            lengths[row.instance] = min(row.length, shortest)
    if not lengths:
        raise InputError(f"{path} has no plan for an instance of {chosen.name!r}")
    return replace(chosen, reference=lengths, reference_cost_v=costs_v)


def _paths(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> list[Path]:
    """Return the files and label folders that a spec stands for."""
    given = [spec] if isinstance(spec, (str, os.PathLike)) else list(spec)
    paths: list[Path] = []
    for entry in (os.fspath(path) for path in given):
        matches = sorted(glob.glob(entry), key=_by_numbers)
        if os.path.exists(entry):
            matches = [entry]
        for match in matches:
            paths += _unfold(Path(match))
        if matches:
            continue
        if glob.escape(entry) == entry and Path(entry).suffix not in _READABLE:
            raise InputError(
                f"unknown set {entry!r}: choose from {_NAMES}, or give files "
                f"{', '.join(_READABLE)}"
            )
        raise InputError(f"no file {entry}")
    return paths


def _unfold(path: Path) -> list[Path]:
    """
    Return the instance files in a folder, sorted by name.

    For a file or a folder of labels, the result is this path alone.
    """
    if not path.is_dir() or has_labels(path):
        return [path]
    taken = [one for one in _READABLE if one != ".txt"]  # it may be a description
    found = [str(one) for one in path.iterdir() if one.suffix.lower() in taken]
    if not found:
        raise InputError(f"{path} has no files {', '.join(taken)}")
    return [Path(one) for one in sorted(found, key=_by_numbers)]


def _from_files(
    paths: list[Path], count: int | None, vehicle_cost: float, vehicles: int | None
) -> InstanceSet:
    found = itertools.chain.from_iterable(_read(path, vehicles) for path in paths)
    pairs = list(itertools.islice(found, count))
    together = os.path.commonpath([path.absolute().parent for path in paths])
    batch = paths[0].is_dir() or paths[0].suffix.lower() in files.BATCH_EXTENSIONS
    return InstanceSet(
        name=paths[0].stem if batch and len(paths) == 1 else Path(together).name,
        instances=[instance for instance, _ in pairs],
        vehicle_cost=vehicle_cost,
        reference={one.name: length for one, length in pairs if length is not None},
    )


def _read(path: Path, vehicles: int | None) -> Iterator[tuple[Instance, float | None]]:
    """
    Yield pairs of an instance and the cost of its reference plan.

    The instances are those of a file or label folder. The cost is None if there is no
    reference plan. ``vehicles`` replaces the number of vehicles in the file.
    """
    if has_labels(path):
        if vehicles is not None:
            raise InputError(f"{path}: labels have their fleet: leave vehicles out")
        batch, plans, labelled = load_labels(path)
        lengths = np.where(labelled, plans.lengths(batch), np.nan)
    elif path.suffix.lower() in files.BATCH_EXTENSIONS:
        batch = files.read_batch(path, vehicles)
        lengths = np.full(len(batch), np.nan)
    elif path.suffix.lower() == ".vrp" and vehicles is None:
        yield best_known(path)
        return
    else:
        yield replace(files.read(path, vehicles), name=path.stem), None
        return
    for row, (instance, length) in enumerate(zip(batch, lengths, strict=True)):
        known = None if np.isnan(length) else float(length)
        yield replace(instance, name=f"{path.stem}/{row}"), known


def _by_numbers(path: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers by value: X-n101 comes before X-n1001."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", path)
    ]
