"""
Initial plans of a search: packing, savings, sweep, and the plan of a neural network.

Savings and sweep never exceed capacity or fleet, so they may leave customers unserved.
:func:`complete_plan` then inserts these customers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from fixedfleet.deadline import Deadline
from fixedfleet.errors import InputError
from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.plan import Plan
from fixedfleet.search.improve import run_search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = [
    "StartName",
    "complete_plan",
    "load_savings",
    "load_start",
    "make_start",
    "savings",
    "sweep",
]

StartName = Literal["packing", "savings", "sweep", "network"]

_COMPLETING = 2000  # iterations to insert the unserved customers
_NEIGHBOURS = 30  # nearest customers that may become neighbours of a customer in a tour


def make_start(
    name: StartName,
    instance: Instance,
    packing: Plan | None,
    *,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Plan | None:
    """
    Return a feasible initial plan, made by the method with this name.

    If the plan of the method leaves customers unserved, they are inserted by ruin and
    recreate. If this does not succeed before the deadline, ``packing`` is returned,
    which is None if no packing is known.
    """
    if name == "packing":
        return packing
    instance.require_plain(f"the start {name!r}")
    if name == "network":
        from fixedfleet.instance import InstanceBatch
        from fixedfleet.planning import plan_by_network

        plan = plan_by_network(InstanceBatch.of([instance])).plans[0]
    else:
        plan = {"savings": savings, "sweep": sweep}[name](instance)
    return complete_plan(instance, plan, seed=seed, deadline=deadline) or packing


def complete_plan(
    instance: Instance, plan: Plan, *, seed: int = 0, deadline: Deadline | None = None
) -> Plan | None:
    """
    Insert the unserved customers by ruin and recreate, and return the new plan.

    Return None if some customers are still unserved.
    """
    if plan.unserved(instance):
        from fixedfleet.search.ruin_recreate import ruin_recreate  # needs Numba

        limit = replace(deadline or Deadline(), iterations=_COMPLETING)
        plan = run_search(ruin_recreate, instance, plan, deadline=limit, seed=seed).plan
    return None if plan.unserved(instance) else plan


def load_start(name: StartName, instance: Instance, *, device: str = "cpu") -> None:
    """
    Load what :func:`make_start` needs for an instance: compiled code, or the network.

    Call it before the time limit begins. ``device`` is the device of the network.
    """
    if name == "packing":
        return
    from fixedfleet.search.ruin_recreate import load_kernel_for  # needs Numba

    with interrupts_deferred():  # Numba's compiler may lose a KeyboardInterrupt
        if name == "network":
            from fixedfleet.planning import load_network

            load_network(device)
        elif name == "savings":
            load_savings()
        load_kernel_for(instance)  # for customers that the plan leaves unserved


@cache
def load_savings() -> None:
    """Load the compiled savings heuristic, or compile it the first time."""
    from fixedfleet.search.savings_kernel import join_tours

    none = np.zeros((0, 2), dtype=np.int64)
    join_tours(none, np.zeros(1, dtype=np.int64), 0, True)


def savings(instance: Instance) -> Plan:
    """
    Return the plan of the parallel savings heuristic (Clarke and Wright, 1964).

    At first, each customer has a tour of its own. Then pairs of tours are joined, the
    largest saving of length first. Two tours can be joined if an end customer of one
    tour is near an end customer of the other, and if their total load fits into one
    vehicle. At last, the M tours with the largest loads are kept.
    """
    from fixedfleet.search.savings_kernel import join_tours  # needs Numba

    # A copy, because Numba would compile the loop again for a read-only array.
    demands, matrix = instance.demand_units.copy(), instance.matrix
    # A capacity above the sum of all demands may exceed 64 bits.
    capacity = min(instance.capacity_units, int(demands.sum()))
    symmetric = matrix is None or bool(np.array_equal(matrix, matrix.T))
    pairs = _by_saving(instance)
    first, behind, loads = join_tours(pairs, demands, capacity, symmetric)
    tours = np.flatnonzero((first > 0) & (loads <= capacity))
    ranked = tours[np.argsort(-loads[tours], kind="stable")][: instance.vehicles]
    following = behind.tolist()
    return Plan(_walk(following, start) for start in first[ranked].tolist())


def _walk(following: list[int], customer: int) -> list[int]:
    """
    Return the customers of the tour whose first customer is ``customer``.

    ``following[i]`` is the successor of customer i; it is 0 if i is the last customer
    of its tour.
    """
    tour = []
    while customer:
        tour.append(customer)
        customer = following[customer]
    return tour


def sweep(instance: Instance) -> Plan:
    """
    Return a plan that assigns customers to vehicles by their angles.

    The angle of a customer is that of the line from the depot to the customer. In
    ascending order of their angles, customers fill one vehicle after the other. The
    sweep begins after the widest gap between two angles.
    """
    if not instance.has_coordinates:
        raise InputError("the sweep start needs coordinates, not a distance matrix")
    offsets = instance.coordinates[1:] - instance.coordinates[0]
    angles = np.arctan2(offsets[:, 1], offsets[:, 0])
    order = np.argsort(angles, kind="stable")
    gaps = np.diff(angles[order], append=angles[order][0] + 2 * np.pi)
    order = np.roll(order, -(int(np.argmax(gaps)) + 1))
    units, capacity = instance.demand_units, instance.capacity_units
    tours: list[list[int]] = [[]]
    load = 0
    for customer in (order + 1).tolist():
        demand = int(units[customer])
        if demand > capacity:
            continue
        if load + demand > capacity:
            tours.append([])
            load = 0
        tours[-1].append(customer)
        load += demand
    return Plan(tours[: instance.vehicles])


def _by_saving(instance: Instance) -> NDArray[np.int64]:
    """
    Return pairs (i, j) of customers, the largest saving first, shape (number, 2).

    The saving of a pair is the length that is saved if one vehicle drives from i to j,
    instead of from i to the depot and from the depot to j. j is one of the customers
    nearest to i. Only pairs with a positive saving are returned.
    """
    from fixedfleet.search.cpu_distances import lay_out_legs, nearest  # needs Numba

    n = instance.num_customers
    if n < 2:
        return np.empty((0, 2), dtype=np.int64)
    count = min(_NEIGHBOURS, n - 1)
    near = nearest(lay_out_legs(instance, 1), n, count)[1:]
    i = np.repeat(np.arange(1, n + 1), count)
    j = near.ravel().astype(np.int64)
    here, depot = np.arange(n + 1), np.zeros(n + 1, dtype=np.int64)
    there, back = instance.between(depot, here), instance.between(here, depot)
    saved = back[i] + there[j] - instance.between(i, j)
    order = np.argsort(-saved, kind="stable")
    order = order[saved[order] > 0]
    return np.stack((i[order], j[order]), axis=1)
