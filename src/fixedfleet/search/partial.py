"""Plans for a fleet that is too small: as few unassigned customers as possible.

A fleet serves the most customers if it serves those with the smallest demands: any
other served customer can be replaced by one of them without needing more room. So a
packing decides how many customers are unassigned, and only the length is left to
search. The served customers are searched as an instance of their own. Between two
searches, unassigned customers replace served ones if that shortens a tour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.fleet import assess_fleet
from fixedfleet.plan import Plan
from fixedfleet.search import improve
from fixedfleet.search.method import LEAST_SECONDS, better

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.search.stop import Stop

__all__ = ["partial_plan", "serve_most", "swap_unassigned"]

_ROUNDS = 4  # rounds of search and swaps; more do not help, two are worse


def partial_plan(
    instance: Instance,
    *,
    stop: Stop | None,
    seed: int = 0,
    vehicle_cost: float = 0.0,
) -> Plan:
    """
    Plan for a fleet that may be too small: fewest unassigned customers, then cost.

    Without a stop, the packing is returned as it is.
    """
    best = serve_most(instance)
    if stop is None or not best.tours:
        return best
    search = stop.part()
    for number in range(_ROUNDS):
        step = search.part((number + 1) / _ROUNDS)
        if step.left() > LEAST_SECONDS:
            plan = _search(instance, best, step, seed + number, vehicle_cost)
            best = better(instance, swap_unassigned(instance, plan), best, vehicle_cost)
    return best


def serve_most(instance: Instance) -> Plan:
    """
    Pack as many customers as the fleet can carry: those with the smallest demands.

    No plan serves more, unless quick packings miss one.
    """
    units, capacity = instance.demand_units, instance.capacity_units
    order = 1 + np.argsort(units[1:], kind="stable")
    order = order[units[order] <= capacity]
    carried = np.cumsum(units[order])
    # Whole numbers of Python, because a capacity may be beyond 64 bits.
    whole = min(instance.vehicles * capacity, int(units.sum()))
    count = int(np.searchsorted(carried, whole, side="right"))
    while count:
        served = order[:count]
        verdict = assess_fleet(instance.only(served.tolist()), time_limit=0)
        if verdict.packing is not None:
            return verdict.packing.renumbered(served.tolist())
        count -= 1
    return Plan([])


def swap_unassigned(instance: Instance, plan: Plan) -> Plan:
    """Replace served customers by unassigned ones while that shortens a tour."""
    out = plan.unserved(instance)
    tours = [list(tour) for tour in plan]
    shorter = bool(out)
    while shorter:
        shorter = False
        for number, tour in enumerate(tours):
            for customer in tour:
                found = _instead_of(customer, tours[number], out, instance)
                if found is not None:
                    newcomer, tours[number] = found
                    out[out.index(newcomer)] = customer
                    shorter = True
    return Plan(tours)


def _instead_of(
    customer: int, tour: list[int], out: list[int], instance: Instance
) -> tuple[int, list[int]] | None:
    """
    Return the unassigned customer that shortens a tour most in place of this one.

    With it comes the new tour; None if no unassigned customer shortens the tour.
    """
    units = instance.demand_units
    room = instance.capacity_units - int(units[tour].sum()) + int(units[customer])
    fitting = np.array([c for c in out if units[c] <= room])
    if not len(fitting):
        return None
    place = tour.index(customer)
    rest = tour[:place] + tour[place + 1 :]
    path = np.array([0, *rest, 0])
    before, behind = path[:-1], path[1:]
    direct = instance.between(before, behind)

    def detour(guests: NDArray[np.int64], at: slice) -> NDArray[np.float64]:
        there = instance.between(before[at], guests[:, None])
        back = instance.between(guests[:, None], behind[at])
        return there + back - direct[at]  # (guests, places)

    own = detour(np.array([customer]), slice(place, place + 1))[0, 0]
    others = detour(fitting, slice(None))
    who, where = divmod(int(others.argmin()), others.shape[1])
    if others[who, where] >= own - 1e-9 * abs(direct.sum()):
        return None
    newcomer = int(fitting[who])
    return newcomer, [*rest[:where], newcomer, *rest[where:]]


def _search(
    instance: Instance, plan: Plan, stop: Stop, seed: int, vehicle_cost: float
) -> Plan:
    """Search among the plans for the same customers."""
    served = sorted(customer for tour in plan for customer in tour)
    found = improve(
        instance.only(served),
        plan.numbered_in(served),
        stop=stop,
        seed=seed,
        vehicle_cost=vehicle_cost,
    )
    return found.plan.renumbered(served)
