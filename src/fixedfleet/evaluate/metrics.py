"""Rows into figures: means with 95 % intervals, shares, gaps and integrals."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.evaluate.integrals import curve, primal_integral, tells, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fixedfleet.evaluate.rows import Row, Trace
    from fixedfleet.evaluate.sets import InstanceSet
    from fixedfleet.solve import Objective

__all__ = ["Mean", "Summary", "paired", "summaries", "summarise"]

# Method, objective, instance and seed of runs with several limits.
Run = tuple[str, str, str, int]

_TOLERANCE = 1.1  # of a time limit, before a run counts as beyond it


@dataclass(frozen=True)
class Mean:
    """
    A mean over instances, with half the width of its 95 % interval.

    Attributes
    ----------
    value
        The mean.
    half
        Half of the interval by Student's t; None for a single instance.
    count
        Instances it is taken over. Several seeds of an instance count as one, their
        mean.
    """

    value: float
    half: float | None
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean | None:
        """Average values, one an instance; None for no values."""
        if not values:
            return None
        half = None
        if len(values) > 1:
            error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
            half = _student(len(values) - 1) * error
        return cls(fmean(values), half, len(values))


@dataclass(frozen=True, kw_only=True)
class Summary:
    """
    How a method did on a set with a limit.

    Attributes
    ----------
    set, method, time_limit, iterations
        What was run.
    objective
        What it minimises.
    machines
        Names of the processors that ran it.
    runs
        Rows there are: instances times seeds.
    served
        Rows whose plan serves everybody within capacity, whatever the fleet.
    within
        Rows whose plan does so within the fleet.
    share_within
        Share of the rows that are ``within``.
    share_violating
        Share of the rows that are ``served`` with more vehicles than there are.
    excess
        Vehicles beyond the fleet of those that are, on average; 0 if there are none.
    length
        Mean length over the instances served.
    length_within
        Mean length over the instances solved within the fleet.
    vehicles
        Mean number of vehicles over the instances served.
    cost_v
        Mean Cost_v over the instances served.
    floor
        Mean of ⌈Σq/Q⌉ times the vehicle cost over the same instances: no plan pays
        less for vehicles, so none of this mean length has a lower mean Cost_v than
        :attr:`cost_v_floor`.
    gap
        Mean percentage above the reference, over the instances solved within the
        fleet that have one; the reference of Cost_v for a method that minimises it.
    gap_served
        The same over the instances served, plans beyond the fleet included.
    seconds
        Mean wall time an instance.
    overrun
        Share of the rows that took more than 1.1 times their time limit; None without
        one.
    primal_integral, wrap
        See :mod:`fixedfleet.evaluate.integrals`; None without a time limit, without
        references, where nothing is known of the time before the end, or (wrap)
        without a base that minimises the same.
    """

    set: str
    method: str
    time_limit: float | None
    iterations: int | None
    objective: Objective
    machines: tuple[str, ...]
    runs: int
    served: int
    within: int
    share_within: float
    share_violating: float
    excess: float
    length: Mean | None
    length_within: Mean | None
    vehicles: Mean | None
    cost_v: Mean | None
    floor: float | None
    gap: Mean | None
    gap_served: Mean | None
    seconds: Mean
    overrun: float | None
    primal_integral: Mean | None = None
    wrap: Mean | None = None

    @property
    def cost_v_floor(self) -> float | None:
        """Below this no mean Cost_v can be, with this mean length."""
        if self.length is None or self.floor is None:
            return None
        return self.length.value + self.floor


def summaries(
    rows: Iterable[Row], instance_set: InstanceSet, *, base: str | None = None
) -> list[Summary]:
    """
    Summarise the rows of a set, one summary a method and limit.

    Parameters
    ----------
    rows
        Rows of any sets: those of this set's instances are taken.
    instance_set
        The set.
    base
        Name of the method that WRAP is relative to.

    Returns
    -------
    list
        Sorted by method and limit.

    Raises
    ------
    InputError
        If there are no rows of the base, or no reference to measure it by.
    """
    names = set(instance_set.names)
    groups: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    runs: dict[Run, list[Row]] = defaultdict(list)
    for row in rows:
        if row.instance in names:
            groups[_limited(row)].append(row)
            runs[row.method, row.objective, row.instance, row.seed].append(row)
    if base is not None:
        if not any(method == base for method, *_ in runs):
            raise InputError(f"no rows of the base {base!r} on {instance_set.name}")
        if not instance_set.reference:
            raise InputError(
                f"WRAP needs a reference, and {instance_set.name} has none"
            )
    found = []
    for group in sorted(groups.values(), key=_order):
        known = _references(group[0], instance_set)
        integral, relative = _integrals(group, runs, base, known)
        summary = summarise(group, instance_set)
        found.append(replace(summary, primal_integral=integral, wrap=relative))
    return found


def summarise(rows: Sequence[Row], instance_set: InstanceSet) -> Summary:
    """
    Summarise rows of one method with one limit, without the integrals.

    Parameters
    ----------
    rows
        The rows, at least one.
    instance_set
        The set their instances belong to.
    """
    if len({_limited(row) for row in rows}) != 1:
        raise InputError("a summary is of the rows of one method with one limit")
    first = rows[0]
    served = [row for row in rows if row.served]
    within = [row for row in rows if row.within]
    violating = [row for row in served if row.excess]
    known = _references(first, instance_set)
    floors = _mean(served, lambda row: row.floor * row.vehicle_cost)
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
        length_within=_mean(within, lambda row: row.length),
        vehicles=_mean(served, lambda row: row.vehicles),
        cost_v=_mean(served, lambda row: row.cost_v),
        floor=None if floors is None else floors.value,
        gap=_mean(within, lambda row: _gap(row, known)),
        gap_served=_mean(served, lambda row: _gap(row, known)),
        seconds=_mean(rows, lambda row: row.seconds) or Mean(0.0, None, 0),
        overrun=_overrun(rows, first.time_limit),
    )


def _overrun(rows: Sequence[Row], limit: float | None) -> float | None:
    if limit is None:
        return None
    return fmean(row.seconds > _TOLERANCE * limit for row in rows)


def _limited(row: Row) -> tuple[object, ...]:
    """Return what the rows of one summary have in common."""
    return row.method, row.objective, row.time_limit, row.iterations


def _order(group: list[Row]) -> tuple[str, str, float, int]:
    first = group[0]
    limits = first.time_limit or 0.0, first.iterations or 0
    return first.method, first.objective, *limits


def _references(row: Row, instance_set: InstanceSet) -> Mapping[str, float]:
    """References of what the row's method minimises."""
    if row.objective == "cost-v":
        return instance_set.reference_cost_v
    return instance_set.reference


