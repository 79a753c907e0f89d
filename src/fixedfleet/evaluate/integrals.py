"""Two measures of a method's quality over time: the primal integral and WRAP."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.evaluate.rows import Trace

__all__ = ["primal_integral", "wrap"]

# In the DIMACS challenge, a method starts with this many times the reference cost.
_WORST = 1.1


def primal_integral(trace: Trace, reference: float, limit: float) -> float:
    """
    Return the primal integral: the mean percentage above the reference over time.

    It is defined as in the DIMACS challenge of 2021. R is the cost of the reference
    plan, and T the time limit in seconds. At time t(0) = 0, the cost is v(0) = 1.1 · R.
    The improvements below v(0) within the limit are v(i) at the times t(i), i = 1 … n.
    Then

        PI = 100 · ((Σ_{i=1..n} v(i−1) · (t(i) − t(i−1)) + v(n) · (T − t(n))) / (T·R)
             − 1).

    The worst value is 10, for a method that finds nothing better than v(0). It is 0 for
    a method that has the reference plan from the beginning. ``trace`` holds the
    improvements of the method as pairs (seconds, cost).

    References
    ----------
    12th DIMACS Implementation Challenge, CVRP track, competition rules (2021), used by
    Thyssens et al., "Routing Arena: A Benchmark Suite for Neural Routing Solvers",
    arXiv:2310.04140 (2023).
    """
    _check(reference, limit)
    worst = _WORST * reference

    def excess(cost: float) -> float:
        return 100 * (min(cost, worst) / reference - 1)

    return _mean_over_time(excess, limit, trace)


def wrap(trace: Trace, base: Trace, reference: float, limit: float) -> float:
    """
    Return the Weighted Relative Average Performance (WRAP) against a base method.

    c(t) and b(t) are the best costs of the method and of the base method up to time t,
    R is the cost of the reference plan, and T the time limit. The relative performance
    is

        RPI(t) = (min(c(t), b(t)) − R) / (b(t) − R),

    but 1 before the method's first plan, and 1 while b(t) is not above R. Before the
    base's first plan, b(t) is the cost of that first plan. Then

        WRAP = 1/T · ∫₀ᵀ RPI(t) dt,

    from 0 (the reference plan from the beginning) to 1 (never better than the base).
    The authors' program evaluates b only when the method improves; here, b also changes
    when the base improves.

    References
    ----------
    Thyssens et al., see :func:`primal_integral`.
    """
    _check(reference, limit)
    if not base:
        raise InputError("WRAP needs a base method that found a plan")
    first = base[0][1]

    def relative(mine: float, other: float) -> float:
        other = min(other, first)
        if other <= reference:
            return 1.0
        return max(0.0, (min(mine, other) - reference) / (other - reference))

    return _mean_over_time(relative, limit, trace, base)


def _mean_over_time(value: Callable[..., float], limit: float, *traces: Trace) -> float:
    """
    Return the mean of a function over the time from 0 to the limit, in seconds.

    At each time t, ``value`` is called with one number per trace: the best cost of the
    trace up to t, infinite before its first plan.
    """
    steps = sorted(
        (seconds, place, cost)
        for place, trace in enumerate(traces)
        for seconds, cost in trace
        if seconds < limit
    )
    best = [math.inf] * len(traces)
    area = last = 0.0
    for seconds, place, cost in steps:
        area += value(*best) * (seconds - last)
        best[place], last = min(best[place], cost), seconds
    return (area + value(*best) * (limit - last)) / limit


def _check(reference: float, limit: float) -> None:
    if not reference > 0:
        raise InputError(f"the reference is {reference:g}, not a cost above 0")
    if not limit > 0:
        raise InputError(f"the limit is {limit:g} s, not above 0")
