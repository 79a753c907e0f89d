"""Summarise rows: means with 95 % intervals, shares, gaps and integrals."""

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

# A summary is identified by method, objective, time limit and iterations.
Group = tuple[str, str, float | None, int | None]
# A run is identified by method, objective, time limit, instance and seed.
Run = tuple[str, str, float | None, str, int]

_TOLERANCE = 1.1  # a run overruns its time limit if it takes this many times as long
_CLOCKS = 0.1  # a larger relative difference of wall and processor time is reported
_SHORTEST = 0.01  # in runs of fewer seconds, the two times are not compared


@dataclass(frozen=True)
class Mean:
    """
    A mean over instances. If an instance has several seeds, they are averaged first.

    Attributes
    ----------
    value
        The mean.
    half
        Half the width of the mean's 95 % interval by Student's t; None for one
        instance.
    count
        The number of instances.
    """

    value: float
    half: float | None
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean | None:
        """Return the mean of one value per instance; None if there are no values."""
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
    The results of a method on a set of instances with one limit.

    Attributes
    ----------
    set, method, objective, time_limit, iterations
        Names of the set and of the method, its objective, and its limit in seconds or
        in iterations.
    machines
        Names of the processors or GPUs that ran the method.
    runs
        Number of rows: instances times seeds.
    served
        Number of rows whose plan serves all customers within the capacity, with any
        number of vehicles.
    within
        Number of rows whose plan also uses no more vehicles than the fleet has.
    share_within
        ``within`` as a share of all rows.
    share_violating
        The share of rows that are ``served``, but with more vehicles than the fleet
        has.
    excess
        Mean number of vehicles beyond the fleet, over the rows that violate it; 0 if
        there are no such rows.
    length, vehicles, cost_v
        Mean length, number of vehicles and Cost_v of the plans that are ``served``.
        Cost_v is the length plus a fixed cost per vehicle used.
    floor
        Mean of ⌈Σq/Q⌉ times the vehicle cost over the same plans: a lower bound on the
        cost of the vehicles. Σq is the total demand, and Q the capacity.
    gap
        Mean percentage by which the method's cost lies above the reference cost, over
        the instances solved within the fleet that have a reference.
    seconds, cpu_seconds
        Mean wall time and mean processor time per instance, in seconds; the latter is
        None if no row has it.
    calibration
        Mean of :attr:`Row.calibration`; None if no row has it.
    overrun
        Share of the rows that took more than 1.1 times their time limit; None if there
        is no time limit.
    primal_integral
        The mean primal integral; see :mod:`fixedfleet.evaluate.integrals`. None if
        there is no time limit or no reference, or if the method does not report when it
        found its plans.
    wrap
        The mean WRAP; see the same module. None in the same cases, and also if no base
        method with the same objective reports when it found its plans.
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
        """The mean length plus ``floor``: a lower bound on ``cost_v``."""
        if self.length is None or self.floor is None:
            return None
        return self.length.value + self.floor


def summaries(
    rows: Iterable[Row], instance_set: InstanceSet, *, base: str | None = None
) -> list[Summary]:
    """
    Return one summary per method, objective and limit, sorted by these.

    Parameters
    ----------
    rows
        Rows of any sets. Rows of instances that are not in ``instance_set`` are
        ignored.
    instance_set
        The set of instances.
    base
        Name of the method with which WRAP compares the others. Default: WRAP is not
        computed.

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
    """
    Return the summary of the rows of one method with one limit.

    The primal integral and WRAP are not computed.
    """
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
    Return a sentence for each method and limit whose wall and processor times differ.

    Some solvers limit their wall time, others their processor time. So a comparison of
    them is fair only if both times of each solver are about the same.
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
    """
    Return method, objective and limit of a row; a summary has rows of equal keys.

    The limit is two values: seconds and iterations.
    """
    return row.method, row.objective, row.time_limit, row.iterations


def _order(key: Group) -> tuple[str, str, float, int]:
    method, objective, seconds, iterations = key
    return method, objective, seconds or 0.0, iterations or 0


def _references(row: Row, instance_set: InstanceSet) -> Mapping[str, float]:
    """
    Return the reference costs by instance, of the kind that the row's method minimises.
    """
    if row.objective == "cost-v":
        return instance_set.reference_cost_v
    return instance_set.reference


def _gap(row: Row, references: Mapping[str, float]) -> float | None:
    cost, reference = row.cost, references.get(row.instance, 0.0)
    # There is no percentage of a reference of 0, where all customers are at the depot.
    return None if cost is None or reference <= 0 else 100 * (cost / reference - 1)


def _run_key(row: Row, method: str) -> Run:
    """
    Return the key of a run of ``method`` under the same conditions as the row's run.

    The conditions are objective, time limit, instance and seed.
    """
    return method, row.objective, row.time_limit, row.instance, row.seed


def _integrals(
    group: list[Row],
    traces: Mapping[Run, Trace],
    base: str | None,
    references: Mapping[str, float],
) -> tuple[Mean | None, Mean | None]:
    """
    Return the mean primal integral and the mean WRAP of the rows of one summary.

    Both measures need the time at which each better plan was found. Runs that do not
    report these times are left out, because the time at the end of a run says nothing
    about when its plan was found. A run without a plan within the fleet gets the worst
    value. A mean is None if all runs are left out, or if there is no time limit.

    Parameters
    ----------
    group
        The rows of one method with one limit.
    traces
        The traces of the runs of all methods.
    base
        Name of the method with which WRAP compares the others. A run has no WRAP if the
        run of this method on the same instance does not report its times.
    references
        The reference costs of instances, by name. Instances without a reference cost
        are left out.
    """
    limit = group[0].time_limit
    if limit is None or not any(row.trace for row in group):
        return None, None

    def mine(row: Row) -> Trace | None:
        """
        Return the trace of a row's run; empty if its plan is not within the fleet.

        The result is None if the instance has no reference cost, or if the run has a
        plan within the fleet but does not report when this plan was found.
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
    """
    Return the mean over instances of the values of rows; None if there are no values.

    ``value`` is called with each row. The values of an instance with several seeds are
    averaged first. Rows with the value None are skipped.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if (number := value(row)) is not None:
            found[row.instance].append(number)
    return Mean.of([fmean(numbers) for numbers in found.values()])
