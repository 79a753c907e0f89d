"""The step "bound" of ``solve``: how far is the plan from the best possible one?"""

# `fixedfleet.bound` is imported in the functions that need it, because the import takes
# time and most calls need no lower bound.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

    Improvement = Callable[[float, float, Plan], None]  # seconds, cost, plan
    BetterBound = Callable[[float, float], None]  # seconds, lower bound

__all__ = ["BoundedPlan", "bounded_plan", "load_for_bound", "why_unbounded"]


@dataclass(frozen=True)
class BoundedPlan:
    """
    The best known plan, and a lower bound on the cost of all plans.

    If there is no lower bound, ``why_unbounded`` says why.
    """

    plan: Plan
    lower_bound: float | None = None
    is_optimal: bool = False
    why_unbounded: str = ""


def load_for_bound() -> None:
    """
    Load the compiled code of :mod:`fixedfleet.bound`, or compile it the first time.
    """
    from fixedfleet.bound.proving import load_kernels

    load_kernels()


def why_unbounded(instance: Instance, plan: Plan, vehicle_cost: float) -> str | None:
    """Return why no lower bound can be computed for an instance; None if one can be."""
    from fixedfleet.bound import bounds

    try:
        bounds(instance, plan, seconds_left=lambda: 0.0, vehicle_cost=vehicle_cost)
    except InputError as error:
        return str(error)
    return None


def bounded_plan(
    instance: Instance,
    plan: Plan,
    *,
    deadline: Deadline,
    vehicle_cost: float,
    tours: Iterable[tuple[int, ...]] = (),
    on_improvement: Improvement | None = None,
    on_bound: BetterBound | None = None,
) -> BoundedPlan:
    """
    Raise the lower bound until it equals the cost of the plan or the deadline is over.

    Parameters
    ----------
    instance, plan
        The instance, and a feasible plan for it.
    deadline
        When to end. KeyboardInterrupt, which a second Ctrl-C raises, also ends the
        computation, and the best bound so far is returned.
    vehicle_cost
        Fixed cost of each vehicle used.
    tours
        Tours of other good plans. They are the first columns, which saves time.
    on_improvement, on_bound
        Called with (seconds, cost, plan) for each better plan, and with (seconds, lower
        bound) for each better bound.

    Returns
    -------
    BoundedPlan
        Its plan is the given one, or a better one that was found meanwhile.
    """
    from fixedfleet.bound import bounds

    best, lower, proven = plan, 0.0, False
    try:
        for found in bounds(
            instance,
            plan,
            seconds_left=deadline.left,
            vehicle_cost=vehicle_cost,
            tours=tours,
        ):
            proven = found.proven
            if found.plan != best:
                best = found.plan
                if on_improvement is not None:
                    cost = best.cost_v(instance, vehicle_cost)
                    on_improvement(deadline.elapsed(), cost, best)
            if found.bound > lower:
                lower = found.bound
                if on_bound is not None:
                    on_bound(deadline.elapsed(), lower)
    except KeyboardInterrupt:
        proven = False
    if proven or lower > 0:
        return BoundedPlan(best, lower, proven)
    return BoundedPlan(best, why_unbounded="it needs more time")
