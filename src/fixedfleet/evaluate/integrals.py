"""Quality over time as one number: the primal integral, and WRAP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.evaluate.rows import Row, Trace

__all__ = ["curve", "has_curve", "primal_integral", "wrap"]

# The DIMACS challenge begins with a plan this much above the reference.
_WORST = 1.1


def primal_integral(trace: Trace, reference: float, limit: float) -> float:
    """
    Return the mean percentage above the reference over time, as DIMACS (2021) does.

    With v(0) = 1.1 · R at t(0) = 0, and v(i) at t(i), i = 1 … n, the improvements
    below v(0) within the limit T,

        PI = 100 · ((Σ_{i=1..n} v(i−1) · (t(i) − t(i−1)) + v(n) · (T − t(n))) / (T·R)
             − 1).

    It is 10 for a method that finds nothing better than v(0), the worst value, and 0
    for a method that has the reference from the beginning.

    Parameters
    ----------
    trace
        Improvements as (seconds, cost).
    reference
        Cost of the reference plan, R.
    limit
        Seconds, T.

    References
    ----------
    12th DIMACS Implementation Challenge, CVRP track, competition rules (2021), used by
    Thyssens et al., "Routing Arena: A Benchmark Suite for Neural Routing Solvers",
    arXiv:2310.04140 (2023).
    """
    _check(reference, limit)
    best, last, area = _WORST * reference, 0.0, 0.0
    for seconds, cost in trace:
        if seconds > limit:
            break
        if cost < best:
            area += best * (seconds - last)
            best, last = cost, seconds
    area += best * (limit - last)
    return 100 * (area / (limit * reference) - 1)


def wrap(trace: Trace, base: Trace, reference: float, limit: float) -> float:
    """
    Return the Weighted Relative Average Performance against a base method over time.

    With c(t) and b(t) the best costs of the method and of the base at the time t, and
    R the reference, the relative performance is

        RPI(t) = (min(c(t), b(t)) − R) / (b(t) − R),

    or 1 before the method's first plan and while the base is not above R. Before the
    base's first plan, b(t) is that plan's cost. Then

        WRAP = 1/T · ∫₀ᵀ RPI(t) dt,

    from 0 (the reference from the beginning) to 1 (never better than the base). The
    authors' program evaluates b only at the improvements of the method; here the
    integral also has a step at each improvement of the base.

    Parameters
    ----------
    trace
        The method's improvements as (seconds, cost).
    base
        The base method's improvements.
    reference
        Cost of the reference plan, R.
    limit
        Seconds, T.

    References
    ----------
    Thyssens et al., "Routing Arena: A Benchmark Suite for Neural Routing Solvers",
    arXiv:2310.04140 (2023).
    """
    _check(reference, limit)
    if not base:
        raise InputError("WRAP needs a base method that found a plan")
    times = sorted({0.0, *(t for t, _ in (*trace, *base) if t < limit)})
    area = 0.0
    for begin, end in zip(times, [*times[1:], limit], strict=True):
        mine, other = _best(trace, begin), _best(base, begin)
        if other is None:
            other = base[0][1]
        if mine is None or other <= reference:
            area += end - begin
        else:
            share = (min(mine, other) - reference) / (other - reference)
            area += max(0.0, share) * (end - begin)
    return area / limit


def curve(rows: Sequence[Row], limit: float) -> Trace:
    """
    Return a method's improvements on one instance with one seed, up to a limit.

    They are what the run with this limit reported. For a method that reports nothing,
    they are the ends of its runs with this limit and with shorter ones. Plans beyond
    the fleet do not count.

    Parameters
    ----------
    rows
        The method's runs on the instance, with any limits.
    limit
        Seconds.
    """
    ends: list[tuple[float, float]] = []
    for row in sorted(rows, key=lambda row: row.time_limit or 0.0):
        if not row.within or (row.time_limit or 0.0) > limit:
            continue
        if row.time_limit == limit and row.trace:
            return row.trace
        if row.cost is not None and (not ends or row.cost < ends[-1][1]):
            ends.append((row.seconds, row.cost))
    return tuple(ends)


def has_curve(rows: Sequence[Row], limit: float) -> bool:
    """
    Return whether the runs on one instance show how the cost fell over time.

    They do if the run with this limit reported improvements, or if there is a run with
    a shorter limit. The end of a single run does not say when its plan was found.
    """
    timed = [row for row in rows if row.time_limit is not None]
    own = [row for row in timed if row.time_limit == limit]
    shorter = any(row.time_limit < limit for row in timed if row.time_limit)
    return any(row.trace for row in own) or (bool(own) and shorter)


def _best(trace: Trace, time: float) -> float | None:
    return min((cost for seconds, cost in trace if seconds <= time), default=None)


def _check(reference: float, limit: float) -> None:
    if not reference > 0:
        raise InputError(f"the reference is {reference:g}, not a cost above 0")
    if not limit > 0:
        raise InputError(f"the limit is {limit:g} s, not above 0")
