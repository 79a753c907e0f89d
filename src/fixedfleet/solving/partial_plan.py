"""Plans for a fleet that is too small: as few unserved customers as possible.

A fleet serves the most customers if it serves those with the smallest demands: any
other served customer can be replaced by one of them without needing more room. So a
packing decides how many customers are unserved, and only the length is left to search.
The served customers are searched as an instance of their own. Between two searches,
unserved customers replace served ones if that shortens a tour.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.fleet import assess_fleet, quick_packing_size
from fixedfleet.plan import Plan
from fixedfleet.search import better, load_search, run_search
from fixedfleet.search.task import MIN_SECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance

__all__ = ["load_for_partial_plan", "partial_plan", "serve_most", "swap_unserved"]

_SEARCH = "auto"  # improves the tours of the customers that are served
_ROUNDS = 4  # rounds of search and swaps; more do not help, two are worse


def load_for_partial_plan(instance: Instance) -> None:
    """Load the search of partial plans, if the fleet may be too small."""
    packed = quick_packing_size(instance)
    if packed is None or packed > instance.vehicles:
        load_search(_SEARCH, instance)


def partial_plan(
    instance: Instance,
    *,
    deadline: Deadline,
    search: bool = True,
    seed: int = 0,
    vehicle_cost: float = 0.0,
) -> Plan:
    """
    Plan for a fleet that may be too small: fewest unserved customers, then cost.

    Without a search, the packing is returned as it is.
    """
    best = serve_most(instance, deadline)
    if not search or not best.tours:
        return best
    for number in range(_ROUNDS):
        step = deadline.until((number + 1) / _ROUNDS)
        if step.left() > MIN_SECONDS:
            plan = _search(instance, best, step, seed + number, vehicle_cost)
            plan = swap_unserved(instance, plan, deadline)
            best = better(instance, plan, best, vehicle_cost)
    return best


def serve_most(instance: Instance, deadline: Deadline) -> Plan:
    """
    Pack as many customers as the fleet can carry: those with the smallest demands.

    No plan serves more, unless quick packings miss one or the deadline is over.
    """
    units, capacity = instance.demand_units, instance.capacity_units
    order = 1 + np.argsort(units[1:], kind="stable")
    order = order[units[order] <= capacity]
    carried = np.cumsum(units[order])
    # Whole numbers of Python, because a capacity may be beyond 64 bits.
    whole = min(instance.vehicles * capacity, int(units.sum()))
    most = int(np.searchsorted(carried, whole, side="right"))
    # One customer per vehicle always fits.
    best = Plan([[customer] for customer in order[: instance.vehicles].tolist()])

    def is_too_many(count: int) -> bool:
        """Return whether no quick packing serves this number of customers."""
        nonlocal best
        served = order[:count].tolist()
        verdict = assess_fleet(
            instance.with_customers(served), time_limit=0, deadline=deadline
        )
        if verdict.packing is None:
            return True
        best = verdict.packing.renumbered(served)
        return False

    fewest = min(most, instance.vehicles)
    if most > fewest:
        # If some customers fit into the fleet, fewer of them fit, too.
        bisect_left(range(fewest + 1, most + 1), True, key=is_too_many)
    return best


def swap_unserved(instance: Instance, plan: Plan, deadline: Deadline) -> Plan:
    """Replace served customers by unserved ones while that shortens a tour."""
    out = plan.unserved(instance)
    tours = [list(tour) for tour in plan]
    shorter = bool(out)
    while shorter:
        shorter = False
        for number, tour in enumerate(tours):
            if deadline.over():
                return Plan(tours)
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
    Return the unserved customer that shortens a tour most when it replaces this one.

    With it comes the new tour. None if no unserved customer shortens the tour.
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
    instance: Instance, plan: Plan, deadline: Deadline, seed: int, vehicle_cost: float
) -> Plan:
    """Search among the plans for the same customers."""
    served = sorted(customer for tour in plan for customer in tour)
    some = instance.with_customers(served)
    found = run_search(
        load_search(_SEARCH, some),
        some,
        plan.numbered_in(served),
        deadline=deadline,
        seed=seed,
        vehicle_cost=vehicle_cost,
    )
    return found.plan.renumbered(served)
