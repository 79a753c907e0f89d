"""Figures from rows: means with 95 % intervals, shares, gaps and integrals."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.evaluate.integrals import primal_integral, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fixedfleet.evaluate.methods import Objective
    from fixedfleet.evaluate.rows import Row, Trace
    from fixedfleet.evaluate.sets import InstanceSet

__all__ = ["Mean", "Summary", "describe_clocks", "summaries", "summarise"]

# Method, objective, time limit and iterations of a summary.
Group = tuple[str, str, float | None, int | None]
# Method, objective, time limit, instance and seed of a run.
Run = tuple[str, str, float | None, str, int]

_TOLERANCE = 1.1  # a run that takes more than this many time limits is an overrun
_CLOCKS = 0.1  # a larger relative difference of wall and processor time is reported
_SHORTEST = 0.01  # seconds; shorter runs are too short to compare the two times


@dataclass(frozen=True)
class Mean:
    """
    A mean over ``count`` instances, the seeds of each averaged first.

    ``half`` is half the width of its 95 % interval by Student's t; None for a single
    instance.
    """

    value: float
    half: float | None
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean | None:
        """Return the mean of one value per instance; None without values."""
        from scipy.special import stdtrit  # the quantile of Student's t

        if not values:
            return None
        half = None
        if len(values) > 1:
            error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
            half = float(stdtrit(len(values) - 1, 0.975)) * error
        return cls(fmean(values), half, len(values))


@dataclass(frozen=True, kw_only=True)
class Summary:
    """
    The figures of a method on a set with one limit.

    Attributes
    ----------
    set, method, objective, time_limit, iterations
        What was run.
    machines
        Names of the processors or GPUs that ran it.
    runs
        Number of rows: instances times seeds.
    served, within
        Number of rows whose plan serves all customers within capacity, with any fleet
        and within the fleet.
    share_within, share_violating
        Share of the rows that are ``within``, and of those that are ``served`` with
        more vehicles than the fleet has.
    excess
        Mean number of vehicles beyond the fleet, over the rows that violate it; 0
        without such rows.
    length, vehicles, cost_v
        Means over the instances served.
    floor
        Mean of ⌈Σq/Q⌉ times the vehicle cost over the same instances: the least that
        vehicles cost in any plan.
    gap
        Mean percentage above the reference of the method's objective, over the
        instances solved within the fleet that have a reference.
    seconds, cpu_seconds
        Mean wall time and mean processor time per instance; the latter is None if no
        row has it.
    calibration
        Mean of :attr:`Row.calibration`; None if no row has it.
    overrun
        Share of the rows that took more than 1.1 times their time limit; None without
        a time limit.
    primal_integral, wrap
        See :mod:`fixedfleet.evaluate.integrals`; None without a time limit, without
        references, for a method that does not report when it found its plans, or (wrap)
        without a base that reports and has the same objective.
    """

    set: str
    method: str
    objective: Objective
    time_limit: float | None
    iterations: int | None
    machines: tuple[str, ...]
    runs: int
    served: int
    within: int
    share_within: float
    share_violating: float
    excess: float
    length: Mean | None
    vehicles: Mean | None
    cost_v: Mean | None
    floor: float | None
    gap: Mean | None
    seconds: Mean
    cpu_seconds: Mean | None
    calibration: Mean | None
    overrun: float | None
    primal_integral: Mean | None = None
    wrap: Mean | None = None

    @property
    def clocks_differ(self) -> bool:
        """Whether wall time and processor time differ by more than a tenth."""
        cpu = self.cpu_seconds
        return cpu is not None and _differ(self.seconds.value, cpu.value)

    @property
    def cost_v_floor(self) -> float | None:
        """The smallest mean Cost_v that plans of this mean length can have."""
        if self.length is None or self.floor is None:
            return None
        return self.length.value + self.floor


def summaries(
    rows: Iterable[Row], instance_set: InstanceSet, *, base: str | None = None
) -> list[Summary]:
    """
    Return one summary per method, objective and limit, in this order.

    Parameters
    ----------
    rows
        Rows of any sets; those of other instances are ignored.
    instance_set
        The set.
    base
        Name of the method that WRAP is relative to.

    Raises
    ------
    InputError
        If there are no rows of the base, or the set has no references.
    """
    names = set(instance_set.names)
    groups: dict[Group, list[Row]] = defaultdict(list)
    traces: dict[Run, Trace] = {}
    for row in rows:
        if row.instance in names:
            groups[_group_key(row)].append(row)
            if row.trace and row.within:
                traces[_run_key(row, row.method)] = row.trace
    if base is not None:
        if not any(method == base for method, *_ in groups):
            raise InputError(f"no rows of the base {base!r} on {instance_set.name}")
        if not instance_set.reference:
            raise InputError(
                f"WRAP needs a reference, and {instance_set.name} has none"
            )
    found = []
    for group in (groups[key] for key in sorted(groups, key=_order)):
        known = _references(group[0], instance_set)
        integral, relative = _integrals(group, traces, base, known)
        summary = summarise(group, instance_set)
        found.append(replace(summary, primal_integral=integral, wrap=relative))
    return found


def summarise(rows: Sequence[Row], instance_set: InstanceSet) -> Summary:
    """Return the summary of one method with one limit, without the integrals."""
    if len({_group_key(row) for row in rows}) != 1:
        raise InputError("a summary is of the rows of one method with one limit")
    first = rows[0]
    served = [row for row in rows if row.served]
    within = [row for row in rows if row.within]
    violating = [row for row in served if row.excess]
    known = _references(first, instance_set)
    floors = _mean(served, lambda row: row.floor * row.vehicle_cost)
    limit = first.time_limit and _TOLERANCE * first.time_limit
    return Summary(
        set=instance_set.name,
        method=first.method,
        time_limit=first.time_limit,
        iterations=first.iterations,
        objective=first.objective,
        machines=tuple(sorted({row.machine for row in rows})),
        runs=len(rows),
        served=len(served),
        within=len(within),
        share_within=len(within) / len(rows),
        share_violating=len(violating) / len(rows),
        excess=fmean(row.excess for row in violating) if violating else 0.0,
        length=_mean(served, lambda row: row.length),
        vehicles=_mean(served, lambda row: row.vehicles),
        cost_v=_mean(served, lambda row: row.cost_v),
        floor=None if floors is None else floors.value,
        gap=_mean(within, lambda row: _gap(row, known)),
        seconds=_mean(rows, lambda row: row.seconds) or Mean(0.0, None, 0),
        cpu_seconds=_mean(rows, lambda row: row.cpu_seconds),
        calibration=_mean(rows, lambda row: row.calibration),
        overrun=None if limit is None else fmean(r.seconds > limit for r in rows),
    )


def describe_clocks(rows: Iterable[Row]) -> list[str]:
    """
    Say for which methods and limits wall time and processor time differ.

    Some solvers count wall time and some processor time, so a comparison within a time
    limit is fair only if both are the same.
    """
    groups: dict[Group, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.cpu_seconds is not None:
            groups[_group_key(row)].append((row.seconds, row.cpu_seconds))
    said = []
    for key in sorted(groups, key=_order):
        wall, cpu = map(fmean, zip(*groups[key], strict=True))
        if not _differ(wall, cpu):
            continue
        limit = "" if key[2] is None else f" with {key[2]:g} s"
        busy = "the machine was busy, or the method waited"
        why = "it used several cores" if cpu > wall else busy
        said.append(
            f"{key[0]}{limit}: {wall:.3g} s of wall time and {cpu:.3g} s of processor "
            f"time per instance ({why})"
        )
    return said


def _differ(wall: float, cpu: float) -> bool:
    return wall >= _SHORTEST and abs(cpu - wall) > _CLOCKS * wall


def _group_key(row: Row) -> Group:
    """Return what the rows of one summary have in common."""
    return row.method, row.objective, row.time_limit, row.iterations


def _order(key: Group) -> tuple[str, str, float, int]:
    method, objective, seconds, iterations = key
    return method, objective, seconds or 0.0, iterations or 0


def _references(row: Row, instance_set: InstanceSet) -> Mapping[str, float]:
    """Return the reference costs that match the row's objective."""
    if row.objective == "cost-v":
        return instance_set.reference_cost_v
    return instance_set.reference


