"""Sets of instances to evaluate on, by name or from files, with their references."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet import files, generate
from fixedfleet.errors import InputError, check_whole
from fixedfleet.evaluate.best_known import best_known
from fixedfleet.plan import PlanBatch
from fixedfleet.search import check_vehicle_cost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fixedfleet.instance import Instance, InstanceBatch

__all__ = ["VEHICLE_COSTS", "InstanceSet", "get_set", "is_named"]

# What a vehicle costs, by the number of customers.
VEHICLE_COSTS = {20: 35.0, 50: 50.0, 100: 80.0}

_NAMED = re.compile(r"(vrp|kool|fresh|uchoa)(\d+)(?::(\d+))?", re.ASCII)
_NAMES = "vrp20, vrp50, vrp100, kool20 …, fresh20:SEED …, uchoa100"
# The sets drawn from a seed have so many instances, of which the first are taken: the
# number drawn is part of the seed.
_DRAWN = 10_000
_UCHOA_SEED = 1234


@dataclass(frozen=True, kw_only=True)
class InstanceSet:
    """
    Named instances, and what is known of their best plans.

    Parameters
    ----------
    name
        Name of the set.
    instances
        The instances, each with a name of its own.
    vehicle_cost
        Fixed cost of each vehicle used, for Cost_v.
    reference
        Lengths of reference plans by the instances' names; may lack some or all.
    reference_cost_v
        Cost_v of reference plans that minimise it, likewise.
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

    @property
    def names(self) -> list[str]:
        """Names of the instances, in order."""
        return [instance.name for instance in self.instances]


def is_named(spec: str) -> bool:
    """Whether a spec is the name of a set, and not of files."""
    return _NAMED.fullmatch(spec) is not None


def get_set(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    count: int | None = 1000,
    reference: str | os.PathLike[str] | None = None,
    vehicle_cost: float | None = None,
) -> InstanceSet:
    """
    Return a set by its name, or read one from VRPLIB files.

    Parameters
    ----------
    spec
        ``vrp20``, ``vrp50``, ``vrp100``: the public test set without the instances
        whose demands exceed the fleet, Σq > MQ. ``kool20``, … the whole of it.
        ``fresh20:7``, …: other instances of that kind, from seed 7, for tuning.
        ``uchoa100``, or another number of customers: instances as Uchoa et al. drew
        the set X. Else a path, a pattern such as ``X/*.vrp``, or several paths.
    count
        How many instances to take from the front; None for all there are.
    reference
        Folder with ``ref_vrp20_cost.npz`` and ``ref_vrp20_costv.npz``, … for the test
        sets. VRPLIB files bring their own: the ``.sol`` beside them, or the comment.
    vehicle_cost
        Fixed cost of a vehicle. Default: 35, 50 and 80 for the sets of 20, 50 and 100
        customers, 0 for Uchoa's and for files.

    Raises
    ------
    InputError
        If there is no such set, no such file, or no reference for it in the folder.
    """
    if count is not None:
        check_whole("count", count, least=1)
    if isinstance(spec, str) and (named := _NAMED.fullmatch(spec)):
        kind, size, seed = named[1], int(named[2]), named[3]
        if (kind == "fresh") != (seed is not None):
            raise InputError(
                f"set {spec!r}: a seed belongs to fresh sets, and to them always: "
                "fresh20:7"
            )
        drawn = _draw(kind, size, None if seed is None else int(seed), count)
        cost = VEHICLE_COSTS.get(size, 0.0) if kind != "uchoa" else 0.0
        return _named_set(
            spec, *drawn, reference, cost if vehicle_cost is None else vehicle_cost
        )
    if reference is not None:
        raise InputError(
            f"a reference folder goes with the test sets, not with {_show(spec)}: the "
            "best known plans of VRPLIB files lie beside them"
        )
    return _from_files(_paths(spec), count, vehicle_cost or 0.0)


