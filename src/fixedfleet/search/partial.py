"""Plans for a fleet that is too small: as few customers left out as can be.

The most customers are served by serving the smallest demands: whoever else is served
can be exchanged for one of them without needing more room. So the number left out is a
question of packing, and only then is length one of searching: the customers served are
planned as an instance of their own, and between two searches those left out are
exchanged for served ones wherever that is shorter.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import Instance
from fixedfleet.plan import Plan
from fixedfleet.search import improve
from fixedfleet.search.result import SearchResult, better

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["exchange", "partial_plan", "serve_most"]

_ROUNDS = 4  # of searching and exchanging; more are no better, two a little worse
_LEAST_SECONDS = 1e-3  # less is not worth a search


def partial_plan(
    instance: Instance,
    *,
    time_limit: float = 0.0,
    seed: int = 0,
    vehicle_cost: float = 0.0,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """
    Plan for a fleet that may be too small: fewest customers left out, then cost.

    Parameters
    ----------
    instance
        The instance to plan for. Its fleet is a hard bound.
    time_limit
        Seconds to search for a shorter plan; 0 for the packing as it is.
    seed
        Seed of the search.
    vehicle_cost
        Fixed cost of each vehicle used.
    stop
        Asked now and then; the search ends when it answers True.
    """
    begin = time.perf_counter()
    best = serve_most(instance)
    interrupted = False
    try:
        for number in range(_ROUNDS if best.tours else 0):
            left = time_limit - (time.perf_counter() - begin)
            if left <= _LEAST_SECONDS or (stop is not None and stop()):
                break
            share = left / (_ROUNDS - number)
            plan, interrupted = _search(
                instance, best, share, seed + number, vehicle_cost, stop
            )
            best = better(instance, exchange(instance, plan), best, vehicle_cost)
            if interrupted:
                break
    except KeyboardInterrupt:
        interrupted = True
    return SearchResult(
        plan=best,
        cost=best.cost_v(instance, vehicle_cost),
        seconds=time.perf_counter() - begin,
        interrupted=interrupted,
    )


def serve_most(instance: Instance) -> Plan:
    """
    Pack as many customers as the fleet carries, the smallest demands.

    As many as there can be, except where quick packings miss the last one.
    """
    units, capacity = instance.demand_units, instance.capacity_units
    order = 1 + np.argsort(units[1:], kind="stable")
    order = order[units[order] <= capacity]
    carried = np.cumsum(units[order])
    # Whole numbers of Python: a capacity beyond all demands may be beyond 64 bits.
    whole = min(instance.vehicles * capacity, int(units.sum()))
    count = int(np.searchsorted(carried, whole, side="right"))
    while count:
        served = order[:count]
        verdict = assess_fleet(_only(instance, served.tolist()), time_limit=0)
        if verdict.packing is not None:
            return _renumber(verdict.packing, served.tolist())
        count -= 1
    return Plan([])


def exchange(instance: Instance, plan: Plan) -> Plan:
    """Serve those left out instead of others where a tour becomes shorter by it."""
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
    """Who makes a tour shortest in a customer's stead, and the tour; or None."""
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
    instance: Instance,
    plan: Plan,
    seconds: float,
    seed: int,
    vehicle_cost: float,
    stop: Callable[[], bool] | None,
) -> tuple[Plan, bool]:
    """Search among plans for the same customers; also whether it was interrupted."""
    served = sorted(customer for tour in plan for customer in tour)
    places = {customer: place for place, customer in enumerate(served, 1)}
    found = improve(
        _only(instance, served),
        Plan([places[customer] for customer in tour] for tour in plan),
        time_limit=seconds,
        seed=seed,
        vehicle_cost=vehicle_cost,
        stop=stop,
    )
    return _renumber(found.plan, served), found.interrupted


def _renumber(plan: Plan, customers: list[int]) -> Plan:
    """Put customers in the place of their positions, counted from 1."""
    return Plan([customers[position - 1] for position in tour] for tour in plan)


def _only(instance: Instance, customers: list[int]) -> Instance:
    """Return the instance with these customers alone."""
    rows = np.array(customers) - 1
    places = [0, *customers]
    matrix = instance.matrix
    return Instance(
        depot=instance.depot,
        customers=None if instance.customers is None else instance.customers[rows],
        demands=instance.demands[rows],
        capacity=instance.capacity,
        vehicles=instance.vehicles,
        matrix=None if matrix is None else matrix[np.ix_(places, places)],
        metric=instance.metric,
        rounding=instance.rounding,
    )
