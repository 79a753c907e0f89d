"""The verdict on a fleet: whether it suffices, the proof, and which fleet would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fixedfleet.deadline import Deadline
from fixedfleet.errors import InputError
from fixedfleet.fleet import exact_packing
from fixedfleet.fleet.packing import best_fit, best_fit_batch
from fixedfleet.fleet.smallest import SmallestFleet
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.wording import count, with_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.instance import Instance, InstanceBatch

__all__ = [
    "BatchVerdict",
    "FleetVerdict",
    "Status",
    "assess_batch",
    "assess_fleet",
    "load_exact_packing",
    "quick_packing_size",
]

Status = Literal["feasible", "impossible", "undecided"]


@dataclass(frozen=True, repr=False)
class FleetVerdict:
    """
    Whether a fleet suffices, why, and which one would.

    Attributes
    ----------
    status
        ``feasible``, ``impossible``, or ``undecided`` within the time limit.
    vehicles
        The fleet that was asked about.
    reason
        The proof, in one sentence.
    lower_bound
        Fewer vehicles than this are proven not to suffice.
    upper_bound
        This many are proven to suffice; None if no fleet suffices.
    packing
        The proof of ``feasible``: a plan within the fleet. Its tours are not short.
    smallest_packing
        A plan with ``upper_bound`` vehicles; None if no fleet suffices.
    """

    status: Status
    vehicles: int
    reason: str
    lower_bound: int
    upper_bound: int | None
    packing: Plan | None
    smallest_packing: Plan | None

    @property
    def smallest(self) -> int | None:
        """The smallest fleet that suffices; None if undecided or if none suffices."""
        return self.lower_bound if self.smallest_is_proven else None

    @property
    def smallest_is_proven(self) -> bool:
        """Whether the smallest fleet that suffices is known."""
        return self.lower_bound == self.upper_bound

    def summary(self) -> str:
        """Return the verdict in two sentences for people."""
        if self.upper_bound is None:
            smallest = "no fleet suffices"
        elif self.smallest_is_proven:
            fewest = count(self.lower_bound, "vehicle")
            smallest = f"the smallest fleet that suffices: {fewest}"
        else:
            smallest = (
                f"the smallest fleet that suffices: {self.lower_bound} to "
                f"{count(self.upper_bound, 'vehicle')}, undecided within the limit"
            )
        fleet = count(self.vehicles, "vehicle")
        return f"{fleet}: {self.status}, {self.reason}\n{smallest}"

    __str__ = summary

    def __repr__(self) -> str:
        known = "no fleet suffices"
        if self.upper_bound is not None:
            known = f"at least {self.lower_bound} needed, {self.upper_bound} suffice"
        fleet = count(self.vehicles, "vehicle")
        return f"FleetVerdict({fleet}: {self.status}, {known})"


@dataclass(frozen=True, eq=False, repr=False)
class BatchVerdict:
    """
    Whether the fleet of each instance suffices.

    Attributes
    ----------
    statuses
        ``feasible``, ``impossible`` or ``undecided`` per instance, shape (B,).
    packings
        A plan within the fleet where the status is ``feasible``; empty elsewhere.
    reasons
        Why the other fleets are not known to suffice, by row.
    """

    statuses: NDArray[np.str_]
    packings: PlanBatch
    reasons: dict[int, str]

    def __repr__(self) -> str:
        good = int(self.feasible.sum())
        return f"BatchVerdict({len(self.statuses)} fleets, {good} feasible)"

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which fleets are known to suffice, shape (B,)."""
        return np.asarray(self.statuses == "feasible")


def quick_packing_size(instance: Instance) -> int | None:
    """Return the vehicles of a quick packing; None if a demand exceeds a vehicle."""
    if _too_large(instance):
        return None
    sizes = [size for size in instance.demand_units.tolist() if size]
    return max(1, len(best_fit(sizes, instance.capacity_units)))


def load_exact_packing(instance: Instance) -> None:
    """
    Import the solver of the exact search, if the verdict on an instance may need it.

    Call it before the clock starts, so that the import does not count as time.
    """
    if (quick_packing_size(instance) or 0) > instance.minimum_vehicles:
        exact_packing.load()


