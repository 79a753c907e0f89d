"""The verdict for thousands of instances at once.

Nearly every instance that can be packed is packed by best fit, which goes through the
customers of all instances together; the verdict with its proof is left for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.fleet.verdict import assess_fleet
from fixedfleet.plan import Plan, PlanBatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import InstanceBatch

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
    batch: InstanceBatch,
    *,
    time_limit: float = 0.1,
    smallest: bool = False,
) -> BatchVerdict:
    """
    Say whether each instance's fleet can carry its demands.

    Parameters
    ----------
    batch
        The instances.
    time_limit
        Seconds for the exact search of an instance that quick packings leave open; 0
        for none.
    smallest
        Whether the packings are to use as few vehicles as are found to suffice,
        where best fit may have used more.
    """
    statuses = np.full(len(batch), "feasible", dtype="<U10")
    reasons: dict[int, str] = {}
    plans, packed = best_fit(batch)
    fewest = -(-batch.demands.sum(axis=1) // batch.capacity)
    good = packed & (plans.vehicles() <= np.maximum(1, fewest)) if smallest else packed
    found: dict[int, Plan] = {}
    for row in np.flatnonzero(~good).tolist():
        verdict = assess_fleet(batch[row], time_limit=time_limit)
        if verdict.packing is None:
            statuses[row], reasons[row] = verdict.status, verdict.reason
            found[row] = Plan([])
        else:
            plan = verdict.smallest_packing if smallest else verdict.packing
            found[row] = plan or verdict.packing
    plans = plans.replace(list(found), PlanBatch.from_plans(found.values()))
    return BatchVerdict(statuses, plans, reasons)


def best_fit(batch: InstanceBatch) -> tuple[PlanBatch, NDArray[np.bool_]]:
    """
    Put each customer, the largest demand first, where it leaves the least room.

    Returns
    -------
    tuple
        Plans, and whether each serves every customer within capacity and fleet, shape
        (B,). The other plans mean nothing.
    """
    count, n = batch.demands.shape
    fleet = np.minimum(batch.vehicles, batch.sizes)  # more tours would stay empty
    most = int(fleet.max(initial=1))
    nowhere = np.iinfo(np.int64).max
    everyone = np.arange(count)
    room = np.where(np.arange(most) < fleet[:, None], batch.capacity[:, None], -1)
    order = np.argsort(-batch.demands, axis=1, kind="stable")  # padding comes last
    assigned = np.empty((count, n), dtype=np.int64)
    packed = np.ones(count, dtype=bool)
    for place, customer in enumerate(order.T):
        exists = place < batch.sizes
        left = room - batch.demands[everyone, customer][:, None]
        vehicle = np.where(left >= 0, left, nowhere).argmin(axis=1)
        left = left[everyone, vehicle]
        packed &= (left >= 0) | ~exists
        room[everyone, vehicle] = np.maximum(left, -1)
        assigned[everyone, customer] = np.where(exists, vehicle, most)
    return PlanBatch.from_vehicles(assigned, most), packed