def _draw(
    kind: str, size: int, seed: int | None, count: int | None
) -> tuple[InstanceBatch, list[str]]:
    """The first instances of a named set, and their names."""
    if kind == "uchoa":
        count = _DRAWN if count is None else count
        names = [f"uchoa{size}/{row}" for row in range(count)]
        return generate.uchoa_batch(size, count, seed=_UCHOA_SEED), names
    if size not in VEHICLE_COSTS:
        raise InputError(f"no set {kind}{size}: choose from {_NAMES}")
    if seed is not None:
        batch = generate.uniform(size, _DRAWN, seed=seed)
        rows, stem = np.arange(_DRAWN), f"fresh{size}:{seed}"
    else:
        batch = generate.test_set(size, reject=False)
        rows, stem = np.arange(len(batch)), f"test{size}"
    if kind == "vrp":
        needed = -(-batch.demands.sum(axis=1) // batch.capacity)
        rows = np.flatnonzero(needed <= batch.vehicles)
    rows = rows[:count]
    return batch.take(rows), [f"{stem}/{row}" for row in rows]


def _named_set(
    spec: str,
    batch: InstanceBatch,
    names: list[str],
    reference: str | os.PathLike[str] | None,
    vehicle_cost: float,
) -> InstanceSet:
    lengths: dict[str, float] = {}
    costs: dict[str, float] = {}
    if reference is not None:
        if not names[0].startswith("test"):
            raise InputError(
                f"the set {spec!r} has no reference: only vrp20 … and kool20 … have"
            )
        stem = f"ref_vrp{batch.num_customers}"
        folder = Path(reference)
        lengths = _reference(folder / f"{stem}_cost.npz", batch, names, 0.0)
        costs = _reference(folder / f"{stem}_costv.npz", batch, names, vehicle_cost)
    return InstanceSet(
        name=spec,
        instances=[replace(batch[row], name=name) for row, name in enumerate(names)],
        vehicle_cost=vehicle_cost,
        reference=lengths,
        reference_cost_v=costs,
    )


def _reference(
    path: Path, batch: InstanceBatch, names: list[str], vehicle_cost: float
) -> dict[str, float]:
    """Cost of the reference plans for those of the instances that have one."""
    if not path.is_file():
        raise InputError(f"no reference {path}: give the folder that holds it")
    found = files.read_reference(path)
    if (found.n, found.capacity, found.fleet) != (
        batch.num_customers,
        int(batch.capacity[0]),
        int(batch.vehicles[0]),
    ):
        raise InputError(f"{path} is a reference for other instances")
    place = {name: row for row, name in enumerate(names)}
    wanted = [f"test{found.n}/{row}" for row in found.index]
    chosen = [
        row
        for row, name in enumerate(wanted)
        if name in place and bool(found.feasible[row])
    ]
    rows = np.array([place[wanted[row]] for row in chosen], dtype=np.int64)
    plans, instances = PlanBatch(found.routes[chosen]), batch.take(rows)
    bad = np.flatnonzero(~plans.feasible(instances))
    if len(bad):
        raise InputError(f"{path}: the plan for {names[rows[bad[0]]]} is infeasible")
    costs = plans.costs_v(instances, vehicle_cost)
    return {names[row]: float(cost) for row, cost in zip(rows, costs, strict=True)}


def _paths(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> list[Path]:
    given = [spec] if isinstance(spec, (str, os.PathLike)) else list(spec)
    paths: list[Path] = []
    for entry in (os.fspath(path) for path in given):
        if os.path.exists(entry):
            paths.append(Path(entry))
        elif matches := glob.glob(entry):
            paths += map(Path, sorted(matches, key=_by_numbers))
        elif glob.escape(entry) == entry and Path(entry).suffix != ".vrp":
            raise InputError(
                f"unknown set {entry!r}: choose from {_NAMES}, or give files .vrp"
            )
        else:
            raise InputError(f"no file {entry}")
    return paths


def _from_files(
    paths: list[Path], count: int | None, vehicle_cost: float
) -> InstanceSet:
    reference: dict[str, float] = {}
    instances = []
    for path in paths[:count]:
        instance, length = best_known(path)
        instances.append(instance)
        if length is not None:
            reference[instance.name] = length
    return InstanceSet(
        name=Path(os.path.commonpath([path.absolute().parent for path in paths])).name,
        instances=instances,
        vehicle_cost=vehicle_cost,
        reference=reference,
    )


def _by_numbers(path: str) -> list[tuple[int, str]]:
    """Sort X-n101 before X-n1001."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", path)
    ]


def _show(spec: object) -> str:
    return repr(spec) if isinstance(spec, str) else "files"