def assess_fleet(
    instance: Instance,
    *,
    time_limit: float = 1.0,
    smallest_limit: float | None = None,
    deadline: Deadline | None = None,
) -> FleetVerdict:
    """
    Decide whether the instance's fleet can carry the demands, with the proof.

    Parameters
    ----------
    instance
        The instance; only its demands, capacity and fleet matter.
    time_limit
        Seconds for the exact search, which runs if bounds and quick packings do not
        settle the verdict or the smallest fleet; 0 for no exact search.
    smallest_limit
        Seconds for it instead, if a quick packing shows that the fleet suffices and
        only the smallest fleet is open. Default: the time limit.
    deadline
        When everything must end, quick packings too. Default: these have no limit, but
        take less than a few seconds.
    """
    if not time_limit >= 0:
        raise InputError(f"time limit is {time_limit:g} s, not at least 0")
    vehicles = instance.vehicles
    if reason := _too_large(instance):
        lower = instance.minimum_vehicles
        return FleetVerdict("impossible", vehicles, reason, lower, None, None, None)
    if deadline is None:
        if time_limit > 0:
            load_exact_packing(instance)
        deadline = Deadline()
    fleet = SmallestFleet(instance, deadline)
    limit = time_limit
    if vehicles >= fleet.upper and smallest_limit is not None:
        limit = smallest_limit
    fleet.search(vehicles, deadline.within(limit))
    status: Status
    if vehicles >= fleet.upper:
        status = "feasible"
        packed = count(fleet.upper, "vehicle")
        reason = f"the demands fit into {packed}, as the packing shows"
    elif vehicles < fleet.lower:
        status = "impossible"
        reason = fleet.proof_against(vehicles)
    else:
        status = "undecided"
        reason = (
            f"within the limit of {time_limit:g} s, neither a packing into "
            f"{count(vehicles, 'vehicle')} nor a proof that none exists was found"
        )
    plan = fleet.plan()
    packing = plan if status == "feasible" else None
    return FleetVerdict(
        status, vehicles, reason, fleet.lower, fleet.upper, packing, plan
    )


def assess_batch(
    batch: InstanceBatch, *, time_limit: float = 0.1, smallest: bool = False
) -> BatchVerdict:
    """
    Decide for each instance whether its fleet can carry its demands.

    Best fit packs nearly every instance that can be packed, for the whole batch at
    once. Only the other instances need :func:`assess_fleet`.

    Parameters
    ----------
    batch
        The instances.
    time_limit
        As for :func:`assess_fleet`, per instance.
    smallest
        Whether the packings should use as few vehicles as possible.
    """
    statuses = np.full(len(batch), "feasible", dtype="<U10")
    reasons: dict[int, str] = {}
    plans, good = best_fit_batch(batch)
    if smallest:
        good &= plans.vehicles() <= batch.minimum_vehicles
    found: dict[int, Plan] = {}
    for row in np.flatnonzero(~good).tolist():
        verdict = assess_fleet(batch[row], time_limit=time_limit)
        if verdict.packing is None:
            statuses[row], reasons[row] = verdict.status, verdict.reason
        found[row] = verdict.packing or Plan([])
    plans = plans.replace(list(found), PlanBatch.from_plans(found.values()))
    return BatchVerdict(statuses, plans, reasons)


def _too_large(instance: Instance) -> str:
    """Name the first customer whose demand exceeds the capacity; "" if none does."""
    units, capacity = instance.demand_units.tolist(), instance.capacity_units
    large = [customer for customer, size in enumerate(units) if size > capacity]
    if not large:
        return ""
    more = len(large) - 1
    others = f"; so {'does' if more == 1 else 'do'} {more} more" if more else ""
    return (
        f"customer {instance.name_of(large[0])} alone exceeds a vehicle: it demands "
        f"{instance.amount(units[large[0]])} of "
        f"{with_unit(str(instance.amount(capacity)), instance.unit)}{others}"
    )
