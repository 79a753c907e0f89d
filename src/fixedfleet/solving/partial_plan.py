"""
Plans for a fleet that is too small: as few unserved customers as possible.

A fleet serves the most customers if it serves those with the smallest demands: in any
plan, a served customer can be replaced by an unserved one of smaller demand. So a
packing decides how many customers are unserved. Customers of a higher priority are
packed before all others.

After that, only the cost is minimised. The served customers are searched as an instance
of their own. Between two searches, unserved customers replace served ones if that
shortens a tour.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.fleet import pack_quickly, quick_packing_size
from fixedfleet.plan import Plan
from fixedfleet.search import better, load_search, run_search
from fixedfleet.search.task import MIN_SECONDS, PARTS_ABOVE, drop_excess

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.deadline import Deadline
    from fixedfleet.instance import Instance

__all__ = ["load_for_partial_plan", "partial_plan", "serve_most", "swap_unserved"]

_SEARCH = "auto"  # the search that improves the tours of the served customers
_ROUNDS = 4  # rounds of search and swaps: two are worse, and more than four do not help


def load_for_partial_plan(instance: Instance) -> None:
    """
    Load the search for partial plans, unless a quick packing shows that none is needed.

    How many customers a partial plan serves is not known yet, and the search of fewer
    customers may need other compiled code. So it is loaded for two sizes.
    """
    if not instance.is_plain:
        return
    packed = quick_packing_size(instance)
    if packed is None or packed > instance.vehicles:
        load_search(_SEARCH, instance)
        fewer = PARTS_ABOVE + 1  # this also loads the code for any smaller number
        if instance.num_customers > fewer:
            load_search(_SEARCH, instance.with_customers(range(1, fewer + 1)))


def partial_plan(
    instance: Instance,
    *,
    deadline: Deadline,
    search: bool = True,
    seed: int = 0,
    vehicle_cost: float = 0.0,
) -> Plan:
    """
    Return a plan that leaves as few customers unserved as possible, at a low cost.

    If ``search`` is False, a packing is returned. If vehicles differ, or if there are
    windows or shifts, a packing is returned without the customers that make a tour
    infeasible. The caller's search then inserts unserved customers itself.
    """
    best = serve_most(instance, deadline)
    if not instance.is_plain:
        return drop_excess(instance, best)
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
    Return a packing of as many customers as the fleet can carry.

    Customers of a higher priority are packed first, then those with smaller demands.
    The number of served customers may be too small if quick packings do not find an
    existing packing, or if the deadline is over. Windows and shifts are not considered.
    """
    units, capacity = instance.demand_units, instance.capacity_units
    priorities = instance.priorities
    levels = np.zeros(instance.num_customers) if priorities is None else priorities
    served: list[int] = []
    best = Plan([])
    for level in np.unique(levels)[::-1]:
        customers = 1 + np.flatnonzero(levels == level)
        order = customers[np.argsort(units[customers], kind="stable")]
        order = order[units[order] <= capacity]
        best, taken = _serve_more(instance, best, served, order, deadline)
        served += taken
    return best


def _serve_more(
    instance: Instance,
    plan: Plan,
    served: list[int],
    order: NDArray[np.int64],
    deadline: Deadline,
) -> tuple[Plan, list[int]]:
    """
    Pack as many customers of ``order`` as possible, besides those already served.

    Return (plan, added). ``added`` are the first customers of ``order``, as many as
    fit, and ``plan`` serves them and the customers in ``served``. If none fits, the
    given plan is returned.
    """
    units, best = instance.demand_units, plan
    # Computed with Python's integers, because a capacity may exceed 64 bits.
    room = sum(
        capacity * one.count
        for capacity, one in zip(
            instance.type_capacity_units, instance.fleet, strict=True
        )
    ) - int(units[served].sum())
    carried = np.cumsum(units[order])
    whole = min(room, int(units.sum()))
    most = int(np.searchsorted(carried, whole, side="right"))
    fewest = 0
    if not served and not instance.has_mixed_fleet:
        # One customer per vehicle always fits.
        fewest = min(most, instance.vehicles)
        best = Plan([[customer] for customer in order[: instance.vehicles].tolist()])

    def is_too_many(count: int) -> bool:
        """
        Return whether quick packings cannot serve the first ``count`` of ``order``.

        If a packing is found, it is stored as ``best``.
        """
        nonlocal best
        both = [*served, *order[:count].tolist()]
        packing = pack_quickly(instance.with_customers(both), deadline)
        if packing is None:
            return True
        best = packing.renumbered(both)
        return False

    added = fewest
    if most > fewest:
        # If k customers fit into the fleet, fewer of them fit, too: so bisect.
        added += bisect_left(range(fewest + 1, most + 1), True, key=is_too_many)
    return best, order[:added].tolist()


def swap_unserved(instance: Instance, plan: Plan, deadline: Deadline) -> Plan:
    """
    Return the plan after replacing served customers by unserved ones.

    A customer is replaced if this shortens its tour, until no replacement does or the
    deadline is over. Both customers must have the same priority.
    """
    out = plan.unserved(instance)
    tours = [list(tour) for tour in plan]
    shorter = bool(out)
    while shorter:
        shorter = False
        for number, tour in enumerate(tours):
            for customer in tour:
                if deadline.over():
                    return Plan(tours)
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
    Return (unserved customer, new tour) for the best replacement of a customer.

    ``out`` are the unserved customers. The best replacement is the one that shortens
    the tour most. Return None if no replacement shortens it.
    """
    units, priorities = instance.demand_units, instance.priorities
    room = instance.capacity_units - int(units[tour].sum()) + int(units[customer])
    fitting = np.array([c for c in out if units[c] <= room])
    if priorities is not None and len(fitting):
        fitting = fitting[priorities[fitting - 1] == priorities[customer - 1]]
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
    """Return an improved plan that serves the same customers."""
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