def paired(rows: Iterable[Row], base: Iterable[Row]) -> Mean | None:
    """Mean percentage above another method, over what both solve within the fleet."""
    costs = {row.instance: row.cost for row in base if row.within and row.cost}
    return _mean((row for row in rows if row.within), lambda row: _gap(row, costs))


def _gap(row: Row, references: Mapping[str, float]) -> float | None:
    cost = row.cost
    if cost is None or row.instance not in references:
        return None
    return 100 * (cost / references[row.instance] - 1)


def _integrals(
    group: list[Row],
    runs: Mapping[Run, list[Row]],
    base: str | None,
    references: Mapping[str, float],
) -> tuple[Mean | None, Mean | None]:
    """Mean primal integral and WRAP of a group, as far as they are defined."""
    limit = group[0].time_limit
    if limit is None:
        return None, None

    reports = any(row.trace for row in group)

    def mine(row: Row) -> Trace | None:
        found = runs[row.method, row.objective, row.instance, row.seed]
        # Of a method that reports, silence means that it found nothing.
        known = tells(found, limit) or (reports and not row.within)
        return curve(found, limit) if known and row.instance in references else None

    def integral(row: Row) -> float | None:
        trace = mine(row)
        if trace is None:
            return None
        return primal_integral(trace, references[row.instance], limit)

    def relative(row: Row) -> float | None:
        same = base or "", row.objective, row.instance, row.seed
        trace, others = mine(row), runs.get(same, [])
        if trace is None or not tells(others, limit):
            return None
        other = curve(others, limit)
        if not other:
            return None
        return wrap(trace, other, references[row.instance], limit)

    return _mean(group, integral), _mean(group, relative)


def _mean(rows: Iterable[Row], value: Callable[[Row], float | None]) -> Mean | None:
    """Average over instances what each row gives, its seeds averaged first."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if (number := value(row)) is not None:
            found[row.instance].append(number)
    return Mean.of([fmean(numbers) for numbers in found.values()])


def _student(freedom: int) -> float:
    """
    97.5 % quantile of Student's t, by Cornish and Fisher's expansion.

    It is 0.8 % low for two degrees of freedom and within 0.13 % from three on; for
    one, where it would be a tenth low, the exact value is returned.
    """
    if freedom == 1:
        return 12.7062
    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom**i for i, term in enumerate(terms, 1)))