def _gap(row: Row, references: Mapping[str, float]) -> float | None:
    cost, reference = row.cost, references.get(row.instance, 0.0)
    # There is no percentage of a reference of 0, where all customers are at the depot.
    return None if cost is None or reference <= 0 else 100 * (cost / reference - 1)


def _run_key(row: Row, method: str) -> Run:
    """
    Return the key of the run of another method under the same conditions as a row.
    """
    return method, row.objective, row.time_limit, row.instance, row.seed


def _integrals(
    group: list[Row],
    traces: Mapping[Run, Trace],
    base: str | None,
    references: Mapping[str, float],
) -> tuple[Mean | None, Mean | None]:
    """
    Return the mean primal integral and WRAP of a group, where they are defined.

    Only runs that report when they found their plans have an integral: the end of a run
    does not say when its plan was found.
    """
    limit = group[0].time_limit
    if limit is None or not any(row.trace for row in group):
        return None, None

    def mine(row: Row) -> Trace | None:
        """
        Return a row's trace; it is empty without a plan within the fleet.

        None if the row has no reference, or its method does not report its plans.
        """
        known = references.get(row.instance, 0.0) > 0 and (row.trace or not row.within)
        return traces.get(_run_key(row, row.method), ()) if known else None

    def integral(row: Row) -> float | None:
        trace = mine(row)
        if trace is None:
            return None
        return primal_integral(trace, references[row.instance], limit)

    def relative(row: Row) -> float | None:
        trace, other = mine(row), traces.get(_run_key(row, base or ""))
        if trace is None or not other:
            return None
        return wrap(trace, other, references[row.instance], limit)

    return _mean(group, integral), _mean(group, relative)


def _mean(rows: Iterable[Row], value: Callable[[Row], float | None]) -> Mean | None:
    """Return the mean over instances of each row's value, averaging seeds first."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if (number := value(row)) is not None:
            found[row.instance].append(number)
    return Mean.of([fmean(numbers) for numbers in found.values()])
