"""What every search gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["SearchResult", "better"]


@dataclass(frozen=True)
class SearchResult:
    """
    The best plan of a search, and how it got there.

    Attributes
    ----------
    plan
        The best plan found. It may leave customers out where the start did and no
        place was found for them; ``Plan.check`` tells.
    cost
        Its length, plus the vehicle cost for each vehicle used.
    seconds
        Wall time of the whole search.
    iterations
        Iterations done, over all chains.
    trace
        Each improvement as (seconds since the begin, best cost), best last. Only
        plans that serve everybody count.
    interrupted
        Whether the search was cut short by the user.
    """

    plan: Plan
    cost: float
    seconds: float
    iterations: int = 0
    trace: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    interrupted: bool = False


def better(instance: Instance, found: Plan, known: Plan, vehicle_cost: float) -> Plan:
    """
    Return the better of two plans by exact arithmetic, the known one on a tie.

    A plan that leaves fewer customers out is better; among those, the cheaper one.
    """

    def rank(plan: Plan) -> tuple[int, float]:
        return len(plan.unserved(instance)), plan.cost_v(instance, vehicle_cost)

    return found if rank(found) < rank(known) else known
