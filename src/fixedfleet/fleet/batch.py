"""The verdict for thousands of instances at once.

Nearly every instance that can be packed is packed by best fit, which goes through the
customers of all instances together; the verdict with its proof is left for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.fleet.verdict import FleetVerdict, assess_demands, assess_fleet
from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

__all__ = ["BatchVerdict", "assess_batch", "best_fit"]


@dataclass(frozen=True, eq=False)
class BatchVerdict:
    """
    Whether each fleet suffices.

    Attributes
    ----------
    statuses
        ``feasible``, ``impossible`` or ``undecided`` for each instance, shape (B,).
    packings
        The witnesses of ``feasible``: a plan within each fleet; empty elsewhere.
    reasons
        Why each of the others is not known to suffice, by its row.
    """

    statuses: NDArray[np.str_]
    packings: PlanBatch
    reasons: dict[int, str]

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which fleets are known to suffice, shape (B,)."""
        return np.asarray(self.statuses == "feasible")


def assess_batch(
    instances: InstanceBatch | Sequence[Instance],
    *,
    time_limit: float = 0.1,
    smallest: bool = False,
) -> BatchVerdict:
    """
    Say whether each instance's fleet can carry its demands.

    Parameters
    ----------
    instances
        The instances; a sequence may mix sizes.
    time_limit
        Seconds for the exact search of an instance that quick packings leave open; 0
        for none.
    smallest
        Whether the packings are to use as few vehicles as are found to suffice,
        where best fit may have used more.
    """
    count = len(instances)
    statuses = np.full(count, "feasible", dtype="<U10")
    reasons: dict[int, str] = {}
    rows: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)] * count
    for group in _groups(instances):
        routes, packed = best_fit(group.demands, group.capacity, group.vehicles)
        good = packed & (_tours(routes) <= group.fewest) if smallest else packed
        for place, row in enumerate(group.rows):
            rows[row] = routes[place]
            if good[place]:
                continue
            verdict = _assess(instances, int(row), time_limit)
            plan = verdict.smallest_packing if smallest else verdict.packing
            if verdict.packing is None:
                statuses[row], reasons[int(row)] = verdict.status, verdict.reason
                rows[row] = rows[row][:0]
            elif plan is not None:
                rows[row] = plan.to_routes().astype(np.int64)
    width = max(map(len, rows), default=0)
    routes = np.zeros((count, width), dtype=np.int64)
    for row, entries in enumerate(rows):
        routes[row, : len(entries)] = entries
    return BatchVerdict(statuses, PlanBatch(routes), reasons)


def best_fit(
    demands: NDArray[np.int64], capacity: NDArray[np.int64], vehicles: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """
    Put each customer, the largest demand first, where it leaves the least room.

    Parameters
    ----------
    demands
        Shape (B, N).
    capacity, vehicles
        Shape (B,).

    Returns
    -------
    tuple
        Routes as :class:`PlanBatch` takes them, shape (B, N + M), and whether each
        serves everybody, shape (B,). Of the others the routes mean nothing.
    """
    count, n = demands.shape
    fleet = np.minimum(vehicles, n)  # more tours than customers are no use
    most = int(fleet.max(initial=1))
    nowhere = np.iinfo(np.int64).max
    room = np.where(np.arange(most) < fleet[:, None], capacity[:, None], -1)  # (B, M)
    order = np.argsort(-demands, axis=1, kind="stable")
    everyone = np.arange(count)
    assigned = np.empty((count, n), dtype=np.int64)
    packed = np.ones(count, dtype=bool)
    for customer in order.T:
        left = room - demands[everyone, customer][:, None]
        vehicle = np.where(left >= 0, left, nowhere).argmin(axis=1)
        left = left[everyone, vehicle]
        packed &= left >= 0
        room[everyone, vehicle] = np.maximum(left, -1)
        assigned[everyone, customer] = vehicle
    return _routes(assigned, most), packed


def _routes(assigned: NDArray[np.int64], tours: int) -> NDArray[np.int64]:
    """Tours, one behind the other, of the vehicle that each customer is given."""
    count, n = assigned.shape
    order = np.argsort(assigned, axis=1, kind="stable")
    vehicle = np.take_along_axis(assigned, order, axis=1)
    ended = np.diff(vehicle, axis=1, prepend=vehicle[:, :1]) != 0
    place = np.arange(n) + np.cumsum(ended, axis=1)  # a 0 stays behind each tour
    routes = np.zeros((count, n + tours), dtype=np.int64)
    np.put_along_axis(routes, place, order + 1, axis=1)
    return routes


def _tours(routes: NDArray[np.int64]) -> NDArray[np.int64]:
    return PlanBatch(routes).vehicles()


@dataclass(frozen=True)
class _Group:
    """Instances with as many customers each."""

    rows: NDArray[np.int64]
    demands: NDArray[np.int64]
    capacity: NDArray[np.int64]
    vehicles: NDArray[np.int64]

    @property
    def fewest(self) -> NDArray[np.int64]:
        """⌈Σq/Q⌉ of each."""
        total = self.demands.sum(axis=1)
        return np.asarray(np.maximum(1, -(-total // self.capacity)))


def _groups(instances: InstanceBatch | Sequence[Instance]) -> Iterator[_Group]:
    if isinstance(instances, InstanceBatch):
        rows = np.arange(len(instances))
        yield _Group(rows, instances.demands, instances.capacity, instances.vehicles)
        return
    members: dict[int, list[int]] = {}
    for row, instance in enumerate(instances):
        members.setdefault(instance.num_customers, []).append(row)
    for some in members.values():
        group = [instances[row] for row in some]
        demands = np.stack([instance.demand_units[1:] for instance in group])
        # A capacity beyond all demands may be beyond 64 bits as well.
        capacity = [
            max(1, min(instance.capacity_units, int(total)))
            for instance, total in zip(group, demands.sum(axis=1), strict=True)
        ]
        fleets = np.array([instance.vehicles for instance in group])
        yield _Group(np.array(some), demands, np.array(capacity), fleets)


def _assess(
    instances: InstanceBatch | Sequence[Instance], row: int, time_limit: float
) -> FleetVerdict:
    if not isinstance(instances, InstanceBatch):
        return assess_fleet(instances[row], time_limit=time_limit)
    return assess_demands(
        instances.demands[row],
        int(instances.capacity[row]),
        int(instances.vehicles[row]),
        time_limit=time_limit,
    )
